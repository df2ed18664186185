import BusJSON
import BusProtocol

/// One element of a dispatch's `actions`: an action, or a store that is created or dropped, as `op` says.
package enum BatchStep {
    case action(BatchElement)
    case create(StoreCreation)
    case drop(store: String, Precondition)
    /// All stores of a type for which an expression holds.
    case dropChosen(type: String, where: JSON)

    package init(_ element: JSON, place: String) throws(RequestError) {
        switch element["op"] {
        case nil, .string("dispatch"):
            self = .action(try BatchElement(element, place: place, inDispatch: true))
        case .string("create"): self = .create(try StoreCreation(element, place: place))
        case .string("drop"):
            self = try Self.drop(try ElementMembers(element, place: place, of: .command(.drop)))
        default:
            throw .invalid("\(place).op", "`\(place).op` must be dispatch, create or drop.")
        }
    }

    private static func drop(_ members: ElementMembers) throws(RequestError) -> BatchStep {
        let type = try members.value(.type, "a string") { $0.string }
        let filter = members.object["where"]
        guard type != nil || filter != nil else {
            return .drop(store: try members.store(), try members.precondition())
        }
        if let filter { try StateMachine.requireForm(of: filter, as: .where) }
        let store = try members.value(.store, "a string") { $0.string }
        return try choosing(
            type: type, store: store, try members.precondition(filter: filter), in: members.place)
    }

    /// A drop of the stores for which an expression holds. Throws unless it names their type and the expression, and nothing
    /// that is about one store; `element`: which of a batch it is.
    package static func choosing(
        type: String?, store: String?, _ wanted: Precondition, in element: String? = nil
    ) throws(RequestError) -> BatchStep {
        let prefix = element.map { $0 + "." } ?? ""
        guard store == nil else {
            throw type == nil
                ? Precondition.filterOfStore(in: prefix) : .target(isGivenTwice: true, of: element)
        }
        guard let type else {
            throw .invalid(prefix + "type", "Say in `\(prefix)type` which type of stores `where` is about.")
        }
        guard let filter = wanted.filter else {
            throw .invalid(
                prefix + "where",
                "Say in `\(prefix)where` which stores of \(type.shortened(to: 80)) to drop; \"true\" is all of them."
            )
        }
        if wanted.revision != nil { throw Precondition.withoutStore(.ifRevision, in: prefix) }
        if wanted.condition != nil { throw Precondition.withoutStore(.if, in: prefix) }
        return .dropChosen(type: type, where: filter)
    }

    /// Whether some of these create or drop stores.
    package static func areAboutStores(_ elements: [JSON]) -> Bool {
        elements.contains { $0["op"].map { $0 != "dispatch" } ?? false }
    }
}

/// A store that a batch creates.
package struct StoreCreation {
    package let store: String
    package let state: JSONObject?
    package let version: Int?
    package let isEphemeral: Bool
    package let ifMissing: Bool
    /// How long it lives without a dispatch; nil: as its type says.
    package let timeToLive: JSON?

    fileprivate init(_ element: JSON, place: String) throws(RequestError) {
        let members = try ElementMembers(element, place: place, of: .command(.create))
        store = try members.store()
        state = try members.value(.state, "an object") { $0.object }
        version = try members.value(.version, "a whole number of at least 1") {
            $0.int.flatMap { $0 >= 1 ? $0 : nil }
        }
        isEphemeral = try members.value(.ephemeral, "true or false") { $0.bool } ?? false
        ifMissing = try members.value(.ifMissing, "true or false") { $0.bool } ?? false
        timeToLive = members.object["ttl"]
        guard version == nil || state != nil else {
            throw .invalid(
                "\(place).version", "`version` says which version `state` is of; give both, or neither.")
        }
    }
}

/// The members of an element that is written as a request, of which it has no `id` and no `key`.
private struct ElementMembers {
    let object: JSONObject
    let place: String

    init(_ element: JSON, place: String, of operation: Operation) throws(RequestError) {
        guard case .object(let object) = element else {
            throw .invalid(place, "\(place) must be an object.")
        }
        for member in object.members {
            let known = Member.allCases.first { UTF8Order.equal($0.name, member.key) }
            if let known, ![.id, .key, .after, .epoch].contains(known), operation.members.contains(known) {
                continue
            }
            let name = "\(place).\(member.key.shortened(to: 80))"
            throw .invalid(
                name, "`\(name)` is not a member of a \(operation.rawValue) in a batch; leave it out.")
        }
        (self.object, self.place) = (object, place)
    }

    func value<Value>(
        _ member: Member, _ kind: String, _ read: (JSON) -> Value?
    ) throws(RequestError) -> Value? {
        guard let value = object[member.name] else { return nil }
        if let read = read(value) { return read }
        throw .invalid("\(place).\(member.name)", "`\(place).\(member.name)` must be \(kind).")
    }

    func store() throws(RequestError) -> String {
        if let store = try value(.store, "a string", { $0.string }) { return store }
        throw .invalid("\(place).store", "\(place) names no `store`.")
    }

    func precondition(filter: JSON? = nil) throws(RequestError) -> Precondition {
        let revision = try value(.ifRevision, "a whole number of at least 0") {
            $0.int.flatMap { $0 >= 0 ? $0 : nil }
        }
        let condition = object["if"]
        if let condition { try StateMachine.requireForm(of: condition) }
        return Precondition(revision: revision, condition: condition, filter: filter)
    }
}
