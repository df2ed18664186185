import BusJSON

/// What expressions see while they run, and what is left of their budget.
///
/// It is one value, on the caller's stack or in the context of a commit, passed down by reference. State and payload are
/// read in place, so an evaluation allocates only what its results need. An object that holds all data is built only for an
/// expression that asks for it.
struct Evaluation {
    /// The state before the action; for a computed value, the state it belongs to. While an expression that may read it is
    /// evaluated, the caller keeps it at this address.
    var state: UnsafePointer<JSONObject>! = nil
    /// The payload; the caller keeps it likewise.
    var payload: UnsafePointer<JSONObject>! = nil
    /// A text, an array or an object that an operation has produced and nothing has taken yet.
    var held = JSON.null
    /// The current element of an iteration; outside iterations, the data of a free-standing expression.
    var element = JSON.null
    /// What a reduction has accumulated so far.
    var accumulator = JSON.null
    /// The index of `element` in its iteration.
    var index = 0
    /// The data of the enclosing scopes, outermost first. Only a scope that reads the data around it saves that data here.
    var frames: [Frame] = []
    /// The values that expressions in text refer to by names, outermost first.
    var locals: [JSON] = []
    /// What is left of the budget.
    var operations: Int
    var bytes: Int
    var reading: Int
    var hasPrices: Bool
    /// Where `meta`, `store` and `stores` come from; nil for computed values and free-standing expressions.
    /// The caller holds it during the evaluation.
    unowned(unsafe) var context: CommitContext?

    init(budget: Budget = Budget(operations: 0, bytes: 0)) {
        operations = budget.operations
        bytes = budget.bytes
        reading = budget.reading
        hasPrices = budget.hasPrices
    }

    /// Starts the next evaluation, with a fresh budget and only the state as data. The previous one has left its scopes, even
    /// if it failed.
    @inline(__always)
    mutating func begin(_ budget: Budget, on state: UnsafePointer<JSONObject>) {
        operations = budget.operations
        bytes = budget.bytes
        reading = budget.reading
        hasPrices = budget.hasPrices
        self.state = state
        payload = nil
        context = nil
        if !held.isNull { held = .null }
    }

    /// What a condition on a store reads besides the state: the names of the first `locals`, in this order.
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

    /// Takes the bytes of a text or key that is about to be read. The operation already pays for a short one.
    @inline(__always)
    mutating func read(_ count: Int) throws(EvaluationFailure) {
        if count <= Self.shortText { return }
        reading &-= count
        if reading < 0 { throw .reading }
    }

    /// The longest text or key, in bytes, that costs nothing more to read.
    static let shortText = 64

    /// Takes produced bytes from the budget.
    @inline(__always)
    mutating func produce(_ count: Int) throws(EvaluationFailure) {
        bytes &-= count
        if bytes < 0 { throw .bytes }
    }

    /// Takes the cost of an element that a result holds once, as its array did: nothing inside it is copied.
    mutating func keepElement() throws(EvaluationFailure) { try produce(16) }

    /// Takes the cost of an array element or object member, with everything inside it.
    ///
    /// What is inside is counted each time on purpose: shared parts take no memory here, but each occurrence is written out
    /// when the value is encoded.
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
