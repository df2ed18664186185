import BusJSON
import BusProtocol

/// Reads that need a value where they look, and the names that an expression gives to values.

/// An operation that always fails.
final class FailureNode: ExpressionNode, @unchecked Sendable {
    let reason: String

    init(_ reason: String) { self.reason = reason }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        throw .failed(reason)
    }
}

extension Evaluation {
    /// What stands in a list at an index, or in a map at a key; nil where nothing does.
    mutating func element(of container: JSON, at key: JSON) throws(EvaluationFailure) -> JSON? {
        switch (container, key) {
        case (.object(let object), .string(let name)):
            try read(name.utf8.count)
            return object[name]
        case (.array(let elements), .int(let index)):
            return elements.indices.contains(index) ? elements[index] : nil
        case (.array(let elements), .double(let number)):
            guard let index = Int(exactly: number) else { fallthrough }
            return elements.indices.contains(index) ? elements[index] : nil
        case (.array, _): throw .failed("a list's index is an integer, not \(key.kind)")
        case (.object, _): throw .failed("a map's key is a text, not \(key.kind)")
        default: throw .failed("[…] needs a list or a map and was given \(container.kind)")
        }
    }

    /// The member of a map; nil where it has none of this name.
    static func member(_ name: String, of owner: JSON) throws(EvaluationFailure) -> JSON? {
        guard case .object(let object) = owner else {
            throw .failed(".\(name) needs a map and was given \(owner.kind)")
        }
        return object[name]
    }
}

/// `a[b]`.
final class IndexNode: ExpressionNode, @unchecked Sendable {
    let container: ExpressionNode
    let key: ExpressionNode

    init(_ container: ExpressionNode, _ key: ExpressionNode) {
        self.container = container
        self.key = key
    }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        let container = try container.value(&evaluation)
        let key = try key.value(&evaluation)
        if let found = try evaluation.element(of: container, at: key) { return found }
        if case .array(let elements) = container {
            throw .failed("the index \(key) is outside of a list of \(elements.count)")
        }
        throw .failed("there is no \(key.encoded.shortened(to: 100)) in a map")
    }
}

/// `a.b` of a value that is computed.
final class MemberNode: ExpressionNode, @unchecked Sendable {
    let owner: ExpressionNode
    let name: String

    init(_ owner: ExpressionNode, _ name: String) {
        self.owner = owner
        self.name = name
    }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        if let found = try Evaluation.member(name, of: owner.value(&evaluation)) { return found }
        throw .failed("there is no member \(name)")
    }
}

/// `has(a.b)`.
final class HasNode: PredicateNode, @unchecked Sendable {
    let owner: ExpressionNode
    let name: String

    init(_ owner: ExpressionNode, _ name: String) {
        self.owner = owner
        self.name = name
    }

    override func truth(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Bool {
        try evaluation.spend()
        return try Evaluation.member(name, of: owner.value(&evaluation)) != nil
    }
}

/// `stores[a]`: the state of a store whose address is computed.
final class StoreStateNode: ExpressionNode, @unchecked Sendable {
    let address: ExpressionNode
    let waitFor: [String]

    init(_ address: ExpressionNode, waitFor: [String]) {
        self.address = address
        self.waitFor = waitFor
    }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        if let found = try find(&evaluation) { return found }
        throw .failed("there is no such store")
    }

    /// Nil where there is no such store.
    func find(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON? {
        try evaluation.spend()
        guard case .string(let address) = try address.value(&evaluation) else {
            throw .failed("stores[…] needs the address of a store")
        }
        try evaluation.read(address.utf8.count)
        return evaluation.stateOfStore(at: address, waitFor)
    }
}

/// A value that the expression gave a name, or a place in it.
final class LocalReadNode: ReadNode, @unchecked Sendable {
    /// How many named values are around it.
    let slot: Int

    init(_ slot: Int, _ keys: [ReadKey], fallback: ExpressionNode?) {
        self.slot = slot
        super.init(keys, fallback: fallback)
    }

    override func find(_ evaluation: inout Evaluation) -> JSON? { evaluation.locals[slot].find(keys) }
}

/// `cel.bind`: gives a value a name while another is worked out.
final class BindingNode: ScalarNode, @unchecked Sendable {
    let bound: ExpressionNode
    let body: ExpressionNode

    init(_ bound: ExpressionNode, in body: ExpressionNode) {
        self.bound = bound
        self.body = body
    }

    override func scalar(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> Scalar {
        try evaluation.spend()
        let value = try bound.value(&evaluation)
        evaluation.locals.append(value)
        defer { evaluation.locals.removeLast() }
        return try body.scalar(&evaluation)
    }
}

/// A list some of whose elements may be left out.
final class ListNode: ExpressionNode, @unchecked Sendable {
    enum Element: @unchecked Sendable {
        case value(ExpressionNode)
        case optional(OptionalNode)
    }

    let elements: [Element]

    init(_ elements: [Element]) { self.elements = elements }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        var values: [JSON] = []
        for element in elements {
            let value: JSON?
            switch element {
            case .value(let node): value = try node.value(&evaluation)
            case .optional(let node): value = try node.find(&evaluation)
            }
            guard let value else { continue }
            try evaluation.produce(element: value)
            values.append(value)
        }
        return .array(values)
    }
}

/// A map whose keys are computed, or some of whose members may be left out.
final class KeyedNode: ExpressionNode, @unchecked Sendable {
    let entries: [(key: ExpressionNode, value: ListNode.Element)]

    init(_ entries: [(key: ExpressionNode, value: ListNode.Element)]) { self.entries = entries }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        var members: [JSONObject.Member] = []
        for entry in entries {
            let key = try evaluation.mapKey(entry.key.value(&evaluation))
            let value: JSON?
            switch entry.value {
            case .value(let node): value = try node.value(&evaluation)
            case .optional(let node): value = try node.find(&evaluation)
            }
            guard let value else { continue }
            try evaluation.produce(key.utf8.count)
            try evaluation.produce(element: value)
            members.append(.init(key: key, value: value))
        }
        return .object(try evaluation.map(of: members))
    }
}

extension Evaluation {
    mutating func mapKey(_ value: JSON) throws(EvaluationFailure) -> String {
        guard case .string(let key) = value else {
            throw .failed("a map's key is a text, not \(value.kind)")
        }
        try read(key.utf8.count)
        return key
    }

    /// A map with these members; two with one key fail.
    mutating func map(of members: [JSONObject.Member]) throws(EvaluationFailure) -> JSONObject {
        try spend(members.count)
        guard let object = JSONObject(distinct: members) else {
            throw .failed("a map has the same key twice")
        }
        return object
    }
}
