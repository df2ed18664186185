/// A client by the certificate that it has shown and that was verified.
package struct ClientCertificate: Sendable, Equatable {
    /// As RFC 2253 writes it: `CN=display-hall,O=Home`. Empty where the certificate has only other names.
    package let subject: String
    /// Its alternative names, each with its kind: `DNS:hall.home`, `IP:192.0.2.7`. The log does not keep them.
    package let names: [String]

    package init(subject: String, names: [String] = []) {
        self.subject = subject
        self.names = names
    }

    /// What it is called where one name has to do.
    package var name: String { subject.isEmpty ? names.first ?? "" : subject }
}
