import BusJSON
import FluxBus
import TypeCode

/// The kinds of the members that a command line gives as `key=text`: `brightness=40` is the number where the action takes one,
/// and the text where it takes that.
///
/// Only the bus knows the action. It is asked when a text could be anything else, and whoever gives `key:=json` needs no
/// question.
struct PayloadKinds {
    /// What one text is, as far as can be known.
    enum Meaning: Equatable {
        case text
        case value
        /// The action takes any kind of value here, or it is not known what it takes.
        case unknown
    }

    /// The payload's schemas of the action, by member, in each type that has it.
    private let payloads: [[Member]]

    /// Of the definitions that `types` gives. Those without the action do not count.
    init(of action: String, in definitions: [JSON]) {
        payloads = definitions.compactMap { definition in
            TypeDescription(definition: definition)?.actions.first { UTF8Order.equal($0.name, action) }?
                .payload
        }
    }

    /// Asks the bus about the target's action. A bus that does not answer that leaves everything unknown: the dispatch itself
    /// says what is wrong.
    static func asked(
        of action: String, target: String, in session: CommandSession, on connection: BusConnection
    ) throws -> PayloadKinds {
        let type = target.prefix { $0 != "/" }
        let question = BusRequest("types", ["type": type == "*" ? nil : .string(String(type))])
        do {
            let reply = try session.ask(question, on: connection)
            return PayloadKinds(of: action, in: reply["types"]?.array ?? [])
        } catch is BusError {
            return PayloadKinds(of: action, in: [])
        }
    }

    /// What `key=text` means, where the text is also `value`.
    func meaning(of key: String, _ text: String, or value: JSON) -> Meaning {
        let meanings = payloads.map { payload in
            guard let schema = payload.first(where: { UTF8Order.equal($0.name, key) })?.schema else {
                // Not a member at all, which the bus says better than anybody here.
                return Meaning.text
            }
            switch schema.shape {
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
}
