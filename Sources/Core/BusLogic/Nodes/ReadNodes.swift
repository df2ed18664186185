import BusJSON
import BusState

/// One step of a read: a key of an object, or an index of an array, whichever stands there.
struct ReadKey: Sendable {
    let name: String
    let index: Int?
    /// Where the key stands in the type's initial state; only a guess.
    let hint: Int

    init(_ name: String, hint: Int = 0) {
        self.name = name
        self.hint = hint
        index = arrayIndex(name)
    }
}

extension JSONObject {
    /// The value that the keys from `start` on lead to; nil where they lead nowhere.
    func find(_ keys: [ReadKey], from start: Int = 0) -> JSON? {
        if start == keys.count { return .object(self) }
        return place(keys, from: start)?.pointee
    }

    /// The place that the keys from `start` on lead to; nil where they lead nowhere. There must be one.
    func place(_ keys: [ReadKey], from start: Int) -> UnsafePointer<JSON>? {
        guard let place = place(of: keys[start].name, hint: keys[start].hint) else { return nil }
        return start == keys.count - 1 ? place : place.pointee.place(keys, from: start + 1)
    }
}

extension UnsafePointer<JSONObject> {
    /// The place that keys lead to; nil where they lead nowhere. There must be one. Mostly it is a member of the object
    /// itself, and stands where the definition has it.
    @inline(__always)
    func place(_ keys: [ReadKey]) -> UnsafePointer<JSON>? {
        if keys.count == 1, pointee.has(keys[0].name, at: keys[0].hint) {
            return pointee.place(at: keys[0].hint)
        }
        return search(keys)
    }

    @inline(never)
    private func search(_ keys: [ReadKey]) -> UnsafePointer<JSON>? { pointee.place(keys, from: 0) }
}

extension JSON {
    /// The value that the keys from `start` on lead to; nil where they lead nowhere.
    func find(_ keys: [ReadKey], from start: Int = 0) -> JSON? {
        start == keys.count ? self : place(keys, from: start)?.pointee
    }

    /// The place that the keys from `start` on lead to; nil where they lead nowhere. There must be one.
    func place(_ keys: [ReadKey], from start: Int) -> UnsafePointer<JSON>? {
        switch self {
        case .object(let object): return object.place(keys, from: start)
        case .array:
            guard let index = keys[start].index, let place = place(at: index) else { return nil }
            return start == keys.count - 1 ? place : place.pointee.place(keys, from: start + 1)
        default: return nil
        }
    }
}

extension Evaluation {
    /// Reads a number that is a member of the state or the payload itself, where the definition has it, and takes an
    /// operation; nil, and nothing taken, for anything else. Nothing is called, so that this costs next to nothing.
    @inline(__always)
    mutating func number(at keys: [ReadKey], of object: UnsafePointer<JSONObject>!) -> Scalar? {
        guard operations > 0, keys.count == 1, object.pointee.has(keys[0].name, at: keys[0].hint) else {
            return nil
        }
        switch object.pointee.place(at: keys[0].hint).pointee {
        case .int(let number):
            operations &-= 1
            return .int(number)
        case .double(let number):
            operations &-= 1
            return .double(number)
        default: return nil
        }
    }
}

/// Reads a place that is known when the definition is loaded; where nothing stands there, the fallback counts.
class ReadNode: ScalarNode, @unchecked Sendable {
    let keys: [ReadKey]
    let fallback: ExpressionNode?

    init(_ keys: [ReadKey], fallback: ExpressionNode?) {
        self.keys = keys
        self.fallback = fallback
    }

    /// The value at the place; nil where nothing stands there.
    func find(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON? { nil }

    override func scalar(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Scalar {
        try evaluation.spend()
        if let found = try find(&evaluation) { return evaluation.scalar(found) }
        return try other(&evaluation)
    }

    /// What counts where nothing stands at the place.
    @inline(never)
    final func other(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Scalar {
        try fallback?.scalar(&evaluation) ?? .null
    }
}

final class StateReadNode: ReadNode, @unchecked Sendable {
    override func find(_ evaluation: inout Evaluation) -> JSON? { evaluation.state.pointee.find(keys) }

    override func scalar(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Scalar {
        if let number = evaluation.number(at: keys, of: evaluation.state) { return number }
        return try search(&evaluation)
    }

    /// What else may stand at the place.
    @inline(never)
    private func search(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Scalar {
        try evaluation.spend()
        if keys.isEmpty { return evaluation.scalar(.object(evaluation.state.pointee)) }
        if let place = evaluation.state.place(keys) { return evaluation.scalar(at: place) }
        return try other(&evaluation)
    }
}

final class PayloadReadNode: ReadNode, @unchecked Sendable {
    override func find(_ evaluation: inout Evaluation) -> JSON? { evaluation.payload.pointee.find(keys) }

    override var plainOperations: Int? { fallback == nil ? 1 : nil }

    override func plainValue(_ payload: UnsafePointer<JSONObject>) -> JSON {
        if keys.isEmpty { return .object(payload.pointee) }
        return payload.place(keys)?.pointee ?? .null
    }

    override func scalar(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Scalar {
        if let number = evaluation.number(at: keys, of: evaluation.payload) { return number }
        return try search(&evaluation)
    }

    /// What else may stand at the place.
    @inline(never)
    private func search(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Scalar {
        try evaluation.spend()
        if keys.isEmpty { return evaluation.scalar(.object(evaluation.payload.pointee)) }
        if let place = evaluation.payload.place(keys) { return evaluation.scalar(at: place) }
        return try other(&evaluation)
    }
}

/// What `let` gives a name, below named values of the expression that reads it, which are put aside.
final class NamedNode: ScalarNode, @unchecked Sendable {
    let node: ExpressionNode

    init(_ node: ExpressionNode) { self.node = node }

    override func scalar(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Scalar {
        var around: [JSON] = []
        swap(&around, &evaluation.locals)
        defer { swap(&around, &evaluation.locals) }
        return try node.scalar(&evaluation)
    }
}

/// What `let` gives a name in JsonLogic, or a place in it.
final class NamedReadNode: ReadNode, @unchecked Sendable {
    let value: ExpressionNode

    init(_ value: ExpressionNode, _ keys: [ReadKey], fallback: ExpressionNode?) {
        self.value = value
        super.init(keys, fallback: fallback)
    }

    override func find(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON? {
        try value.value(&evaluation).find(keys)
    }
}

/// The element of an iteration, or the data of a free-standing expression.
final class ElementReadNode: ReadNode, @unchecked Sendable {
    override func find(_ evaluation: inout Evaluation) -> JSON? { evaluation.element.find(keys) }
}

/// What a reduction has gathered so far.
final class AccumulatorReadNode: ReadNode, @unchecked Sendable {
    override func find(_ evaluation: inout Evaluation) -> JSON? { evaluation.accumulator.find(keys) }
}

/// One of `meta.time`, `meta.revision`, `meta.uid`.
final class MetaReadNode: ReadNode, @unchecked Sendable {
    override func find(_ evaluation: inout Evaluation) -> JSON? {
        evaluation.meta(keys[0].name)?.find(keys, from: 1)
    }
}

/// The address of the store that is committed to.
final class StoreReadNode: ReadNode, @unchecked Sendable {
    override func find(_ evaluation: inout Evaluation) -> JSON? { evaluation.storeAddress?.find(keys) }
}

/// A store of a type that is waited for, by its address.
final class StoresReadNode: ReadNode, @unchecked Sendable {
    let waitFor: [String]

    init(_ keys: [ReadKey], waitFor: [String], fallback: ExpressionNode?) {
        self.waitFor = waitFor
        super.init(keys, fallback: fallback)
    }

    override func find(_ evaluation: inout Evaluation) -> JSON? {
        evaluation.stateOfStore(at: keys[0].name, waitFor)?.find(keys, from: 1)
    }
}

/// A place that can only be found when the data is there, and all data together.
final class DataReadNode: ReadNode, @unchecked Sendable {
    let scope: DataScope

    init(_ keys: [ReadKey], in scope: DataScope, fallback: ExpressionNode?) {
        self.scope = scope
        super.init(keys, fallback: fallback)
    }

    override func find(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON? {
        try evaluation.find(keys, in: scope)
    }
}

/// `var` with a path that is computed.
final class DynamicReadNode: ScalarNode, @unchecked Sendable {
    let path: ExpressionNode
    let scope: DataScope
    let fallback: ExpressionNode?

    init(_ path: ExpressionNode, in scope: DataScope, fallback: ExpressionNode?) {
        self.path = path
        self.scope = scope
        self.fallback = fallback
    }

    override func scalar(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Scalar {
        try evaluation.spend()
        let path = try path.value(&evaluation)
        if let found = try evaluation.find(path: path, in: scope) { return evaluation.scalar(found) }
        return try fallback?.scalar(&evaluation) ?? .null
    }
}

/// `val`: a path whose segments are computed one by one, each a whole key or an index.
final class SegmentsReadNode: ReadNode, @unchecked Sendable {
    /// Where the path starts; nil: at all data.
    let start: ReadNode?
    let segments: [ExpressionNode]
    let scope: DataScope

    init(_ start: ReadNode?, _ segments: [ExpressionNode], in scope: DataScope) {
        self.start = start
        self.segments = segments
        self.scope = scope
        super.init([], fallback: nil)
    }

    override func find(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON? {
        var keys: [ReadKey] = []
        keys.reserveCapacity(segments.count)
        for segment in segments {
            switch try segment.value(&evaluation) {
            case .string(let name):
                try evaluation.read(name.utf8.count)
                keys.append(ReadKey(name))
            case let value:
                guard let index = value.wholeNumber else { return nil }
                keys.append(ReadKey(String(index)))
            }
        }
        guard let start else { return try evaluation.find(keys, in: scope) }
        return try start.find(&evaluation)?.find(keys)
    }
}

/// The data of a scope around the one that is evaluated: `val` that climbs.
final class FrameReadNode: ReadNode, @unchecked Sendable {
    /// How many scopes are around the one that is read.
    let level: Int
    let isReduction: Bool

    init(_ keys: [ReadKey], level: Int, isReduction: Bool) {
        self.level = level
        self.isReduction = isReduction
        super.init(keys, fallback: nil)
    }

    override func find(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON? {
        let frame = evaluation.frames[level]
        guard isReduction else { return frame.element.find(keys) }
        return try Evaluation.find(keys, current: frame.element, accumulator: frame.accumulator)
    }
}

/// `{index}` of an iteration: which element it stands at, counted from 0.
final class IndexReadNode: ReadNode, @unchecked Sendable {
    /// How many scopes are around the iteration's body; nil for the one that is evaluated.
    let level: Int?

    init(_ keys: [ReadKey], level: Int?) {
        self.level = level
        super.init(keys, fallback: nil)
    }

    override func find(_ evaluation: inout Evaluation) -> JSON? {
        let index = level.map { evaluation.frames[$0].index } ?? evaluation.index
        return JSON.object(["index": .int(index)]).find(keys)
    }
}

/// `exists`: whether anything stands at a place, null included.
final class ExistenceNode: PredicateNode, @unchecked Sendable {
    let place: ReadNode

    init(_ place: ReadNode) { self.place = place }

    override func truth(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Bool {
        try evaluation.spend()
        return try place.find(&evaluation) != nil
    }
}
