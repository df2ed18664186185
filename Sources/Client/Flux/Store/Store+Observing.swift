extension Store {
    public var constant: Constant<State> {
        Constant(signal: Signal(core.emitter)) { [emitter = core.emitter] in emitter.latest }
    }

    /// The latest state, then every change.
    public var signal: Signal<State> { Signal(core.emitter) }
}
