import BusJSON
import BusLogic

/// Who is at the other end of a connection.
package enum Peer: Sendable, Equatable {
    /// A Unix socket: the kernel's word. `unit` is the one of the service manager that the process belongs to, where that
    /// is known: `ssh.service`, or `user@1000.service/editor.service` for one of a user's own.
    case unix(uid: Int, pid: Int, unit: String? = nil)
    /// TCP: nobody until a `hello` with a token came. `address` is `HOST:PORT`.
    case tcp(address: String)
}

/// What the engine has to be told: everything that comes from outside is injected, so that a whole bus runs
/// in a test, reproducibly.
package struct EngineConfiguration {
    package var limits = Limits()
    /// A UUID naming this history.
    package var epoch: String
    /// The daemon's own uid: together with 0 it may reload and drop configured stores.
    package var ownUID: Int
    package var version: String
    /// Seeds the hashing of addresses, so that nobody can choose names that collide.
    package var hashSeed: UInt64 = 0x9e37_79b9_7f4a_7c15
    /// The name that a token stands for; nil for an unknown one.
    package var tokenName: (String) -> String? = { _ in nil }
    /// Reads the definitions anew for `reload`.
    package var loadTypes: () throws(ReloadFailure) -> [any StateType] = { () throws(ReloadFailure) in
        throw ReloadFailure(
            message: "This bus has no types directory to reload; name one in its configuration.")
    }
    /// Told that what `loadTypes` gave is in force.
    package var reloaded: () -> Void = {}
    /// Compiles a definition as `types` shows it, for stores that were handed over.
    package var compile: (JSON) throws(ReloadFailure) -> any StateType = { (_) throws(ReloadFailure) in
        throw ReloadFailure(message: "This bus can't compile definitions.")
    }
    /// Asks the log; `answer(_:with:)` brings what it said. Called only while there is a log.
    package var ask: (LogQuestion) -> Void = { _ in }
    /// Told about things an operator should know: a rejected will, a slow consumer that was cut off.
    package var report: (EngineNote) -> Void = { _ in }
    /// The least level at which `report` listens: notes about every store or commit are made only when somebody reads them.
    package var reportsFrom = EngineNote.Level.notice

    package init(epoch: String, ownUID: Int, version: String) {
        self.epoch = epoch
        self.ownUID = ownUID
        self.version = version
    }
}

/// Why definitions could not be loaded anew; the old ones stay.
package struct ReloadFailure: Error {
    package var message: String
    package init(message: String) { self.message = message }
}

/// Something for the operator's log.
package struct EngineNote: Sendable {
    package enum Level: Sendable, Comparable { case debug, info, notice, warning, error }
    /// What it is about, for logs that number their messages.
    package enum Kind: Sendable {
        case reloaded, reloadRefused, definitionKept, willRejected, slowConsumer
        case storeCreated, storeDropped, committed
    }
    package var kind: Kind
    package var level: Level
    package var message: String
    /// The client concerned, if one is: it may be gone already.
    package var peer: Peer?
    /// The type, the store and the action concerned, where there is one.
    package var type: String?
    package var store: String?
    package var action: String?
    package var revision: Int?
}
