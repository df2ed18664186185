/// What a store committed, step by step. It can be encoded when its actions can, and replayed by a ``Recorder``.
public struct Recording<State: Flux.State>: Sendable {
    /// One commit: its action, or the several of an atomic one.
    public struct Step: Sendable {
        public var actions: [State.Action]

        public init(actions: [State.Action]) { self.actions = actions }
    }

    /// The commits, oldest first.
    public var steps: [Step]

    public init(steps: [Step] = []) { self.steps = steps }
}

extension Recording.Step: Encodable where State.Action: Encodable {}
extension Recording.Step: Decodable where State.Action: Decodable {}
extension Recording: Encodable where State.Action: Encodable {}
extension Recording: Decodable where State.Action: Decodable {}
extension Recording.Step: Equatable where State.Action: Equatable {}
extension Recording: Equatable where State.Action: Equatable {}
