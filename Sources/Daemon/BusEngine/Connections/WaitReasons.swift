/// Why nothing more is read from a connection, and no line of it executed. What sets and clears a reason is the method that
/// changes the state it stands for; `Engine.mustWait` asks for all of them.
struct WaitReasons: OptionSet {
    let rawValue: UInt16

    /// It has used up its slice, and continues when it is its turn again.
    static let slice = WaitReasons(rawValue: 1 << 0)
    /// It has waited for one of the reasons below, and looks in its turn whether any of them is left.
    static let turn = WaitReasons(rawValue: 1 << 1)
    /// Its outbox has been full, and is not half empty yet.
    static let output = WaitReasons(rawValue: 1 << 2)
    /// The open batch of commits has no room for it.
    static let log = WaitReasons(rawValue: 1 << 3)
    /// Its query to the log or the daemon is not answered.
    static let query = WaitReasons(rawValue: 1 << 4)
    /// Subscriber groups of its subscriptions have not found all their stores.
    static let stores = WaitReasons(rawValue: 1 << 5)
    /// Subscriptions still receive past actions.
    static let past = WaitReasons(rawValue: 1 << 6)
    /// Subscriptions lag behind.
    static let states = WaitReasons(rawValue: 1 << 7)
    /// Too many of its requests are on their way through the shared log, or their answers wait for changes before them.
    static let entries = WaitReasons(rawValue: 1 << 8)
    /// A read waits for a barrier.
    static let barrier = WaitReasons(rawValue: 1 << 9)
    /// A read takes more than one slice.
    static let read = WaitReasons(rawValue: 1 << 10)
    /// A long request waits until others have had their time.
    static let line = WaitReasons(rawValue: 1 << 11)
    /// It does so at the gate.
    static let gate = WaitReasons(rawValue: 1 << 12)
}
