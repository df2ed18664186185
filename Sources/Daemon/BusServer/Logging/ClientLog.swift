import BusEngine
import BusMachine
import Logging

/// The operator's log about clients. A client must not be able to fill a disk by misbehaving often, so each identity
/// has a number of entries per period; further ones are counted, and the count is logged.
///
/// Confined to the bus queue.
final class ClientLog {
    /// Entries per identity and period: enough to see what is wrong.
    static let notesPerPeriod = 10
    /// In monotonic milliseconds.
    static let period = 10_000
    /// Identities counted separately; beyond it, all new ones share one.
    static let identities = 1024

    private struct Account {
        var periodStart: Int
        var notes = 0
        var suppressed = 0
    }

    /// The identity, on all of its connections. Warnings and errors have an account of their own, so that they are
    /// logged also for a client that creates many stores.
    private struct Client: Hashable {
        var name: String
        let isWrong: Bool
    }

    private let logger: Logger
    private let clock: () -> Int
    private var accounts: [Client: Account] = [:]

    init(_ logger: Logger, clock: @escaping () -> Int = MonotonicClock.read) {
        self.logger = logger
        self.clock = clock
    }

    /// For debugging; not limited, since no operator leaves it on.
    func debug(_ message: Logger.Message, _ peer: Peer, reason: String? = nil) {
        logger.debug(message, metadata: Self.metadata(peer, reason))
    }

    /// Logs something an operator should know about a client, or about clients that have no identity yet (nil).
    func note(
        _ level: Logger.Level, _ message: String, _ peer: Peer?, kind: LogKind? = nil,
        details: Logger.Metadata = [:]
    ) {
        guard level >= logger.logLevel else { return }
        if level <= .debug || allows(level, peer) {
            let who = peer.map { Self.metadata($0, nil) } ?? [:]
            logger.log(
                level: level, "\(message)",
                metadata: who.merging(details) { $1 }.merging(kind?.metadata ?? [:]) { $1 })
        }
    }

    /// Whether a client may have one more entry; counts it either way.
    private func allows(_ level: Logger.Level, _ peer: Peer?) -> Bool {
        let now = clock()
        var client = Client(name: peer.map(Self.identity) ?? "clients unknown", isWrong: level >= .warning)
        if accounts[client] == nil, accounts.count >= Self.identities {
            forgetQuietOnes(now)
            if accounts.count >= Self.identities { client.name = "others" }
        }
        var account = accounts[client] ?? Account(periodStart: now)
        if now - account.periodStart >= Self.period {
            tellSuppressed(client, account)
            account = Account(periodStart: now)
        }
        let isAllowed = account.notes < Self.notesPerPeriod
        if isAllowed { account.notes += 1 } else { account.suppressed += 1 }
        accounts[client] = account
        return isAllowed
    }

    /// Logs the counts that were not logged yet; at the end.
    func tellAllSuppressed() {
        for (client, account) in accounts { tellSuppressed(client, account) }
        accounts.removeAll()
    }

    private func forgetQuietOnes(_ now: Int) {
        for (client, account) in accounts where now - account.periodStart >= Self.period {
            tellSuppressed(client, account)
            accounts[client] = nil
        }
    }

    private func tellSuppressed(_ client: Client, _ account: Account) {
        guard account.suppressed > 0 else { return }
        let metadata: Logger.Metadata = [
            "client": .string(client.name), "suppressed": .stringConvertible(account.suppressed),
        ]
        logger.log(
            level: client.isWrong ? .warning : .info,
            "\(account.suppressed) messages about \(client.name) were dropped",
            metadata: metadata.merging(LogKind.leftOut.metadata) { $1 })
    }

    private static func identity(_ peer: Peer) -> String {
        switch peer {
        case .unix(let uid, _, _): "uid \(uid)"
        case .tcp(let address, _): String(address[..<(address.lastIndex(of: ":") ?? address.endIndex)])
        }
    }

    private static func metadata(_ peer: Peer, _ reason: String?) -> Logger.Metadata {
        var metadata: Logger.Metadata = [:]
        switch peer {
        case .unix(let uid, let pid, let unit):
            metadata["uid"] = .stringConvertible(uid)
            metadata["pid"] = .stringConvertible(pid)
            if let unit { metadata["unit"] = .string(unit) }
        case .tcp(let address, let certificate):
            metadata["address"] = .string(address)
            if let certificate { metadata["certificate"] = .string(certificate.name) }
        }
        if let reason { metadata["reason"] = .string(reason) }
        return metadata
    }
}
