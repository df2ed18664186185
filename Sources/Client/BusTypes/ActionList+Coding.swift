import BusJSON
import BusProtocol
import Flux

/// Converting actions to their form on the wire and back.
extension ActionList {
    /// The index of an action in the list; nil if it is not listed.
    package func index(of name: String) -> Int? { usable.firstIndex { UTF8Order.equal($0.name, name) } }

    /// Checks a payload as strictly as that of a declared type, and fills in defaults.
    package func accept(_ payload: JSONObject, for index: Int) throws(PayloadFailure) -> JSONObject {
        let form = usable[index]
        return try form.payload.accept(payload, by: form.name)
    }

    /// The action with an accepted payload. If the action's own decoding fails, the error names the member that caused it.
    package func action(_ index: Int, with payload: JSONObject) throws(PayloadFailure) -> State.Action {
        let form = usable[index]
        do {
            return try ActionForm.Coded(name: form.name, payload: payload, isBare: form.isBare).json.decoded()
        } catch let error as JSONCodingError where error.path.count > 1 {
            let member = (["payload"] + error.path.dropFirst()).joined(separator: ".")
            throw PayloadFailure("\(form.name) can't take this \(member): \(error.reason)")
        } catch {
            throw PayloadFailure("\(form.name) can't take this payload: \(Self.sentence(error))")
        }
    }

    /// The action that a name and a payload stand for, with defaults filled in.
    ///
    /// - Throws: A ``JSONCodingError`` that says what is wrong, if the action is not listed or does not take the payload.
    package func action(named name: String, payload: JSONObject) throws(JSONCodingError) -> State.Action {
        guard let index = index(of: name) else {
            throw JSONCodingError(
                path: [],
                reason: "\(State.self).actions lists no \(name); \(suggestion(for: name, among: names))")
        }
        do throws(PayloadFailure) {
            return try action(index, with: accept(payload, for: index))
        } catch {
            throw JSONCodingError(path: [], reason: error.message)
        }
    }

    /// An action's name and its whole payload.
    ///
    /// - Throws: A ``JSONCodingError`` if the action can't be encoded or is not listed.
    package func encoded(
        _ action: State.Action
    ) throws(JSONCodingError) -> (name: String, payload: JSONObject) {
        let json: JSON
        do {
            json = try JSON(encoding: action)
        } catch {
            throw error as? JSONCodingError ?? JSONCodingError(path: [], reason: Self.sentence(error))
        }
        guard let coded = ActionForm.Coded(json), let index = index(of: coded.name) else {
            throw JSONCodingError(
                path: [], reason: "\(State.self).actions does not list \(action); add a sample of it there.")
        }
        var payload = coded.payload
        // Some codings write an absent value as null; on the wire, only members of type `any` may be null.
        for member in usable[index].payload.members where member.isOptional && member.type != .any {
            if payload[member.name]?.isNull == true { payload[member.name] = nil }
        }
        return (coded.name, payload)
    }

    private static func sentence(_ error: any Error) -> String {
        let text = "\(error)"
        return text.last.map { ".!?".contains($0) } == true ? text : text + "."
    }
}
