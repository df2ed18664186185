import BusJSON
import BusProtocol
import Flux

/// States on their way to the wire and from there.
extension SharedState {
    /// The state that JSON from the wire describes; published values in it are passed over.
    ///
    /// - Throws: ``JSONCodingError`` naming the member, or what the type's own coding throws.
    package static func state(from json: JSON, trace: DecodingTrace? = nil) throws -> Self {
        guard case .object(var members) = json, !published.isEmpty else {
            return try json.decoded(as: Self.self, trace: trace)
        }
        for name in published.names { members[name] = nil }
        return try JSON.object(members).decoded(as: Self.self, trace: trace)
    }

    /// The state as members of an object, without published values.
    ///
    /// - Throws: ``JSONCodingError`` when the state can't be encoded, or is no object.
    package func encodedMembers() throws -> JSONObject {
        let json = try JSON(encoding: self)
        guard case .object(let object) = json else {
            throw JSONCodingError(
                path: [],
                reason: "A state must be coded as an object, and \(Self.self) is \(json.phrase); "
                    + "let the compiler write its coding.")
        }
        return object
    }

    /// What can't work about this type on a bus, each as a sentence; empty when all is right. A daemon looks here
    /// before it serves the type.
    package static func mistakes() -> [String] {
        var mistakes: [String] = []
        if !Names.isTypeName(typeName) {
            mistakes.append(
                "The state \(Self.self) can't be called \(typeName) on the wire; give it a typeName that starts with "
                    + "a small letter and goes on with at most 63 letters, digits, _ or -.")
        }
        // A sample that is wrong is no omission as well.
        mistakes += actions.mistakes.isEmpty ? actions.omissions : actions.mistakes
        mistakes += published.mistakes
        if let timeToLive, !(TimerLimits.shortest...TimerLimits.longest ~= timeToLive) {
            mistakes.append(
                "\(Self.self).timeToLive is \(timeToLive); let it be from 10 milliseconds to ten years.")
        }
        do {
            let initial = try Self().encodedMembers()
            for name in published.names where initial[name] != nil {
                mistakes.append(
                    "\(Self.self).published and the state itself both have \(name); rename one of them.")
            }
            _ = try JSON.object(initial).decoded(as: Self.self)
        } catch {
            mistakes.append("The initial state of \(Self.self) can't be coded: \(error)")
        }
        return mistakes
    }
}
