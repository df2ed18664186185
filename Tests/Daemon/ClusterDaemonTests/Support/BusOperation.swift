/// What a client has asked for, and what it was told.
struct BusOperation: Sendable, CustomStringConvertible {
    enum Kind: Sendable {
        /// A dispatch with a key, repeated until it is answered.
        case keyed
        /// A dispatch without one, sent once.
        case once
        /// What is dispatched when the connection ends, however it ends.
        case will
        /// Reads: of the member's state, and of what is at least as new as everything that was answered before.
        case read
        case fresh
        case sync
    }

    enum Answer: Equatable, Sendable {
        case done(revision: Int, isDuplicate: Bool)
        /// `isNone`: it is said to be in no history.
        case refused(String, isNone: Bool)
    }

    /// What a read shows of a ledger.
    struct Shown: Equatable, Sendable {
        var count: Int
        var last: String
    }

    let kind: Kind
    /// Names it in the ledgers, if it enters something there.
    let mark: String
    /// Nil: every ledger, or none.
    let store: String?
    /// The least revision that an answer may have; of what commits, one less.
    var least: Int
    /// One of a dispatch with a key may be followed by those to the same again.
    var answers: [Answer] = []
    var shown: Shown?

    var commits: Bool { kind == .keyed || kind == .once || kind == .will }
    var description: String { "\(kind) \(mark) at \(store ?? "*"), behind \(least): \(answers)" }
}
