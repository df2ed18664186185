import BusJSON
import BusLogic
import BusProtocol
import BusSource

/// An action on the bus, with places that are filled later: `dispatch` of effects and of hooks.
package struct DispatchTemplate: Sendable {
    private enum Target: Sendable {
        case type(String)
        case store(EffectValue)
    }

    private let target: Target
    private let action: String
    private let payload: EffectValue
    package static let keys = ["store", "type", "action", "payload"]

    /// - Parameters:
    ///   - names: What expressions know.
    ///   - others: Keys that its owner reads.
    package init(
        _ object: LocatedObject, names: [String], besides others: [String] = []
    ) throws(SourceError) {
        try object.refuseMembers(besides: Self.keys + others, of: "dispatch")
        action = try Self.action(object.required("action", of: "dispatch"))
        switch (object["store"], object["type"]) {
        case (let store?, nil):
            let text = try store.string("store")
            let value = try EffectValue.compile(store, names: names)
            if case .constant = value {
                let halves = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
                guard halves.count == 2, Names.isTypeName(halves[0]), Names.isStoreName(halves[1]) else {
                    throw store.failure(
                        "`\(text)` is not a store's address; write TYPE/NAME, or an expression after =.")
                }
            }
            target = .store(value)
        case (nil, let type?):
            let name = try type.string("type")
            guard Names.isTypeName(name) else {
                throw type.failure("`\(name)` is not a type's name; write one, such as log.")
            }
            target = .type(name)
        default:
            throw SourceError("dispatch goes to a store or to a type; write one of them.", at: object.place)
        }
        if let source = object["payload"] {
            _ = try source.object("payload")
            payload = try EffectValue.compile(source, names: names)
        } else {
            payload = .object([])
        }
    }

    static func action(_ source: LocatedValue) throws(SourceError) -> String {
        let name = try source.string("action")
        guard Names.isTypeName(name) else {
            throw source.failure("`\(name)` is not an action's name; write one, such as rang.")
        }
        return name
    }

    /// The type and its action, where no event chooses them.
    package var constant: (type: String, action: String)? {
        switch target {
        case .type(let type): (type, action)
        case .store(.constant(let store)): (String((store.string ?? "").prefix { $0 != "/" }), action)
        case .store: nil
        }
    }

    var readsState: Bool {
        if case .store(let store) = target, store.readsState { return true }
        return payload.readsState
    }

    /// The members of the wire's `dispatch`. A refusal is a clause.
    package func members(on data: JSON) throws(EffectRefusal) -> JSONObject {
        var members: JSONObject = ["action": .string(action)]
        switch target {
        case .type(let type): members["type"] = .string(type)
        case .store(let store):
            members["store"] = .string(try store.text(on: data, "store of dispatch"))
        }
        members["payload"] = try EffectRefusal.evaluating("payload of dispatch") {
            () throws(EvaluationFailure) in try payload.value(on: data)
        }
        return members
    }
}
