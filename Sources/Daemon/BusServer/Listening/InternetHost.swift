import CLinux
import Glibc

/// An address of this machine for TCP, in numbers: what others reach depends on it, and no name server may decide that.
package enum InternetHost: Sendable, Equatable {
    /// In network order.
    case version4(UInt32, text: String)
    /// Its 16 bytes.
    case version6([UInt8], text: String)

    /// As people write it: `127.0.0.1`, `localhost`, `0.0.0.0`, `::1`, `[::]`; nil when it is no address.
    package init?(_ text: String) {
        let bare = text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : text
        let name = bare == "localhost" ? "127.0.0.1" : bare
        var version4 = in_addr()
        var version6 = in6_addr()
        if inet_pton(AF_INET, name, &version4) == 1 {
            self = .version4(version4.s_addr, text: name)
        } else if inet_pton(AF_INET6, name, &version6) == 1 {
            // One address has many forms; the kernel's is compared.
            var form = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
            inet_ntop(AF_INET6, &version6, &form, socklen_t(form.count))
            let text = String(decoding: form.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            self = .version6(withUnsafeBytes(of: &version6) { Array($0) }, text: text)
        } else {
            return nil
        }
    }

    /// Whether no other machine reaches it.
    package var isLoopback: Bool {
        switch self {
        case .version4(let address, _): UInt32(bigEndian: address) >> 24 == 127
        case .version6(let bytes, _): bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1
        }
    }

    package var text: String {
        switch self {
        case .version4(_, let text): text
        case .version6(_, let text): "[\(text)]"
        }
    }
}
