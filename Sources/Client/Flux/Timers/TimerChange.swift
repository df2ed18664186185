/// What an action does to one timer of its store: sets it, perhaps anew, or takes it away.
public struct TimerChange<State: Flux.State>: Sendable {
    /// What a timer is set to.
    public struct Setting: Sendable {
        /// How long after the commit it is due; at least ``TimerLimits/shortest``, whatever is said.
        public let delay: Duration
        /// What the store commits then.
        public let action: State.Action
    }

    /// The timer's name. A store has one timer of a name.
    public let timer: String
    /// Nil: the timer is taken away.
    public let setting: Setting?

    /// Sets a timer: so long after this commit, the store commits `action`. One of the same name is replaced.
    public static func set(_ timer: String, after delay: Duration, _ action: State.Action) -> TimerChange {
        TimerChange(timer: timer, setting: Setting(delay: delay, action: action))
    }

    /// Takes a timer away, if there is one of this name.
    public static func cancel(_ timer: String) -> TimerChange { TimerChange(timer: timer, setting: nil) }

    /// Why the change can't be made in any store, as the end of a sentence; nil if it can.
    package var defect: String? {
        guard TimerLimits.isName(timer) else { return "its name must \(TimerLimits.nameRule)" }
        guard let delay = setting?.delay else { return nil }
        if delay < .zero { return "the time lies in the past" }
        return delay > TimerLimits.longest ? "the time lies more than ten years ahead" : nil
    }
}

extension TimerChange.Setting: Equatable where State.Action: Equatable {}
extension TimerChange: Equatable where State.Action: Equatable {}
