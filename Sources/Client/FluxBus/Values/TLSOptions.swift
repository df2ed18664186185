/// What TLS needs on this side: files of PEM text, which are read again for each connection.
public struct TLSOptions: Sendable, Equatable {
    /// Who issues the certificates of buses; nil takes `$FLUXBUS_CA`, or else whom the system trusts.
    public var ca: String?
    /// This program's certificate, by which a bus may know it without a token; nil takes `$FLUXBUS_CERTIFICATE`.
    public var certificate: String?
    /// The key of it; nil takes `$FLUXBUS_KEY`.
    public var key: String?

    public init(ca: String? = nil, certificate: String? = nil, key: String? = nil) {
        self.ca = ca
        self.certificate = certificate
        self.key = key
    }

    /// The variables that fill in what is not given.
    package static let variables = ["FLUXBUS_CA", "FLUXBUS_CERTIFICATE", "FLUXBUS_KEY"]

    /// What is given here, and for the rest what the environment names. A certificate that is given is not paired with the
    /// environment's key.
    package func filled(from environment: [String: String]) -> TLSOptions {
        func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        let isGiven = certificate != nil || key != nil
        return TLSOptions(
            ca: ca ?? variable("FLUXBUS_CA"),
            certificate: isGiven ? certificate : variable("FLUXBUS_CERTIFICATE"),
            key: isGiven ? key : variable("FLUXBUS_KEY"))
    }
}
