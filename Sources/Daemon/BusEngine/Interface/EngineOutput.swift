import BusCluster
import BusLogic
import BusMachine

/// What the engine needs from outside. It calls nobody: its owner takes these after every turn and executes them.
package enum EngineOutput {
    /// Something for the operator's log.
    case diagnostic(Diagnostic)
    /// A query for the log; `answer(_:with:)` brings its answer.
    case query(LogQuery)
    /// Definitions and limits are to be reloaded; `finishReload` brings them.
    case reload(ReloadRequest)
    /// A request is to be put into the log that several machines share, where users take turns; `resolve` brings its outcome.
    case entry(ClusterEntry, ticket: Int, user: Int)
    /// Every entry that anybody was told the outcome of so far is to be applied; `resolve` says when that is done.
    case barrier(ticket: Int)
    /// A question about the members of the bus; `answer(_:with:)` brings its answer.
    case cluster(ClusterQuery)
    /// Something about the files from which programs read states.
    case map(MapOutput)
}

/// A request to reload definitions and limits.
package struct ReloadRequest: Sendable {
    let connection: ConnectionID
    let number: Int
    /// The principal that requested it, also when its connection is gone.
    let principal: Principal
    /// A dry run: only what it would do is wanted.
    package let isDryRun: Bool
}

/// Something for the operator's log.
package struct Diagnostic: Sendable {
    package enum Level: Sendable, Comparable { case debug, info, notice, warning, error }
    /// The subject, for logs that number their messages.
    package enum Kind: Sendable {
        case reloaded, reloadRefused, definitionKept, willRejected, timerRejected, slowConsumer, denied
        case kicked
        case storeCreated, storeDropped, committed
    }
    package var kind: Kind
    package var level: Level
    package var message: String
    /// The client concerned, if any: it may be gone already.
    package var peer: Peer?
    /// The type, the store and the action concerned, where there is one.
    package var type: String?
    package var store: String?
    package var action: String?
    package var revision: Int?
}

/// Outputs that wait for the engine's owner.
final class Outputs {
    @exclusivity(unchecked) private var waiting: [EngineOutput] = []
    /// The lowest level of diagnostics that is logged. Diagnostics of every store or commit are made only if it is low enough.
    let reportsFrom: Diagnostic.Level
    /// Whether every commit is reported.
    let reportsCommits: Bool

    init(reportsFrom: Diagnostic.Level) {
        self.reportsFrom = reportsFrom
        reportsCommits = reportsFrom == .debug
    }

    @inline(__always)
    var isEmpty: Bool { waiting.isEmpty }

    func add(_ output: EngineOutput) { waiting.append(output) }

    func report(_ diagnostic: Diagnostic) { waiting.append(.diagnostic(diagnostic)) }

    func take() -> [EngineOutput] {
        defer { waiting = [] }
        return waiting
    }
}
