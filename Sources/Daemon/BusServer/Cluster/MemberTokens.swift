import BusCluster
import Synchronization

/// The tokens of the other members, by where they are reached: whoever can read the reports in the shared log is a member.
final class MemberTokens: Sendable {
    private let tokens = Mutex<[String: String]>([:])

    subscript(address: String) -> String? { tokens.withLock { $0[address] } }

    /// Those present are no others.
    func note(_ members: [OrderedLogMember]) {
        tokens.withLock { $0 = [:] }
        for member in members { note(member.report) }
    }

    private func note(_ report: [UInt8]) {
        // An earlier version has no token, and goes by its access rules.
        guard let about = MemberReport(report)?.about, !about.token.isEmpty else { return }
        tokens.withLock { $0[about.address] = about.token }
    }

    func note(_ entry: OrderedEntry) {
        switch entry.content {
        case .joined(_, let report), .reported(_, _, let report): note(report)
        case .proposal, .ended: break
        }
    }
}
