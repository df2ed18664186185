import BusJSON
import BusProtocol

/// How one action of a Swift state looks on the wire: its name and what its payload may hold, found out from
/// samples of it.
package struct ActionForm: Sendable {
    package let name: String
    package let payload: PayloadSchema
    /// Whether it is coded as its name alone, as the cases of an enum with raw values are.
    let isBare: Bool
    /// All actions that the enum codes, by their names on the wire; nil where that can't be seen.
    private(set) var siblings: [String]?

    /// What is wrong with a sample, as the rest of a sentence.
    struct Mistake: Error {
        let reason: String
    }

    /// An action whose payload is known. It is coded as the synthesised coding of an enum is.
    init(name: String, payload: PayloadSchema) throws(Mistake) {
        try Self.check(name)
        self.name = name
        self.payload = payload
        isBare = false
    }

    /// Looks at a sample. With a second one, the members in which the two differ have to be given.
    init<Action: Codable>(_ sample: Action, _ type: Action.Type, or other: Action? = nil) throws(Mistake) {
        let coded = try Self.coded(sample)
        let second = try other.map { other throws(Mistake) in try Self.coded(other) }
        name = coded.name
        isBare = coded.isBare
        try Self.check(name)
        if let second, !UTF8Order.equal(second.name, name) {
            throw Mistake(
                reason: "one closure makes both \(name) and \(second.name); make the same action every time.")
        }
        if let second, second.payload == coded.payload {
            throw Mistake(
                reason: "\(name) is the same whatever it is given; pass the arguments on, or list a sample.")
        }
        let trace = DecodingTrace(depth: 1)
        let members = try Self.members(of: coded, type, or: second?.payload, trace)
        if let bare = members.first(where: { $0.name.isUnlabelled }) {
            throw Mistake(
                reason:
                    "\(name) takes a value without a label, which clients would have to call \(bare.name); "
                    + "give it one, as in \(name)(value: …).")
        }
        payload = PayloadSchema(members)
        siblings = coded.isBare ? DecodingTrace.names(ofBare: type) : trace.names
    }

    private static func check(_ name: String) throws(Mistake) {
        guard Names.isTypeName(name) else {
            throw Mistake(
                reason:
                    "an action can't be called \(name) on the wire; start with a small letter and go on with "
                    + "at most 63 letters, digits, _ or -.")
        }
    }

    /// An encoded action.
    struct Coded {
        let name: String
        let payload: JSONObject
        let isBare: Bool

        /// Takes `{"name":{…}}` or `"name"`; nil for everything else.
        init?(_ json: JSON) {
            switch json {
            case .object(let object) where object.count == 1:
                guard case .object(let payload) = object.members[0].value else { return nil }
                self.init(name: object.members[0].key, payload: payload, isBare: false)
            case .string(let name): self.init(name: name, payload: [:], isBare: true)
            default: return nil
            }
        }

        init(name: String, payload: JSONObject, isBare: Bool) {
            self.name = name
            self.payload = payload
            self.isBare = isBare
        }

        var json: JSON { isBare ? .string(name) : .object([name: .object(payload)]) }
    }

    static func coded(_ sample: some Encodable) throws(Mistake) -> Coded {
        let json: JSON
        do {
            json = try JSON(encoding: sample)
        } catch {
            throw Mistake(reason: "\(sample) can't be encoded: \(error)")
        }
        guard let coded = Coded(json) else {
            throw Mistake(
                reason: "\(sample) is encoded as \(json.encoded), which is not {\"name\":{…}}; "
                    + "let the compiler write the coding of the enum.")
        }
        return coded
    }

    /// The members of a payload: what the type reads of it when the sample is decoded again.
    private static func members<Action: Codable>(
        of sample: Coded, _ type: Action.Type, or other: JSONObject?, _ trace: DecodingTrace
    ) throws(Mistake) -> [PayloadSchema.Member] {
        do {
            _ = try sample.json.decoded(as: type, trace: trace)
        } catch {
            throw Mistake(reason: "\(sample.name) does not decode what it encodes: \(error)")
        }
        return trace.reads.map { read in
            let type = read.kind.flatMap { PayloadType(rawValue: $0.rawValue) } ?? .any
            let value = sample.payload[read.name]
            if let other, value != other[read.name] {
                return .init(name: read.name, type: type, isOptional: false, fallback: nil)
            }
            // A null stands for absence, where it is not a value of the type.
            let fallback = value.flatMap { type.admits($0) && !(read.mayBeAbsent && $0.isNull) ? $0 : nil }
            return .init(
                name: read.name, type: type, isOptional: read.mayBeAbsent || fallback != nil,
                fallback: fallback)
        }
    }
}

extension String {
    /// Whether it is what the compiler calls an associated value without a label: `_0`, `_1`, ….
    fileprivate var isUnlabelled: Bool {
        hasPrefix("_") && count > 1 && dropFirst().allSatisfy { $0.isASCII && $0.isNumber }
    }
}
