import BusJSON
import BusProtocol
import BusState

/// One action of a declared type, compiled.
final class DeclaredAction: Sendable {
    final class Requirement: Sendable {
        let condition: ExpressionNode
        /// The reason that a client is told; a text or an expression that gives one.
        let otherwise: ExpressionNode

        init(condition: ExpressionNode, otherwise: ExpressionNode) {
            self.condition = condition
            self.otherwise = otherwise
        }

        /// The reason, where it is the same whatever the state and the payload.
        var constantText: String? { otherwise.constant?.string }
    }

    let name: String
    let payload: PayloadSchema
    /// What the members of a payload have to be beyond their types; nil where the types say all.
    let constraints: PayloadConstraints?
    let payloadMembers: [PayloadMember]
    /// The members of a payload that only `require` reads, and of which only a digest leaves the bus.
    let redacted: [String]
    let requirements: [Requirement]
    /// The conditions of `requirements`.
    let conditions: Operands
    /// `when`, if there is one.
    let condition: Operands
    let steps: [WriteStep]
    /// What it writes where only data tells how much or where to; it has no steps then.
    let dynamic: DynamicWrites?
    /// The steps again, as far as they are so.
    let direct: [DirectWrite?]
    /// The values of `steps`.
    let values: Operands
    let timers: [TimerRule]
    /// What a dispatch returns of each store, worked out on the state after the action; nil: nothing.
    let returns: ExpressionNode?
    /// How many operations the values of all writes take where they are constants or stand in the payload and nothing
    /// else has to be looked at, so that no data has to be laid out; else nil.
    let plainOperations: Int?
    /// Whether its writes have to be followed, because computed values read them or because they could break what
    /// states have to be.
    let isFollowed: Bool
    /// Whether its writes may change what the type's own timers read.
    let mayTurnTimers: Bool

    init(
        name: String, payload: LoadedPayload, requirements: [Requirement], condition: ExpressionNode?,
        steps: [WriteStep], dynamic: DynamicWrites? = nil, timers: [TimerRule] = [],
        returns: ExpressionNode? = nil, redacted: [String] = [], isWatched: Bool,
        mayTurnTimers: Bool = false
    ) {
        self.name = name
        self.payload = payload.schema
        constraints = payload.constraints
        payloadMembers = payload.members
        self.redacted = redacted
        self.requirements = requirements
        conditions = Operands(requirements.map(\.condition))
        self.condition = Operands(condition.map { [$0] } ?? [])
        self.steps = steps
        self.dynamic = dynamic
        direct = steps.map { DirectWrite($0) }
        values = Operands(steps.map(\.value))
        self.timers = timers
        self.mayTurnTimers = mayTurnTimers
        self.returns = returns
        let operations = steps.compactMap(\.value.plainOperations)
        let isPlain =
            requirements.isEmpty && condition == nil && timers.isEmpty && operations.count == steps.count
            && dynamic == nil
        plainOperations = isPlain ? operations.reduce(0, +) : nil
        isFollowed = isWatched || (dynamic?.steps ?? steps).contains { $0.check != nil }
    }

    /// Whether it makes members of the state whose names only data tells.
    var makesMembers: Bool {
        dynamic?.makesMembers ?? steps.contains { $0.path.makesMembers($0.kind) }
    }

    /// Every write that it may make.
    var writes: [WriteStep] { dynamic?.steps ?? steps }
}
