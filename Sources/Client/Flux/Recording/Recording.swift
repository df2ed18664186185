/// What a store committed, step by step, and the state it began with. It can be encoded if its actions can, and a
/// ``Recorder`` can replay it.
///
/// A file holds the first state if the state is `Codable`. A recording without one is replayed from the state with which the
/// recorder that replays it began.
public struct Recording<State: Flux.State>: Sendable {
    /// One commit: its action, or all actions of an atomic one.
    public struct Step: Sendable {
        public var actions: [State.Action]
        /// The time from the beginning of the recording to the commit, by the store's clock. In a file, it is in seconds.
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
    /// Whether the steps are equal, and also the first states, if states can be compared.
    public static func == (one: Self, other: Self) -> Bool {
        guard one.steps == other.steps, (one.start == nil) == (other.start == nil) else { return false }
        guard let first = one.start, let second = other.start else { return true }
        return Equality.of(State.self)?(first, second) ?? true
    }
}

private enum StepKey: String, CodingKey { case actions, time }
private enum RecordingKey: String, CodingKey { case version, start, steps }

extension Recording.Step: Encodable where State.Action: Encodable {
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: StepKey.self)
        try container.encode(actions, forKey: .actions)
        try container.encode(RecordedTime.seconds(of: time), forKey: .time)
    }
}

extension Recording.Step: Decodable where State.Action: Decodable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: StepKey.self)
        self.init(
            actions: try container.decode([State.Action].self, forKey: .actions),
            time: try RecordedTime.decode(container))
    }
}

/// The time of a step in a file: seconds, to the nanosecond.
private enum RecordedTime {
    static func seconds(of time: Duration) -> Double {
        let (seconds, attoseconds) = time.components
        return Double(seconds) + Double(attoseconds) / 1e18
    }

    /// Recordings of version 1 hold times as `Duration` encodes itself; earlier ones hold none.
    static func decode(_ container: KeyedDecodingContainer<StepKey>) throws -> Duration {
        guard let seconds = try? container.decodeIfPresent(Double.self, forKey: .time) else {
            return try container.decodeIfPresent(Duration.self, forKey: .time) ?? .zero
        }
        // Over thirty million years is a mistake, and far more would not fit the integer below.
        guard abs(seconds) < 1e15 else {
            throw DecodingError.dataCorruptedError(
                forKey: .time, in: container,
                debugDescription: "The time of a step is in seconds, and \(seconds) are too many.")
        }
        let whole = seconds.rounded(.towardZero)
        return .seconds(Int64(whole)) + .nanoseconds(Int64(((seconds - whole) * 1e9).rounded()))
    }
}

extension Recording: Encodable where State.Action: Encodable {
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: RecordingKey.self)
        try container.encode(Self.version, forKey: .version)
        if let start = start as? any Encodable {
            try start.encode(to: container.superEncoder(forKey: .start))
        }
        try container.encode(steps, forKey: .steps)
    }
}

extension Recording: Decodable where State.Action: Decodable {
    /// Reads a recording of this or an earlier version. The earliest have no version, no times and no first state.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: RecordingKey.self)
        let version = try container.decodeIfPresent(Int.self, forKey: .version) ?? Self.version
        guard version <= Self.version else {
            throw DecodingError.dataCorruptedError(
                forKey: .version, in: container,
                debugDescription:
                    "The recording has version \(version), and versions up to \(Self.version) are known here; read it with a newer release."
            )
        }
        var start: State?
        if let type = State.self as? any Decodable.Type, container.contains(.start) {
            start = try type.init(from: container.superDecoder(forKey: .start)) as? State
        }
        self.init(start: start, steps: try container.decode([Step].self, forKey: .steps))
    }
}

extension Store {
    /// Calls `body` for every commit of actions, within the store's turn, with the state before it and the actions that reached
    /// the mutations. `body` must neither wait nor dispatch. Replays do not count as commits.
    package func observeCommits(
        _ body: @escaping @Sendable (_ before: State, _ actions: [State.Action]) -> Void
    ) -> Disposable {
        core.recorders.add(body)
    }
}
