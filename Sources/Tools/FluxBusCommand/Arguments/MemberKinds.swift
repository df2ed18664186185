import BusJSON
import FluxBus
import TypeCode

/// The kinds of the members that a command line gives as `key=text`: `brightness=40` is the number where the action takes one,
/// or the type's state has one, and the text where they have that.
///
/// Only the bus knows its types. It is asked when a text could be anything else, and whoever gives `key:=json` needs no
/// question.
struct MemberKinds {
    /// What one text is, as far as can be known.
    enum Meaning: Equatable {
        case text
        case value
        /// Any kind of value may stand here, or it is not known which.
        case unknown
    }

    /// What members there are: of the action's payload in each type that has it, or of the state.
    private let owners: [[Member]]

    /// Of an action's payload, in the definitions that `types` gives. Those without the action do not count.
    init(ofAction action: String, in definitions: [JSON]) {
        owners = definitions.compactMap { definition in
            TypeDescription(definition: definition)?.actions.first { UTF8Order.equal($0.name, action) }?
                .payload
        }
    }

    /// Of a state.
    init(ofStateIn definitions: [JSON]) {
        owners = definitions.compactMap { TypeDescription(definition: $0)?.members }
    }

    /// Asks the bus about the target's action.
    static func asked(
        ofAction action: String, target: String, in session: CommandSession, on connection: BusConnection
    ) throws -> MemberKinds {
        try MemberKinds(ofAction: action, in: definitions(of: target, in: session, on: connection))
    }

    /// Asks the bus about the state of a store that is to be created.
    static func asked(
        ofState store: String, in session: CommandSession, on connection: BusConnection
    ) throws -> MemberKinds {
        try MemberKinds(ofStateIn: definitions(of: store, in: session, on: connection))
    }

    /// A bus that does not answer that leaves everything unknown: the request itself says what is wrong.
    private static func definitions(
        of target: String, in session: CommandSession, on connection: BusConnection
    ) throws -> [JSON] {
        let type = target.prefix { $0 != "/" }
        let question = BusRequest("types", ["type": type == "*" ? nil : .string(String(type))])
        do {
            return try session.ask(question, on: connection)["types"]?.array ?? []
        } catch is BusError {
            return []
        }
    }

    /// Gives the members that `arguments` name as text the kind that they have here. What can't be known stays text.
    ///
    /// - Returns: a sentence for each that can't be known; `verb` says what was done with it.
    func settle(_ members: inout JSONObject, of arguments: [String], verb: String) -> [String] {
        var notes: [String] = []
        for (key, text, value) in MemberArguments.ambiguous(arguments) {
            switch meaning(of: key, text, or: value) {
            case .text: break
            case .value: members[key] = value
            case .unknown:
                notes.append(
                    "\(key)=\(text) was \(verb) as text, because the type does not say what \(key) is: write \(key):=\(text) if text is not meant."
                )
            }
        }
        return notes
    }

    /// What `key=text` means, where the text is also `value`.
    private func meaning(of key: String, _ text: String, or value: JSON) -> Meaning {
        let meanings = owners.map { members in
            guard let member = members.first(where: { UTF8Order.equal($0.name, key) }) else {
                // Not a member at all, which the bus says better than anybody here.
                return Meaning.text
            }
            guard member.isDeclared else { return Self.meaning(of: value, beside: member.fallback) }
            switch member.schema.shape {
            case .any: return .unknown
            case .string: return .text
            case .choice(let choices):
                return choices.contains(.string(text)) || !choices.contains(value) ? .text : .value
            default: return .value
            }
        }
        guard let first = meanings.first, meanings.allSatisfy({ $0 == first }) else { return .unknown }
        return first
    }

    /// Of a member that the type knows only by its value in a new store: another value of that kind is most likely meant.
    private static func meaning(of value: JSON, beside initial: JSON?) -> Meaning {
        switch (initial, value) {
        case (.string, _): .text
        case (.int, .int), (.int, .double), (.double, .int), (.double, .double), (.bool, .bool),
            (.array, .array), (.object, .object):
            .value
        default: .unknown
        }
    }
}
