internal import COpenSSL
import Glibc

/// The other end of a session, by its verified certificate.
package struct TLSPeer: Equatable, Sendable {
    /// As RFC 2253 writes it: `CN=display-hall,O=Home`. Empty where the certificate has only other names.
    package let subject: String
    /// Its alternative names, each with its kind: `DNS:hall.home`, `IP:192.0.2.7`, `email:…`, `URI:…`.
    package let names: [String]

    /// More than any certificate needs, and little enough to stand in every commit.
    private static let longest = 512
    private static let mostNames = 32

    /// Nil for a certificate that names nobody, or at such length that it can't be shown.
    init?(_ certificate: OpaquePointer) {
        let text = MemoryText()
        X509_NAME_print_ex(text.bio, X509_get_subject_name(certificate), 0, tls_subject_form)
        subject = text.text
        names = Self.names(of: certificate)
        guard subject.utf8.count <= Self.longest, !subject.isEmpty || !names.isEmpty else { return nil }
    }

    private static func names(of certificate: OpaquePointer) -> [String] {
        guard let all = tls_alternative_names(certificate) else { return [] }
        defer { GENERAL_NAMES_free(all) }
        var names: [String] = []
        for index in 0..<min(tls_alternative_count(all), Int32(mostNames)) {
            var start: UnsafePointer<UInt8>?
            var count: Int32 = 0
            let kind = tls_alternative(all, index, &start, &count)
            let bytes = Array(UnsafeBufferPointer(start: start, count: Int(count)))
            if let name = name(kind, bytes) { names.append(name) }
        }
        return names
    }

    private static func name(_ kind: Int32, _ bytes: [UInt8]) -> String? {
        if kind == GEN_IPADD { return address(bytes).map { "IP:\($0)" } }
        guard !bytes.isEmpty, bytes.count <= longest, bytes.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            return nil
        }
        let text = String(decoding: bytes, as: UTF8.self)
        switch kind {
        case GEN_DNS: return "DNS:\(text)"
        case GEN_EMAIL: return "email:\(text)"
        case GEN_URI: return "URI:\(text)"
        default: return nil
        }
    }

    private static func address(_ bytes: [UInt8]) -> String? {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count)) != nil
        else {
            return nil
        }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
