import BusCluster
import Glibc

/// The name that the system has given this machine.
package enum HostName {
    /// As it is set; empty when it can't be read.
    package static func read() -> String {
        var bytes = [CChar](repeating: 0, count: Int(HOST_NAME_MAX) + 1)
        guard gethostname(&bytes, bytes.count) == 0 else { return "" }
        return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// What a member on a machine of this name is called unless it is given another: the machine's own part, up to the first
    /// dot, in lower case. Nil when no member can be called so.
    package static func member(of name: String) -> String? {
        let member = name.prefix { $0 != "." }.lowercased()
        return ProposalName.isMemberName(member) ? member : nil
    }
}
