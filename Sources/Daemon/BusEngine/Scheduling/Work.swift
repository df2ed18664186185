/// What things cost, in work. One unit is about a nanosecond on the machines this was measured on; what matters is that
/// the same requests cost the same everywhere, so that the order of waiting can be tested without a clock.
///
/// They are estimates from above of what was measured, accurate to a factor of two.
enum Work {
    /// A request, beside its bytes: reading, look-up and reply.
    static let request = 200
    /// What a client may ask for that has not been served yet: as much as a slice. Other users who ask for less come first.
    static let newcomer = 100_000
    /// A client that is accepted: its socket, its user, its unit.
    static let connection = 20_000
    /// A request that is refused: its message says what to do, which takes a look at what there is.
    static let refusal = 4000
    /// A byte read.
    static let byte = 2
    /// A byte of an empty line.
    static let emptyLine = 10
    /// A read of a socket that brings no whole line: its system calls, and the way here.
    static let piece = 3000
    /// An array or object in a request: made, measured, compared and released.
    static let container = 400
    /// Any other value in a request.
    static let value = 80
    /// An operation of a commit's budget: of expressions, of writes, of stores looked at.
    static let operation = 15
    /// A byte of a condition of a request that is compiled, as it was not known yet.
    static let conditionByte = 700
    /// A store that a commit reaches, at least.
    static let commitStore = 100
    /// A store that a dry run reports, beside its bytes.
    static let dryRunStore = 500
    /// An action of a batch or a will: reading and look-up.
    static let batchAction = 1200
    /// A step of putting a timer in its place among all others.
    static let timerStep = 20
    /// A store that is created, beside the subscriptions notified of it.
    static let create = 3000
    /// A store that is dropped.
    static let drop = 1400
    /// A store that is passed over by a read, or tested against a pattern.
    static let look = 60
    /// A store that is held against the expression of a subscription, beside the operations.
    static let test = 100
    /// A store that is put in its place in the order of names.
    static let ordering = 500
    /// A store that becomes a member of a subscriber group, or leaves it.
    static let membership = 150
    /// A subscription that is made.
    static let subscription = 2000
    /// A pointer of a selection, and each of its bytes: every other one may begin a segment.
    static let pointer = 1500
    static let pointerByte = 40
    /// A store that is put into a map that is made.
    static let mapStore = 400
    /// A state that is read, beside its bytes.
    static let read = 1000
    /// A subscription that is notified by itself, beside the bytes.
    static let delivery = 300
    /// A subscription that is notified later instead.
    static let fall = 150
    /// What a subscriber group selects of a change or a state, beside the bytes.
    static let selection = 1000
    /// A part of an event for a subscription that lags, beside the stores in it.
    static let part = 2000
    /// A subscriber group that is found to want a change.
    static let group = 60
    /// A remembered drop that is looked at for a subscription that resumes.
    static let rememberedDrop = 60
    /// A byte of state that is written as JSON.
    static let encodedByte = 2
    /// An action of a will that is left, beside what its line weighs: names, rules and payload are checked, and it is written
    /// to the log.
    static let willAction = 5000
    /// The counters, beside their bytes; each user, and each action that was ever committed.
    static let statistics = 60_000
    static let statisticsOfUser = 3000
    static let statisticsOfAction = 400
    /// An entry of the log that is looked at for subscriptions to actions, and each byte of one that is parsed.
    static let entry = 100
    static let entryByte = 12
    /// Definitions that are reloaded from their files.
    static let reload = 3_000_000
}
