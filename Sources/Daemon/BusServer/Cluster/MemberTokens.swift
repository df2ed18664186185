import BusCluster
import Dispatch
import Synchronization

/// The tokens of the other members, by address.
final class MemberTokens: Sendable {
    /// Nil until the members were listed.
    private let tokens = Mutex<[String: String]?>(nil)
    private let areKnown = DispatchSemaphore(value: 0)

    /// Waits until the members were listed; false if that takes too long.
    func wait() -> Bool {
        guard areKnown.wait(timeout: .now() + .seconds(5)) == .success else { return false }
        areKnown.signal()
        return true
    }

    /// Nil where there is none: an earlier version goes by its access rules.
    subscript(address: String) -> String? { tokens.withLock { $0?[address] } }

    /// These are all members that are present.
    func note(_ members: [OrderedLogMember]) {
        let isFirst = tokens.withLock { tokens in
            defer { tokens = [:] }
            return tokens == nil
        }
        for member in members { note(member.report) }
        if isFirst { areKnown.signal() }
    }

    private func note(_ report: [UInt8]) {
        guard let about = MemberReport(report)?.about else { return }
        tokens.withLock { $0?[about.address] = about.token.isEmpty ? nil : about.token }
    }

    func note(_ entry: OrderedEntry) {
        switch entry.content {
        case .joined(_, let report), .reported(_, _, let report): note(report)
        case .proposal, .ended: break
        }
    }
}
