extension Mutations {
    /// Commits and keeps the promises of ``commit(_:to:)``: when it throws, `state` stays as it was; a mutation that
    /// dispatches fails with ``FluxError/dispatchInMutation(action:)``.
    package func commitPurely(_ action: State.Action, to state: inout State) throws {
        var changed = state
        let (_, triedToDispatch) = try ThreadContext.mutate { try commit(action, to: &changed) }
        if triedToDispatch { throw FluxError.dispatchInMutation(action: String(describing: action)) }
        state = changed
    }
}
