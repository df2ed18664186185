import BusEngine
import BusMachine
import BusSystem
import Logging
import Systemd

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

    init(_ logger: Logger, clock: @escaping () -> Int = { MonotonicClock.milliseconds }) {
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
        if level <= .debug || isUnlimited(kind, peer) || allows(level, peer) {
            let who = peer.map { Self.metadata($0, nil) } ?? [:]
            logger.log(
                level: level, "\(message)",
                metadata: who.merging(details) { $1 }.merging(kind?.metadata ?? [:]) { $1 })
        }
    }

    /// Whether it tells of a reload that no client has asked for: nobody but the operator can have many of them.
    private func isUnlimited(_ kind: LogKind?, _ peer: Peer?) -> Bool {
        peer == nil && [.reloaded, .reloadRefused, .definitionKept].contains(kind)
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

/// The engine's diagnostics as log entries with their fields.
extension ClientLog {
    func note(_ note: Diagnostic) {
        var details: Logger.Metadata = [:]
        let type = note.type ?? note.store.map { String($0.prefix { $0 != "/" }) }
        if let type { details["type"] = .string(type) }
        if let store = note.store { details["store"] = .string(store) }
        if let action = note.action { details["action"] = .string(action) }
        if let revision = note.revision { details["revision"] = .stringConvertible(revision) }
        self.note(
            Logger.Level(note.level), note.message, note.peer, kind: LogKind(note.kind), details: details)
    }
}

extension LogKind {
    fileprivate init(_ kind: Diagnostic.Kind) {
        self =
            switch kind {
            case .reloaded: .reloaded
            case .reloadRefused: .reloadRefused
            case .definitionKept: .definitionKept
            case .willRejected: .willRejected
            case .timerRejected: .timerRejected
            case .denied: .denied
            case .slowConsumer: .clientCutOff
            case .kicked: .kicked
            case .storeCreated: .storeCreated
            case .storeDropped: .storeDropped
            case .committed: .committed
            }
    }
}

extension Logger.Level {
    fileprivate init(_ level: Diagnostic.Level) {
        self =
            switch level {
            case .debug: .debug
            case .info: .info
            case .notice: .notice
            case .warning: .warning
            case .error: .error
            }
    }
}

/// The kind of a log entry, for those that an operator may want to find or have explained. Each has an ID that never
/// changes: `MESSAGE_ID` in the journal, and its text in the message catalog.
package enum LogKind: String, Sendable, CaseIterable {
    case ready = "21e034080f6945808bc7358250a4ba93"
    case stopping = "609edeee346a404f9e95108792eb4599"
    case takenOver = "041b63f9bfa94dc1a230c5b9c05847ce"
    case notTakenOver = "d84f1bc051f649718ea614f81edd035f"
    case reloaded = "f240b3a15a704affa44eabf8c31f444d"
    case reloadRefused = "88eb3b0d9ac445f1ba6ee6b5c3a3056f"
    case definitionKept = "73c847c072a94387a2fb89f7889d013f"
    case wrongConfiguration = "390c2e3a470c46549d577a9e23900235"
    case clientCutOff = "e63322e73a00418fae73510191ef23ca"
    case kicked = "01acf4ea50ed498885920afb53e6bc7d"
    case strangerRefused = "fc6f66f3b4f649b1b20a786420ce3382"
    case willRejected = "34d4287b7dcb44398239e96bf2b2e68d"
    case denied = "d91c48ae46c34f2e9d11eac7612cf366"
    case timerRejected = "7ba50eeeaceb443e83844bccd97d17fc"
    case leftOut = "8cf547c1093649bc81cd41899e1a7db8"
    case storeCreated = "7ba2a3ccd47c4b73b63c568db62ed803"
    case storeDropped = "4bcb5470fecb4ea5b1790f980484d3fc"
    case committed = "f190463ffbd341caaf6c4adbad93d440"
    case logRead = "4f2761df0af9463495751949216160db"
    case logTrouble = "5fbde6c93e9242c38120fcfff8ef95a5"
    case logRecovered = "3cff9e861b864b8eafe01458174db0e1"
    case newEpoch = "4c5161f48baa4d1db439ed7ccfd8f8c7"
    case attached = "0ebc41b7987543cf83b6818a8b3ab2d5"
    case detached = "5cb01fb631a54e01825df3800fe66998"
    case readsFrom = "9b7c2c1e6d0f4b0b9a3b7d54c1e8f2a6"
    case suspended = "d234630402aa407c8aff0ff6332ed27d"
    case joined = "6d183247f51f42deb2913351d8f8aae7"
    case memberEnded = "7262db030bfd40f3ba66f2da2261d544"
    case diverged = "d1e18c0e1e6448f79394e9d09ecb12ad"
    case differs = "d4a2975d24004fdf979bf3cee9840ac7"
    case logLost = "4b5aa3c22f734b6999e3be417b41b15a"
    case clockAhead = "83d86055b7604eb28bf682b8c89b24c6"
    case otherCopy = "424162f794de4ac6af138a794481292f"
    case filesDiffer = "06556b19822149c1b4ccbd591f5c3a60"

    /// The key under which an entry's metadata holds its kind.
    package static let key = "message-id"

    /// The kind as metadata of an entry.
    package var metadata: Logger.Metadata { [Self.key: .string(rawValue)] }

    static func messageID(_ metadata: Logger.Metadata) -> MessageID? {
        metadata[key].flatMap { MessageID($0.description) }
    }
}
