import Foundation
import TestFiles
import TestServer

/// An authority of one test, with a directory of its own, which issues certificates by OpenSSL's program.
package final class TestAuthority {
    /// A certificate and its key, as paths of PEM files.
    package struct Issued: Sendable {
        package let certificate: String
        package let key: String
    }

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    package enum Key: String, Sendable {
        case curve = "ec -pkeyopt ec_paramgen_curve:prime256v1"
        case rsa = "rsa:2048"
        /// Too short for OpenSSL's security level.
        case weak = "rsa:1024"
    }

    package let directory = TemporaryDirectory()
    private let own: Issued

    /// Its own certificate.
    package var certificate: String { own.certificate }

    package init(_ name: String = "Test Authority") throws {
        own = Issued(certificate: "\(directory.path)/ca.pem", key: "\(directory.path)/ca.key")
        try openSSL(
            "req -x509 -newkey \(Key.curve.rawValue) -nodes -days 30 -keyout \(own.key) -out \(own.certificate) -subj",
            ["/CN=\(name)"])
    }

    /// A server's certificate, for this machine's loopback unless other names are given.
    package func server(
        _ file: String = "server", names: String = "DNS:localhost,IP:127.0.0.1", days: Int = 30,
        key: Key = .curve
    ) throws -> Issued {
        try issue(file, subject: "/CN=\(file)", names: names, days: days, key: key, use: "serverAuth")
    }

    /// A client's certificate. `days` below zero: it has expired.
    package func client(
        _ file: String, subject: String? = nil, names: String? = nil, days: Int = 30,
        use: String = "clientAuth"
    ) throws -> Issued {
        try issue(
            file, subject: subject ?? "/O=Home/CN=\(file)", names: names, days: days, key: .curve, use: use)
    }

    private func issue(
        _ file: String, subject: String, names: String?, days: Int, key: Key, use: String
    ) throws -> Issued {
        let base = "\(directory.path)/\(file)"
        var more = [subject, "-addext", "extendedKeyUsage=\(use)"]
        if let names { more += ["-addext", "subjectAltName=\(names)"] }
        try openSSL(
            "req -utf8 -newkey \(key.rawValue) -nodes -keyout \(base).key -out \(base).csr -subj", more)
        try openSSL(
            "x509 -req -in \(base).csr -CA \(own.certificate) -CAkey \(own.key) -CAcreateserial -copy_extensions copy "
                + "-days \(days) -out \(base).pem")
        // As the daemon wants keys to be.
        chmod("\(base).key", 0o600)
        return Issued(certificate: "\(base).pem", key: "\(base).key")
    }

    private func openSSL(_ words: String, _ more: [String] = []) throws {
        let outcome = try RunningProgram(
            ["/usr/bin/openssl"] + words.split(separator: " ").map(String.init) + more
        ).wait()
        guard outcome.status == 0 else { throw Failure(description: "openssl \(words): \(outcome.errors)") }
    }
}
