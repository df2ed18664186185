/// A kind of state: what it holds, the actions that may change it, and the mutations that apply them.
///
/// A state is a value. Only its mutations change it, and those only when an action is committed:
///
/// ```swift
/// struct Counter: State {
///     private(set) var count = 0
///
///     enum Action: Codable, Sendable { case increment(by: Int = 1), reset }
///
///     struct Mutations: Flux.Mutations {
///         func commit(_ action: Action, to state: inout Counter) {
///             switch action {
///             case .increment(let amount): state.count += amount
///             case .reset: state.count = 0
///             }
///         }
///     }
/// }
/// ```
///
/// A state that is `Equatable` notifies its observers only of commits that made a difference.
public protocol State: Sendable {
    /// The changes that may be made to the state. Plain data; most often an enum.
    associatedtype Action: Sendable

    /// The rules that apply actions.
    associatedtype Mutations: Flux.Mutations where Mutations.State == Self

    /// Which timers an action sets or takes away; none by default.
    static var timers: TimerRule<Self> { get }
}

extension State {
    public static var timers: TimerRule<Self> { TimerRule() }
}
