import CLinux
import Glibc

/// An address of this machine that no other machine reaches. Only on these the daemon listens with tokens alone; beyond
/// them it would need encryption and access rules.
package enum LoopbackHost: Sendable, Equatable {
    /// 127.0.0.0/8, in network order.
    case version4(UInt32, text: String)
    /// ::1
    case version6

    /// As people write it: `127.0.0.1`, `localhost`, `::1`, `[::1]`; nil when it is another machine's, all
    /// machines', or no address.
    package init?(_ text: String) {
        if text == "localhost" {
            self.init("127.0.0.1")
            return
        }
        let bare = text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : text
        var version4 = in_addr()
        var version6 = in6_addr()
        if inet_pton(AF_INET, bare, &version4) == 1, UInt32(bigEndian: version4.s_addr) >> 24 == 127 {
            self = .version4(version4.s_addr, text: bare)
        } else if inet_pton(AF_INET6, bare, &version6) == 1,
            withUnsafeBytes(of: &version6, { $0.dropLast().allSatisfy { $0 == 0 } && $0.last == 1 })
        {
            self = .version6
        } else {
            return nil
        }
    }

    package var text: String {
        switch self {
        case .version4(_, let text): text
        case .version6: "[::1]"
        }
    }
}
