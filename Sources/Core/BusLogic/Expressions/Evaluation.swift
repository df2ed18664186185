import BusJSON

/// What expressions see while they run, and what is left of their budget.
///
/// It is one value, on the stack of whoever evaluates or in the context of a commit, handed down by reference. State and
/// payload are read where they stand, so evaluating allocates nothing but what the results themselves need, and no
/// object that holds all data together is ever built unless an expression asks for just that.
struct Evaluation {
    /// The state as it was before the action; for a computed value, the state it belongs to. Where an expression may read
    /// it, whoever evaluates keeps it in its place for as long as that takes.
    var state: UnsafePointer<JSONObject>! = nil
    /// The payload, in the same way.
    var payload: UnsafePointer<JSONObject>! = nil
    /// A text, an array or an object that an operation gave and nothing has taken yet.
    var held = JSON.null
    /// The element that an iteration stands at; outside of iterations, the data of a free-standing expression.
    var element = JSON.null
    /// What a reduction has gathered so far.
    var accumulator = JSON.null
    /// Which element that is.
    var index = 0
    /// The scopes around the one that is evaluated, outermost first, as far as expressions climb to them.
    var frames: [Frame] = []
    /// The values that an expression in text gave names, outermost first.
    var locals: [JSON] = []
    /// What is left of the budget.
    var operations: Int
    var bytes: Int
    var reading: Int
    /// Where `meta`, `store` and `stores` come from; nil for computed values and free-standing expressions.
    /// Whoever evaluates holds it for as long as that takes.
    unowned(unsafe) var context: CommitContext?

    init(budget: Budget = Budget(operations: 0, bytes: 0)) {
        operations = budget.operations
        bytes = budget.bytes
        reading = budget.reading
    }

    /// Starts the next evaluation, with a fresh budget and only the state as data. The last one has left its scopes, even if it
    /// ended with an error.
    @inline(__always)
    mutating func begin(_ budget: Budget, on state: UnsafePointer<JSONObject>) {
        operations = budget.operations
        bytes = budget.bytes
        reading = budget.reading
        self.state = state
        payload = nil
        context = nil
        if !held.isNull { held = .null }
    }

    /// What a condition on a store knows besides the state, in the order in which `locals` begins with it.
    static let namesOfStore = ["store", "meta"]

    /// States and the values in them nest at most this deep.
    static let deepestValue = JSON.deepestState
}

extension Evaluation {
    /// Takes one operation from the budget.
    @inline(__always)
    mutating func spend() throws(EvaluationFailure) {
        operations &-= 1
        if operations < 0 { throw .operations }
    }

    /// Takes several operations from the budget: work that grows with the size of its operands.
    @inline(__always)
    mutating func spend(_ count: Int) throws(EvaluationFailure) {
        operations &-= count
        if operations < 0 { throw .operations }
    }

    /// Takes the bytes of a text or key that is about to be read. A short one is part of its operation.
    @inline(__always)
    mutating func read(_ count: Int) throws(EvaluationFailure) {
        if count <= Self.shortText { return }
        reading &-= count
        if reading < 0 { throw .reading }
    }

    /// In bytes.
    static let shortText = 64

    /// Takes produced bytes from the budget.
    @inline(__always)
    mutating func produce(_ count: Int) throws(EvaluationFailure) {
        bytes &-= count
        if bytes < 0 { throw .bytes }
    }

    /// Takes what an element of an array costs in a result that holds it once, as the array did: nothing inside it is copied.
    mutating func keepElement() throws(EvaluationFailure) { try produce(16) }

    /// Takes what an array element or object member costs, with everything inside it.
    ///
    /// Counting the inside again and again is meant: shared parts take no memory here, but every one of them is
    /// written out when the value is encoded.
    mutating func produce(element value: JSON, depth: Int = 2) throws(EvaluationFailure) {
        switch value {
        case .string(let text): try produce(16 &+ text.utf8.count)
        case .array(let elements):
            if depth > Self.deepestValue { throw .tooDeep }
            try produce(16)
            for element in elements { try produce(element: element, depth: depth + 1) }
        case .object(let object):
            if depth > Self.deepestValue { throw .tooDeep }
            try produce(16)
            for member in object.members {
                try produce(member.key.utf8.count)
                try produce(element: member.value, depth: depth + 1)
            }
        default: try produce(16)
        }
    }
}
