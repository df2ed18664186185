extension Store {
    @inlinable public var constant: Constant<State> {
        Constant(signal: signal) { [emitter = core.emitter] in emitter.latest }
    }

    /// The latest state, then every change.
    @inlinable public var signal: Signal<State> { Signal(core.emitter, isDistinct: core.skipsEqualStates) }
}
