import BusTLS
import CLinux
import Glibc
import Synchronization

/// A directory that only this user can enter, for the socket between the front and the HTTP server. It is there only until
/// the server listens: then the socket is known by a descriptor, and a crash leaves nothing behind.
final class PrivateDirectory: Sendable {
    private let path: String
    private let reference = Mutex<Int32>(-1)
    var socket: String { "\(path)/http" }

    init(in parent: String) throws(WebFailure) {
        var template = Array("\(parent)/fluxbus-web-XXXXXX".utf8CString)
        // mkdtemp gives it the mode 0700.
        guard mkdtemp(&template) != nil else {
            throw WebFailure(
                .system,
                "No directory can be made in \(parent) (\(WebFailure.reason())); name another one with XDG_RUNTIME_DIR."
            )
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard socket.utf8.count <= linux_unix_path_limit else {
            rmdir(path)
            throw WebFailure(
                .configuration,
                "The path \(socket) is too long for a socket; name a shorter directory with XDG_RUNTIME_DIR.")
        }
    }

    deinit {
        remove()
        reference.withLock { if $0 >= 0 { close($0) } }
    }

    /// Takes the names away, and gives one that only this process has.
    func hide() throws(WebFailure) -> String {
        let descriptor = linux_refer(socket)
        guard descriptor >= 0 else {
            throw WebFailure(.system, "The server's own socket is gone (\(WebFailure.reason())).")
        }
        reference.withLock { $0 = descriptor }
        remove()
        return "/proc/self/fd/\(descriptor)"
    }

    private func remove() {
        unlink(socket)
        rmdir(path)
    }

    /// Where it is made: what systemd gives a service, else the user's own, else the one for temporary files.
    static func parent(_ environment: [String: String]) -> String {
        if let given = environment["RUNTIME_DIRECTORY"]?.split(separator: ":").first { return String(given) }
        for name in ["XDG_RUNTIME_DIR", "TMPDIR"] {
            if let path = environment[name], path.hasPrefix("/"), access(path, W_OK) == 0 { return path }
        }
        return "/tmp"
    }
}

/// A file that is read as a whole: a certificate, a key, a token.
enum SmallFile {
    private static let longest = 1 << 20

    /// - Parameter isSecret: Refuses a file that everybody can read.
    static func read(_ path: String, isSecret: Bool = false) throws(WebFailure) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw WebFailure(.configuration, "\(path) can't be read (\(WebFailure.reason())).")
        }
        defer { close(descriptor) }
        var status = stat()
        if isSecret, fstat(descriptor, &status) == 0, status.st_mode & 0o007 != 0 {
            throw WebFailure(
                .configuration,
                "Everybody can read \(path), which is a secret; run chmod o= on it.")
        }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 16 << 10)
        while bytes.count <= longest {
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw WebFailure(.configuration, "\(path) can't be read (\(WebFailure.reason())).")
            }
            if count == 0 { return bytes }
            bytes += piece[..<count]
        }
        throw WebFailure(.configuration, "\(path) is too long for such a file; give another one.")
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
