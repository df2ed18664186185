/// How far a simulated process has come in handing over its sessions to the one after it, as the daemon does when it restarts.
enum HandOver {
    /// Its clients ask for nothing more, and it waits until it is at rest.
    case resting
    /// It hears nothing more, and waits until its lease is renewed.
    case passing
    /// It has ended, and the next one starts.
    case left(Legacy)

    /// What the next process gets.
    struct Legacy {
        /// Of the copy.
        let place: Int
        let lease: Int
        /// When the next process starts.
        let due: Int
        /// How often the log had gone back.
        let rollbacks: Int
    }
}

/// Rules of a hand-over that a test leaves out, to see that its simulation finds what comes of it.
struct HandOverRules: OptionSet {
    let rawValue: Int

    /// Nothing of the process is on its way through the log.
    static let rest = HandOverRules(rawValue: 1 << 0)
    /// The copy is at the place where the process before has left off.
    static let place = HandOverRules(rawValue: 1 << 1)
    /// Proposals count on from the last one of the process before.
    static let number = HandOverRules(rawValue: 1 << 2)
    /// The sessions stay those of the incarnation that has opened them.
    static let incarnation = HandOverRules(rawValue: 1 << 3)
}
