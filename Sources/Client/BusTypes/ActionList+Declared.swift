import BusJSON
import BusProtocol

/// Actions with payloads in the words of a type file.
extension ActionList {
    /// A list of the actions that a type file declares, for code that is printed from one.
    ///
    /// ```swift
    /// static let actions = ActionList<Thermostat>(declared: [
    ///     "boost": [:],
    ///     "setTarget": ["celsius": "number", "room": "string?", "by": ["type": "integer", "default": 1]],
    /// ])
    /// ```
    ///
    /// A member is the name of its type, with `?` where it may be absent, or an object with `type` and `default`. The
    /// coding of the action enum has to agree with it.
    public init(declared actions: JSONObject) {
        self.init()
        for action in actions {
            add { () throws(ActionForm.Mistake) in
                try .init(action.key, declared: action.value.object ?? [:])
            }
        }
    }
}

extension ActionForm {
    fileprivate init(_ name: String, declared payload: JSONObject) throws(Mistake) {
        var members: [PayloadSchema.Member] = []
        for member in payload {
            let word = member.value.string ?? member.value["type"]?.string ?? ""
            let isOptional = word.hasSuffix("?")
            guard let type = PayloadType(rawValue: isOptional ? String(word.dropLast()) : word) else {
                let hint = suggestion(for: word, among: PayloadType.words)
                throw Mistake(reason: "\(name).\(member.key) is of no payload type: \(hint)")
            }
            let fallback = member.value["default"]
            members.append(
                .init(
                    name: member.key, type: type, isOptional: isOptional || fallback != nil,
                    fallback: fallback))
        }
        try self.init(name: name, payload: PayloadSchema(members))
    }
}
