/// What became of actions that could not be committed and whose dispatcher does not wait for the outcome.
///
/// ```swift
/// store.failures.observe { log("\($0.actions) failed: \($0.error)") }
/// ```
public struct ActionFailure<State: Flux.State>: Sendable {
    /// The actions of the one commit that failed; most often one.
    public let actions: [State.Action]
    /// Why: what the mutation threw, or a ``FluxError``.
    public let error: any Error

    package init(actions: [State.Action], error: any Error) {
        self.actions = actions
        self.error = error
    }
}
