/// What a store committed, step by step, from a state on. It can be encoded when its actions can, and replayed by a
/// ``Recorder``.
///
/// ```json
/// {"version": 1, "start": {"count": 0}, "steps": [{"actions": [{"increment": {"by": 1}}], "time": [0, 0]}]}
/// ```
public struct Recording<State: Flux.State>: Sendable {
    /// One commit: its action, or the several of an atomic one.
    public struct Step: Sendable {
        public var actions: [State.Action]
        /// When it was committed: how long after the recording began, by the store's clock.
        public var time: Duration

        public init(actions: [State.Action], time: Duration = .zero) {
            self.actions = actions
            self.time = time
        }
    }

    /// The state before the first step. Encoded if the state can be; nil where it could not, or where nobody gave one:
    /// then a replay begins at the state in which the recorder's store is.
    public var start: State?
    /// The commits, oldest first.
    public var steps: [Step]

    public init(from start: State? = nil, steps: [Step] = []) {
        self.start = start
        self.steps = steps
    }
}

extension Recording.Step: Equatable where State.Action: Equatable {}
extension Recording: Equatable where State: Equatable, State.Action: Equatable {}
