import BusTLS
import Glibc

/// The certificate and key of this server, as files of PEM text.
package struct CertificateFiles: Sendable {
    /// The certificate, and after it those that it is issued by.
    package let certificate: String
    package let key: String

    package init(certificate: String, key: String) {
        (self.certificate, self.key) = (certificate, key)
    }

    /// What new connections need of them.
    package func context() throws(WebFailure) -> TLSContext {
        let chain = try read(certificate) { (bytes) throws(TLSFailure) in
            try TLSCertificate.all(inPEM: bytes)
        }
        let secret = try read(key, isSecret: true) { (bytes) throws(TLSFailure) in try TLSKey(inPEM: bytes) }
        guard let first = chain.first, secret.fits(first) else {
            throw WebFailure(
                .configuration, "The key \(key) does not belong to the certificate \(certificate).")
        }
        if let end = first.expired {
            throw WebFailure(.configuration, "The certificate \(certificate) expired on \(end); renew it.")
        }
        do throws(TLSFailure) {
            return try TLSContext(serverWith: chain, secret)
        } catch {
            throw WebFailure(.configuration, "The certificate \(certificate) can't be used: \(error).")
        }
    }

    private func read<Value>(
        _ path: String, isSecret: Bool = false, _ make: ([UInt8]) throws(TLSFailure) -> Value
    ) throws(WebFailure) -> Value {
        let bytes = try SmallFile.read(path, isSecret: isSecret)
        do throws(TLSFailure) {
            return try make(bytes)
        } catch {
            throw WebFailure(.configuration, "\(path): \(error); give another file.")
        }
    }
}
