import BusLogic
import BusMachine

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
    /// Types that need not be compiled from their definitions when a log or another's state is taken up; those in code
    /// can't be.
    package var knownTypes: [any StateType] = []
    /// The least level of diagnostics that somebody reads.
    package var reportsFrom = Diagnostic.Level.notice

    package init(epoch: String, ownUID: Int, version: String) {
        self.epoch = epoch
        self.ownUID = ownUID
        self.version = version
    }
}
