/// What the actions of a state do to the timers of their store: a timer is an action that a store commits later by itself.
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
