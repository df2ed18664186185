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
    }

    let name: String
    let payload: PayloadSchema
    let requirements: [Requirement]
    let condition: ExpressionNode?
    let steps: [WriteStep]
    let timers: [TimerRule]
    /// How many operations the values of all writes take where they are constants or stand in the payload and nothing
    /// else has to be looked at, so that no data has to be laid out; else nil.
    let plainOperations: Int?

    init(
        name: String, payload: PayloadSchema, requirements: [Requirement], condition: ExpressionNode?,
        steps: [WriteStep], timers: [TimerRule] = []
    ) {
        self.name = name
        self.payload = payload
        self.requirements = requirements
        self.condition = condition
        self.steps = steps
        self.timers = timers
        let operations = steps.compactMap(\.value.plainOperations)
        let isPlain =
            requirements.isEmpty && condition == nil && timers.isEmpty && operations.count == steps.count
        plainOperations = isPlain ? operations.reduce(0, +) : nil
    }
}

/// The values of an action's writes. Most actions have one; a second needs an array.
struct WriteValues {
    private var first = JSON.null
    private var rest: [JSON] = []
    private var count = 0

    @inline(__always)
    mutating func append(_ value: JSON) {
        if count == 0 { first = value } else { rest.append(value) }
        count += 1
    }

    @inline(__always)
    subscript(index: Int) -> JSON { index == 0 ? first : rest[index - 1] }
}
