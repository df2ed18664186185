import BusJSON
import BusProtocol

/// One action of a batch or a will, its members checked.
package struct BatchElement {
    package let isStore: Bool
    package let target: String
    package let action: String
    package let payload: JSONObject
    /// What its client wants its store to be like.
    package let precondition: Precondition

    /// - Parameters:
    ///   - inDispatch: It belongs to a dispatch, so it may say what its store must be like.
    ///   - mayChoose: It may say which stores of a type are meant: as one of a dispatch may, and one of the log.
    package init(
        _ element: JSON, place: String, inDispatch: Bool = false, mayChoose: Bool? = nil
    ) throws(RequestError) {
        guard case .object(let object) = element else {
            throw .invalid(place, "\(place) must be an object with type or store, action and payload.")
        }
        var (type, store, action, payload): (String?, String?, String?, JSONObject) = (
            nil, nil, nil, JSONObject()
        )
        var (revision, condition, filter): (Int?, JSON?, JSON?) = (nil, nil, nil)
        for member in object.members {
            // Only a mistake needs this text.
            var name: String { "\(place).\(member.key.shortened(to: 80))" }
            switch (member.key, member.value) {
            case ("type", .string(let text)): type = text
            case ("store", .string(let text)): store = text
            case ("action", .string(let text)): action = text
            case ("payload", .object(let members)): payload = members
            case ("type", _), ("store", _), ("action", _): throw .invalid(name, "`\(name)` must be a string.")
            case ("payload", _): throw .invalid(name, "`\(name)` must be an object.")
            case ("ifRevision", .int(let number)) where inDispatch && number >= 0: revision = number
            case ("ifRevision", _) where inDispatch:
                throw .invalid(name, "`\(name)` must be a whole number of at least 0.")
            case ("op", "dispatch") where inDispatch: break
            case ("if", let value) where inDispatch:
                try StateMachine.requireForm(of: value)
                condition = value
            case ("where", let value) where mayChoose ?? inDispatch:
                try StateMachine.requireForm(of: value, as: .where)
                filter = value
            case ("if", _), ("ifRevision", _), ("where", _):
                throw .invalid(name, "`\(name)` is for the actions of a dispatch only; leave it out.")
            default: throw .invalid(name, "`\(name)` is not a member of an action; leave it out.")
            }
        }
        guard let action else { throw .invalid("\(place).action", "\(place) names no `action`.") }
        guard (type == nil) != (store == nil) else {
            throw .target(isGivenTwice: store != nil, of: place)
        }
        if store == nil, revision != nil { throw Precondition.withoutStore(.ifRevision, in: "\(place).") }
        if store == nil, condition != nil { throw Precondition.withoutStore(.if, in: "\(place).") }
        if store != nil, filter != nil { throw Precondition.filterOfStore(in: "\(place).") }
        isStore = store != nil
        target = store ?? type ?? ""
        self.action = action
        self.payload = payload
        precondition = Precondition(revision: revision, condition: condition, filter: filter)
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
        precondition = Precondition()
    }
}
