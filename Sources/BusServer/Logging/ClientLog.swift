import BusEngine
import Logging

/// What the log says on behalf of clients. A client must not be able to fill a disk by misbehaving often, so each
/// identity has a number of notes per period; what it had to say beyond that is counted, and the count told.
///
/// Confined to the bus queue.
final class ClientLog {
    /// Notes per identity and period: enough to see what is wrong.
    static let notesPerPeriod = 10
    /// In monotonic milliseconds.
    static let period = 10_000
    /// Identities kept apart; past it, all that are new share one.
    static let identities = 1024

    private struct Account {
        var periodStart: Int
        var notes = 0
        var suppressed = 0
    }

    private let logger: Logger
    private let clock: () -> Int
    private var accounts: [String: Account] = [:]

    init(_ logger: Logger, clock: @escaping () -> Int = MonotonicClock.read) {
        self.logger = logger
        self.clock = clock
    }

    /// For those who look closely; not limited, since nobody leaves it on.
    func debug(_ message: Logger.Message, _ peer: Peer, reason: String? = nil) {
        logger.debug(message, metadata: Self.metadata(peer, reason))
    }

    /// Something an operator should know about a client, or about clients that have no identity yet (nil).
    func note(_ level: Logger.Level, _ message: String, _ peer: Peer?) {
        guard level >= logger.logLevel else { return }
        let now = clock()
        var key = peer.map(Self.identity) ?? "unknown"
        if accounts[key] == nil, accounts.count >= Self.identities {
            forgetQuietOnes(now)
            if accounts.count >= Self.identities { key = "others" }
        }
        var account = accounts[key] ?? Account(periodStart: now)
        if now - account.periodStart >= Self.period {
            tellSuppressed(key, account)
            account = Account(periodStart: now)
        }
        if account.notes < Self.notesPerPeriod {
            account.notes += 1
            logger.log(level: level, "\(message)", metadata: peer.map { Self.metadata($0, nil) })
        } else {
            account.suppressed += 1
        }
        accounts[key] = account
    }

    /// Tells what was counted and not told yet; at the end.
    func tellAllSuppressed() {
        for (key, account) in accounts { tellSuppressed(key, account) }
        accounts.removeAll()
    }

    private func forgetQuietOnes(_ now: Int) {
        for (key, account) in accounts where now - account.periodStart >= Self.period {
            tellSuppressed(key, account)
            accounts[key] = nil
        }
    }

    private func tellSuppressed(_ key: String, _ account: Account) {
        guard account.suppressed > 0 else { return }
        logger.warning(
            "notes about a client were suppressed",
            metadata: ["client": .string(key), "suppressed": .stringConvertible(account.suppressed)])
    }

    /// Who it is, whichever connection it uses.
    private static func identity(_ peer: Peer) -> String {
        switch peer {
        case .unix(let uid, _): "uid \(uid)"
        case .tcp(let address): String(address[..<(address.lastIndex(of: ":") ?? address.endIndex)])
        }
    }

    private static func metadata(_ peer: Peer, _ reason: String?) -> Logger.Metadata {
        var metadata: Logger.Metadata =
            switch peer {
            case .unix(let uid, let pid):
                ["uid": .stringConvertible(uid), "pid": .stringConvertible(pid)]
            case .tcp(let address):
                ["address": .string(address)]
            }
        if let reason { metadata["reason"] = .string(reason) }
        return metadata
    }
}
