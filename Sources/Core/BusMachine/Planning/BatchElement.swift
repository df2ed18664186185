import BusJSON
import BusProtocol

/// One action of a batch or a will, its members checked.
package struct BatchElement {
    package let isStore: Bool
    package let target: String
    package let action: String
    package let payload: JSONObject

    package init(_ element: JSON, place: String) throws(RequestError) {
        guard case .object(let object) = element else {
            throw .invalid(place, "\(place) must be an object with type or store, action and payload.")
        }
        var (type, store, action, payload): (String?, String?, String?, JSONObject) = (
            nil, nil, nil, JSONObject()
        )
        for member in object.members {
            // Made only for a mistake.
            var name: String { "\(place).\(member.key.shortened(to: 80))" }
            switch (member.key, member.value) {
            case ("type", .string(let text)): type = text
            case ("store", .string(let text)): store = text
            case ("action", .string(let text)): action = text
            case ("payload", .object(let members)): payload = members
            case ("type", _), ("store", _), ("action", _): throw .invalid(name, "`\(name)` must be a string.")
            case ("payload", _): throw .invalid(name, "`\(name)` must be an object.")
            default: throw .invalid(name, "`\(name)` is not a member of an action; leave it out.")
            }
        }
        guard let action else { throw .invalid("\(place).action", "\(place) names no `action`.") }
        guard (type == nil) != (store == nil) else {
            throw .target(isGivenTwice: store != nil, of: place)
        }
        isStore = store != nil
        target = store ?? type ?? ""
        self.action = action
        self.payload = payload
    }
}

extension BatchElement {
    /// Lends the bytes of the target and of the action's name.
    func withNames(
        _ body: (_ target: UnsafeRawBufferPointer, _ action: UnsafeRawBufferPointer) throws(RequestError) ->
            Void
    ) throws(RequestError) {
        try target.utf8Span.span.withUnsafeBytes { (target) throws(RequestError) in
            try action.utf8Span.span.withUnsafeBytes { (action) throws(RequestError) in
                try body(target, action)
            }
        }
    }

    init(_ action: WillAction) {
        isStore = action.store != nil
        target = action.store ?? action.type ?? ""
        self.action = action.action
        payload = action.payload
    }
}
