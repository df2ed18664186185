/// The rules by which actions change a state: synchronous, pure and deterministic.
///
/// A mutation sees nothing but the state and the action, so the same actions in the same order always give the same
/// state: in this process, in another one, and when a recording is replayed. Code that takes time, reads a clock or may
/// fail for external reasons belongs into an action (see ``Actions``).
public protocol Mutations<State>: Sendable {
    associatedtype State: Flux.State

    /// Rules have no memory of their own, so they are made without arguments.
    init()

    /// Applies `action` to `state`. When it throws, the state stays as it was and observers are not notified; the error
    /// is thrown to the caller that waits for the outcome, or delivered by the store's `failures`.
    func commit(_ action: State.Action, to state: inout State) throws
}

extension Mutations {
    /// Commits and keeps the guarantees of ``commit(_:to:)``: when it throws, `state` stays as it was; a mutation that
    /// dispatches fails with ``FluxError/dispatchInMutation(action:)``.
    package func commitPurely(_ action: State.Action, to state: inout State) throws {
        var changed = state
        let (_, triedToDispatch) = try ThreadContext.mutate { try commit(action, to: &changed) }
        if triedToDispatch { throw FluxError.dispatchInMutation(action: String(describing: action)) }
        state = changed
    }
}

/// What this thread is doing, for stores that are no `Store`.
package enum Mutating {
    /// Whether a mutation is running on this thread.
    package static var isUnderWay: Bool { ThreadContext.current.isMutating }

    /// Why an action can't be dispatched: a mutation is running on this thread, against which the attempt is remembered.
    package static func refusal(of action: some Any) -> FluxError? {
        guard ThreadContext.current.refusesDispatch() else { return nil }
        return .dispatchInMutation(action: String(describing: action))
    }
}
