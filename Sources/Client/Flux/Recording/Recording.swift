/// What a store committed, step by step, and the state it began with. It can be encoded when its actions can, and
/// replayed by a ``Recorder``.
///
/// In a file the first state is there if the state is `Codable`. A recording without one is replayed from whatever state
/// the recorder began with.
public struct Recording<State: Flux.State>: Sendable {
    /// One commit: its action, or the several of an atomic one.
    public struct Step: Sendable {
        public var actions: [State.Action]
        /// When it was committed: how long after the recording began, by the store's clock. In a file it is seconds.
        public var time: Duration

        public init(actions: [State.Action], time: Duration = .zero) {
            self.actions = actions
            self.time = time
        }
    }

    /// The version of the form in which recordings are encoded; a decoder refuses later ones.
    public static var version: Int { 2 }

    /// The state before the first step, if it is known.
    public var start: State?
    /// The commits, oldest first.
    public var steps: [Step]

    public init(start: State? = nil, steps: [Step] = []) {
        self.start = start
        self.steps = steps
    }
}

extension Recording.Step: Equatable where State.Action: Equatable {}

extension Recording: Equatable where State.Action: Equatable {
    /// Whether the steps are equal, and the first states, as far as states can be compared.
    public static func == (one: Self, other: Self) -> Bool {
        guard one.steps == other.steps, (one.start == nil) == (other.start == nil) else { return false }
        guard let first = one.start, let second = other.start else { return true }
        return Equality.of(State.self)?(first, second) ?? true
    }
}
