/// The timers of one store, and the alarm that the store has set on its clock for the first of them.
struct TimerTable<State: Flux.State> {
    struct Timer: Sendable {
        let name: String
        /// On the store's clock.
        let due: Duration
        let action: State.Action
    }

    /// In the order in which they are due; of those due at one time, the one set first comes first. They are few.
    private(set) var timers: [Timer] = []
    /// When the clock calls, and what ends that.
    var alarm: (time: Duration, ending: Disposable)?
    /// The store is gone.
    private(set) var isClosed = false

    /// The time of the alarm to set; nil if one is set in time, or none is needed.
    var wantedAlarm: Duration? {
        guard let first = timers.first, alarm.map({ $0.time > first.due }) ?? true else { return nil }
        return first.due
    }

    /// Sets a timer; returns the one that it replaces.
    mutating func set(_ timer: Timer) throws(FluxError) -> Timer? {
        let replaced = cancel(timer.name)
        guard timers.count < TimerLimits.timersOfStore else {
            throw .timerRefused(
                timer: timer.name, reason: "the store has \(timers.count) timers, which is the limit")
        }
        timers.insert(timer, at: timers.firstIndex { $0.due > timer.due } ?? timers.count)
        return replaced
    }

    /// Takes a timer away.
    mutating func cancel(_ name: String) -> Timer? {
        let place = timers.firstIndex { $0.name.utf8.elementsEqual(name.utf8) }
        return place.map { timers.remove(at: $0) }
    }

    /// Takes the first timer that is due.
    mutating func takeDue(at now: Duration) -> Timer? {
        guard let first = timers.first, first.due <= now else { return nil }
        return timers.removeFirst()
    }

    /// Forgets the alarm; returns it, to be ended.
    mutating func takeAlarm() -> Disposable? {
        defer { alarm = nil }
        return alarm?.ending
    }

    /// The store goes, and its timers with it. Returns what is to be released.
    mutating func close() -> ([Timer], Disposable?) {
        isClosed = true
        defer { timers = [] }
        return (timers, takeAlarm())
    }
}

/// What an action does to one timer of its store: sets or resets it, or cancels it.
public struct TimerChange<State: Flux.State>: Sendable {
    /// What a timer is set to.
    public struct Setting: Sendable {
        /// How long after the commit it is due; shorter delays are raised to ``TimerLimits/shortest``.
        public let delay: Duration
        /// What the store commits then.
        public let action: State.Action
    }

    /// The timer's name. A store has one timer of a name.
    public let timer: String
    /// Nil: the timer is taken away.
    public let setting: Setting?

    /// Sets a timer: `delay` after this commit, the store commits `action`. It replaces one of the same name.
    public static func set(_ timer: String, after delay: Duration, _ action: State.Action) -> TimerChange {
        TimerChange(timer: timer, setting: Setting(delay: delay, action: action))
    }

    /// Takes a timer away, if there is one of this name.
    public static func cancel(_ timer: String) -> TimerChange { TimerChange(timer: timer, setting: nil) }

    /// Why no store can make the change, as the end of a sentence; nil if one may.
    package var defect: String? {
        guard TimerLimits.isName(timer) else { return "its name must \(TimerLimits.nameRule)" }
        guard let delay = setting?.delay else { return nil }
        if delay < .zero { return "the time lies in the past" }
        return delay > TimerLimits.longest ? "the time lies more than ten years ahead" : nil
    }
}

extension TimerChange.Setting: Equatable where State.Action: Equatable {}
extension TimerChange: Equatable where State.Action: Equatable {}

/// The bounds of timers, in a process as on a bus.
public enum TimerLimits {
    /// The most timers that a store may have. Programs spell their names out, so more are a mistake, such as a counter in a
    /// name.
    public static let timersOfStore = 64
    /// The shortest delay, so that a timer that resets itself can't keep a processor busy.
    public static let shortest = Duration.milliseconds(10)
    /// The longest delay, ten years: what is meant to last longer is mostly a mistake of units.
    public static let longest = Duration.seconds(3653 * 86_400)

    package static let longestName = 64
    package static let nameRule =
        "begin with a letter or digit, go on with letters, digits, _ : @ or -, and use at most 64 bytes"

    /// Whether a timer can be called this: `[A-Za-z0-9][A-Za-z0-9_:@-]*`.
    package static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, isAlphanumeric(first), text.utf8.count <= longestName else {
            return false
        }
        return text.utf8.allSatisfy { isAlphanumeric($0) || "_:@-".utf8.contains($0) }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}

/// What the actions of a state do to the timers of their store. A timer is an action that the store commits later.
///
/// ```swift
/// static let timers = TimerRule<Lamp> { action, lamp in
///     switch action {
///     case .switchOn(let minutes): [.set("off", after: .seconds(minutes * 60), .switchOff)]
///     case .switchOff: [.cancel("off")]
///     }
/// }
/// ```
///
/// The rule is a part of the state as its mutations are, and as pure: it sees the action and the state before it. So it
/// holds wherever the state lives: in a ``Store``, and in a daemon that hosts it.
public struct TimerRule<State: Flux.State>: Sendable {
    /// The changes that an action makes to the timers of a store, found from the action and the state before it.
    public typealias Changes =
        @Sendable (_ action: State.Action, _ state: State) throws -> [TimerChange<State>]

    /// Nil where no action changes any.
    package let changes: Changes?

    /// No action has anything to do with timers.
    public init() { changes = nil }

    /// A rule. Where it throws, the action is refused as by a mutation that throws.
    public init(_ changes: @escaping Changes) { self.changes = changes }

    /// What the rule says of an action that is committed to a state.
    public func changes(by action: State.Action, in state: State) throws -> [TimerChange<State>] {
        try changes?(action, state) ?? []
    }

    /// The same, with the guarantees of a mutation: a rule that dispatches fails, and so does one whose changes can't be
    /// made.
    func changesPurely(by action: State.Action, in state: State) throws -> [TimerChange<State>] {
        let (found, triedToDispatch) = try ThreadContext.mutate { try changes(by: action, in: state) }
        if triedToDispatch { throw FluxError.dispatchInMutation(action: String(describing: action)) }
        for change in found {
            if let defect = change.defect {
                throw FluxError.timerRefused(timer: change.timer, reason: defect)
            }
        }
        return found
    }
}
