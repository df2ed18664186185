extension Store where State.Mutations: ComposedMutations {
    /// A store whose rules are put together from reducers. It throws if two of them stand for the same sub-state, or one
    /// for a sub-state inside another's, in a sentence that names both.
    public convenience init(
        state: State, mutations: State.Mutations = .init(), executor: Executor = .immediate,
        skipsEqualStates: Bool = true, middleware: [Middleware<State>] = [],
        initialAction: State.Action? = nil
    ) throws(FluxError) {
        try mutations.check()
        self.init(
            core: StoreCore(
                state: state, mutations: mutations, executor: executor, skipsEqualStates: skipsEqualStates,
                middleware: middleware),
            initialAction: initialAction)
    }
}
