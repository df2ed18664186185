import BusHooks
import BusSystem
import BusTLS

/// A file that is read as a whole: a certificate, a key, a token.
enum SmallFile {
    private static let longest = 1 << 20

    /// - Parameter isSecret: Refuses a file that everybody can read.
    static func read(_ path: String, isSecret: Bool = false) throws(WebFailure) -> [UInt8] {
        do throws(WholeFile.Refusal) {
            return try WholeFile.read(path, limit: longest) { status in
                isSecret && status.st_mode & 0o007 != 0
                    ? "Everybody can read \(path), which is a secret; run chmod o= on it." : nil
            }
        } catch {
            let message =
                switch error {
                case .failed(let error): "\(path) can't be read (\(error.reason))."
                case .notRegular: "\(path) is not a regular file; give another one."
                case .tooLarge: "\(path) is too long for such a file; give another one."
                case .refused(let reason): reason
                }
            throw WebFailure(.configuration, message)
        }
    }

    /// Shorter secrets can be guessed.
    static let shortestSecret = 16

    /// The secrets in a file, a line each: while one is renewed there are two.
    static func secrets(_ path: String) throws(WebFailure) -> [[UInt8]] {
        let lines = try read(path, isSecret: true).split(whereSeparator: { $0 == 0x0a || $0 == 0x0d }).map(
            Array.init)
        guard (1...HookLimits.secrets).contains(lines.count) else {
            throw WebFailure(
                .configuration,
                "\(path) holds \(lines.count) secrets; write one on its first line, and at most \(HookLimits.secrets)."
            )
        }
        guard lines.allSatisfy({ $0.count >= shortestSecret }) else {
            throw WebFailure(
                .configuration,
                "A secret in \(path) can be guessed; write one of at least \(shortestSecret) bytes.")
        }
        return lines
    }

    /// The first line of a file that holds a secret.
    static func token(_ path: String) throws(WebFailure) -> String {
        let bytes = try read(path, isSecret: true)
        let line = bytes.prefix { $0 != 0x0a && $0 != 0x0d }
        guard !line.isEmpty, line.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw WebFailure(
                .configuration,
                "\(path) holds no token; write one on its first line, in letters, digits and signs without spaces."
            )
        }
        return String(decoding: line, as: UTF8.self)
    }
}

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
