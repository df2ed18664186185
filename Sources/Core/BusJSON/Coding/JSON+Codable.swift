/// JSON inside other values: a member of a state or an action may be `JSON` itself, for data of any form.
///
/// The coder of this module hands such a value through as it is. Other coders see its parts.
extension JSON: Codable {
    public init(from decoder: any Decoder) throws {
        if let own = decoder as? JSONDecoding {
            own.note(.any)
            self = own.value
            return
        }
        if let members = try? decoder.container(keyedBy: PlainCodingKey.self) {
            var object = JSONObject()
            for key in members.allKeys {
                object[key.stringValue] = try members.decode(JSON.self, forKey: key)
            }
            self = .object(object)
            return
        }
        if var list = try? decoder.unkeyedContainer() {
            var elements: [JSON] = []
            while !list.isAtEnd { elements.append(try list.decode(JSON.self)) }
            self = .array(elements)
            return
        }
        let single = try decoder.singleValueContainer()
        if single.decodeNil() {
            self = .null
        } else if let flag = try? single.decode(Bool.self) {
            self = .bool(flag)
        } else if let number = try? single.decode(Int.self) {
            self = .int(number)
        } else if let number = try? single.decode(Double.self) {
            self = .double(number)
        } else {
            self = .string(try single.decode(String.self))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        if let own = encoder as? JSONEncoding { return own.take(self) }
        switch self {
        case .null:
            var single = encoder.singleValueContainer()
            try single.encodeNil()
        case .bool(let flag): try flag.encode(to: encoder)
        case .int(let number): try number.encode(to: encoder)
        case .double(let number): try number.encode(to: encoder)
        case .string(let text): try text.encode(to: encoder)
        case .array(let elements): try elements.encode(to: encoder)
        case .object(let object): try object.encode(to: encoder)
        }
    }
}

extension JSONObject: Codable {
    public init(from decoder: any Decoder) throws {
        if let own = decoder as? JSONDecoding {
            own.note(.object)
            self = try own.object()
            return
        }
        guard case .object(let object) = try JSON(from: decoder) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "an object is needed"))
        }
        self = object
    }

    public func encode(to encoder: any Encoder) throws {
        if let own = encoder as? JSONEncoding { return own.take(.object(self)) }
        var members = encoder.container(keyedBy: PlainCodingKey.self)
        for member in self {
            try members.encode(member.value, forKey: PlainCodingKey(stringValue: member.key))
        }
    }
}
