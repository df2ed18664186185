/// A kind of state: what it holds, the actions that may change it, and the mutations that apply them.
///
/// A state is a value. Only its mutations change it, and only when an action is committed:
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
/// Observers of an `Equatable` state are by default notified only of commits that changed it.
public protocol State: Sendable {
    /// The changes that may be made to the state. Plain data; most often an enum.
    associatedtype Action: Sendable

    /// The rules that apply actions.
    associatedtype Mutations: Flux.Mutations where Mutations.State == Self

    /// Which timers an action sets or cancels; none by default.
    static var timers: TimerRule<Self> { get }
}

extension State {
    public static var timers: TimerRule<Self> { TimerRule() }
}

/// The way to change a state: dispatches actions to one store, to every store of a type, or over a bus; the code
/// that dispatches can't tell which.
///
/// Give a state its vocabulary in an extension; what takes time belongs there too:
///
/// ```swift
/// extension Actions<Counter> {
///     func increment(by amount: Int = 1) { dispatch(.increment(by: amount)) }
///
///     func refresh() async throws {
///         dispatch(.increment(by: try await fetchAmount()))
///     }
/// }
///
/// store.actions.increment()            // this store
/// Store<Counter>.actions.increment()   // every store of the type
/// ```
public struct Actions<State: Flux.State>: Sendable {
    @usableFromInline let send: @Sendable (State.Action) -> Void

    /// Passes each dispatched action to `send`.
    @inlinable
    public init(_ send: @escaping @Sendable (State.Action) -> Void) { self.send = send }

    /// Dispatches one action. The store's documentation says when this returns and when the change is visible.
    @inlinable
    public func dispatch(_ action: State.Action) { send(action) }
}

extension Actions {
    /// Dispatches one action after another; each state in between can be observed. Other callers may dispatch
    /// between two of them; see ``Store/dispatch(_:)-([State.Action])`` and ``Store/dispatch(atomically:)``
    /// for lists that stay together.
    public func dispatch(_ actions: [State.Action]) {
        for action in actions { dispatch(action) }
    }

    /// Dispatches each action of an asynchronous sequence as it comes, until the sequence ends or throws.
    public func dispatch<Sequence: AsyncSequence>(
        _ actions: Sequence
    ) async throws(Sequence.Failure) where Sequence.Element == State.Action {
        var iterator = actions.makeAsyncIterator()
        while let action = try await iterator.next(isolation: #isolation) { dispatch(action) }
    }
}

/// The rules by which actions change a state: synchronous, pure and deterministic.
///
/// A mutation sees nothing but the state and the action, so the same actions in the same order always give the same
/// state: in this process, in another one, and when a recording is replayed. Code that takes time, reads a clock or may
/// fail for external reasons belongs in an extension of ``Actions``.
public protocol Mutations<State>: Sendable {
    associatedtype State: Flux.State

    /// Rules have no memory of their own, so they are made without arguments.
    init()

    /// Applies `action` to `state`. When it throws, the state stays as it was and observers are not notified; the error
    /// is thrown to the caller that waits for the outcome, or delivered by the store's `failures`.
    func commit(_ action: State.Action, to state: inout State) throws
}

extension Mutations {
    /// Applies `action` with the guarantees of ``commit(_:to:)``: when it throws, `state` stays as it was, and a mutation that
    /// dispatches fails with ``FluxError/dispatchInMutation(action:)``.
    package func commitPurely(_ action: State.Action, to state: inout State) throws {
        var changed = state
        let (_, triedToDispatch) = try ThreadContext.mutate { try commit(action, to: &changed) }
        if triedToDispatch { throw FluxError.dispatchInMutation(action: String(describing: action)) }
        state = changed
    }
}

/// Whether this thread is in a mutation, for stores of other kinds than ``Store``.
package enum Mutating {
    /// Whether a mutation is running on this thread.
    package static var isUnderWay: Bool { ThreadContext.current.isMutating }

    /// The error for a dispatch inside a mutation, which then fails as well; nil if no mutation is running on this thread.
    package static func refusal(of action: some Any) -> FluxError? {
        guard ThreadContext.current.refusesDispatch() else { return nil }
        return .dispatchInMutation(action: String(describing: action))
    }
}

/// Whether observers are being notified of a replay on this thread, for dispatches to other things than a ``Store``: they are
/// ignored.
package enum Replaying {
    package static var isUnderWay: Bool { ThreadContext.current.isReplaying }
}

/// A read-only view of a state: its members, and values that extensions derive from them.
///
/// ```swift
/// extension Computed<Counter> {
///     var isEven: Bool { state.count.isMultiple(of: 2) }
///     func exceeds(_ limit: Int) -> Bool { state.count > limit }
/// }
///
/// store.computed.isEven
/// store.computed.count      // members of the state itself, too
/// ```
///
/// It is a snapshot: everything read from one value belongs to the same moment.
@dynamicMemberLookup
public struct Computed<State: Flux.State>: Sendable {
    public let state: State

    @inlinable
    public init(_ state: State) { self.state = state }

    @inlinable
    public subscript<Value>(dynamicMember member: KeyPath<State, Value>) -> Value { state[keyPath: member] }
}
