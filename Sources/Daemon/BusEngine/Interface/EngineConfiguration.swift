import BusLogic
import BusMachine

/// The engine's configuration: everything that comes from outside is injected, so that a whole bus
/// runs in a test, reproducibly.
package struct EngineConfiguration {
    package var limits = Limits()
    /// A UUID naming this history.
    package var epoch: String
    /// The daemon's own uid: together with 0 it may reload and drop configured stores.
    package var ownUID: Int
    package var version: String
    /// Seeds the hashing of addresses, so that no client can choose names that collide.
    package var hashSeed: UInt64 = 0x9e37_79b9_7f4a_7c15
    /// The name that a token stands for; nil for an unknown one.
    package var tokenName: (String) -> String? = { _ in nil }
    /// A digest of the token that stands for a name, which is never 0; nil where there is none any more.
    package var tokenDigest: (String) -> Int? = { _ in nil }
    /// Who may do what; nil: everybody may do all but what is kept for operators.
    package var access: AccessRules?
    /// The user name of a uid, and the groups of that user: roles are found from them.
    package var lookUp: (Int) -> (user: String?, groups: [String]) = { _ in (nil, []) }
    /// Types that need not be compiled from their definitions when a log or a hand-over is
    /// read; types in code can't be.
    package var knownTypes: [any StateType] = []
    /// The lowest level of diagnostics that is logged.
    package var reportsFrom = Diagnostic.Level.notice

    package init(epoch: String, ownUID: Int, version: String) {
        self.epoch = epoch
        self.ownUID = ownUID
        self.version = version
    }
}
