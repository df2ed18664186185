import BusCluster

/// One thing that a client wants, and all that it was told of it.
struct Operation {
    enum Kind: Equatable {
        /// Repeated until it is answered.
        case keyed
        /// Sent once.
        case once
        /// May be rejected.
        case guarded
        case will
        /// The session's will is taken back: nothing is left in it.
        case cleared
        case ephemeral
        case timer
        case named
        case ended
        case sync
    }

    enum Answer: Equatable {
        case done(revision: Int, isDuplicate: Bool)
        case refused(String)
    }

    let mark: Int
    let kind: Kind
    /// Who asks; equal for the same client anywhere.
    let client: String
    let started: Int
    /// The number of the connection, and the index of its member, by which it was sent first.
    var session = 0
    var node = 0
    /// The highest revision that anybody had been answered, by epoch, when it was sent last.
    var seen: [String: Int] = [:]
    var answered: Int?
    var answer: Answer?
    /// The epoch of the answer.
    var epoch = ""
    /// Its member said that it is in no history.
    var isSaidToBeNone = false
    /// A will that its client may have taken back.
    var isCleared = false
    /// A try of it may still be on its way.
    var tries = 0
}
