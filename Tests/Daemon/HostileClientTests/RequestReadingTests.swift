import BusJSON
import BusMachine
import BusProtocol
import TestSupport
import Testing

/// Whatever a line looks like, the reader of requests finds in it what a reader of any JSON finds. The lines stand where a
/// read behind their end crashes.
@Suite("Lines of any kind") struct RequestReadingTests {
    private static let depth = 6

    /// What a request says, by its members.
    private struct Request: Equatable {
        var texts: [String: String] = [:]
        var values: [String: JSON] = [:]
        var id: JSON?
        var actions: [String] = []
    }

    /// Nil for a line that is no object, or is refused for its members.
    private func found(_ line: [UInt8], _ reader: RequestReader, _ memory: inout SenderMemory) -> Request? {
        let place = GuardedMemory.take()
        defer { place.giveBack() }
        return place.withCopy(of: line) { bytes in
            do throws(RequestError) {
                try reader.read(bytes, from: &memory)
                _ = try reader.operation()
                return try request(in: reader)
            } catch {
                return nil
            }
        }
    }

    private func request(in reader: RequestReader) throws(RequestError) -> Request {
        var request = Request()
        for member in Member.allCases where reader.present.contains(member) {
            switch member {
            case .op: request.texts["op"] = text(reader.op)
            case .type: request.texts["type"] = text(reader.type)
            case .store: request.texts["store"] = text(reader.store)
            case .action: request.texts["action"] = text(reader.action)
            case .key: request.texts["key"] = text(try reader.key!)
            case .payload: request.values["payload"] = .object(reader.payload)
            case .id: request.id = try? JSON(parsing: reader.id)
            default: request.values[member.name] = reader.value(member)
            }
        }
        for place in 0..<reader.batch.count {
            let element = reader.batch.elements[place]
            request.actions.append(
                "\(element.isStore) \(text(element.target)) \(text(element.action)) \(element.payload.encoded)"
            )
        }
        return request
    }

    private func text(_ bytes: UnsafeRawBufferPointer) -> String { String(decoding: bytes, as: UTF8.self) }

    /// The same by way of any JSON.
    private func wanted(_ line: [UInt8]) -> Request? {
        guard
            case .success(.object(let object)) = Result(catching: {
                try JSON(parsing: line, depthLimit: Self.depth)
            })
        else { return nil }
        var request = Request()
        for member in object.members {
            switch (member.key, member.value) {
            case ("op", .string(let text)), ("type", .string(let text)), ("store", .string(let text)),
                ("action", .string(let text)), ("key", .string(let text)):
                request.texts[member.key] = text
            case ("payload", .object): request.values["payload"] = member.value
            case ("id", .string), ("id", .int), ("id", .double): request.id = member.value
            case ("op", _), ("type", _), ("store", _), ("action", _), ("key", _), ("payload", _), ("id", _):
                return nil
            default:
                guard Member.allCases.contains(where: { $0.name == member.key }) else { return nil }
                request.values[member.key] = member.value
            }
        }
        guard let name = request.texts["op"],
            let operation = Operation.allCases.first(where: { $0.rawValue == name }),
            object.members.allSatisfy({ member in
                Member.allCases.contains { $0.name == member.key && operation.members.contains($0) }
            })
        else { return nil }
        return request
    }

    /// What the actions of a batch are, where they are told as any JSON is.
    private func actions(_ value: JSON) -> [String]? {
        guard case .array(let elements) = value, !elements.isEmpty else { return nil }
        var actions: [String] = []
        for element in elements {
            guard let element = try? BatchElement(element, place: "") else { return nil }
            actions.append(
                "\(element.isStore) \(element.target) \(element.action) \(element.payload.encoded)")
        }
        return actions
    }

    /// Whether both find the same. A batch is read in place where it is one without mistakes, and may be so only then.
    private func agree(_ line: [UInt8], _ reader: RequestReader, _ memory: inout SenderMemory) -> Bool {
        var found = found(line, reader, &memory)
        let wanted = wanted(line)
        if let inPlace = found?.actions, !inPlace.isEmpty {
            guard let actions = wanted?.values["actions"], self.actions(actions) == inPlace else {
                Issue.record("\(text(line)): \(inPlace)")
                return false
            }
            found?.actions = []
        }
        if found == wanted { return true }
        Issue.record("\(text(line)): \(String(describing: found)), not \(String(describing: wanted))")
        return false
    }

    private func text(_ line: [UInt8]) -> String { String(decoding: line, as: UTF8.self) }

    // MARK: Lines

    private static let names = [
        "op", "id", "type", "store", "action", "payload", "key", "actions", "ack", "ifRevision",
        "if", "return",
    ]
    private static let texts = [
        "counter", "counter/kitchen", "a", "", "increment", "n\u{e9}", "tab\t", "quote\"", "back\\slash",
        String(repeating: "x", count: 60), String(repeating: "y", count: 64),
        String(repeating: "z", count: 200),
    ]

    private func value(of name: String, _ random: inout SeededGenerator) -> JSON {
        if random.oneIn(12) { return randomJSON(using: &random) }
        switch name {
        case "op":
            return .string(
                ["dispatch", "get", "ping", "sync", "unsubscribe", "nothing"].randomElement(using: &random)!)
        case "id":
            return random.oneIn(3)
                ? .string(Self.texts.randomElement(using: &random)!)
                : .int(Int.random(in: -9...99_999_999, using: &random))
        case "payload": return payload(&random)
        case "actions":
            return .array((0..<Int.random(in: 0...5, using: &random)).map { _ in element(&random) })
        case "ack": return .bool(random.oneIn(2))
        case "ifRevision": return .int(Int.random(in: 0...9, using: &random))
        default: return .string(Self.texts.randomElement(using: &random)!)
        }
    }

    private func payload(_ random: inout SeededGenerator) -> JSON {
        random.oneIn(3)
            ? .object(randomJSONObject(using: &random, depth: 3))
            : ["by": .int(Int.random(in: 0...999, using: &random))]
    }

    /// Mostly one that can be read in place.
    private func text(_ random: inout SeededGenerator) -> JSON {
        .string(
            random.oneIn(20) ? Self.texts.randomElement(using: &random)! : Self.texts[random.oneIn(2) ? 1 : 4]
        )
    }

    private func element(_ random: inout SeededGenerator) -> JSON {
        var element: JSONObject = [
            random.oneIn(3) ? "type" : "store": text(&random),
            "action": text(&random),
        ]
        if !random.oneIn(3) { element["payload"] = payload(&random) }
        if random.oneIn(20) {
            element[["store", "more", "if", "op"].randomElement(using: &random)!] = randomJSON(using: &random)
        }
        return .object(element)
    }

    /// An object with its members in a random order, written tightly, with a space behind each comma and colon, or anyhow.
    private func line(_ members: [(String, JSON)], _ random: inout SeededGenerator) -> [UInt8] {
        if random.oneIn(8) {
            var object = JSONObject()
            for (name, value) in members { object[name] = value }
            return disguised(.object(object), using: &random)
        }
        let space = random.oneIn(3) ? " " : ""
        let parts = members.map { name, value in
            let text = random.oneIn(2) ? value.encoded : spaced(value, space)
            return "\"\(name)\":\(space)\(text)"
        }
        return Array("{\(parts.joined(separator: "," + space))}".utf8)
    }

    private func spaced(_ value: JSON, _ space: String) -> String {
        switch value {
        case .array(let elements): "[\(elements.map { spaced($0, space) }.joined(separator: "," + space))]"
        case .object(let object):
            "{\(object.members.map { "\(JSON.string($0.key).encoded):\(space)\(spaced($0.value, space))" }.joined(separator: "," + space))}"
        default: value.encoded
        }
    }

    @Test(arguments: 0..<8)
    func randomLinesSayWhatAnyReaderFinds(seed: UInt64) {
        var random = SeededGenerator(seed: 0x91e2 + seed)
        let reader = RequestReader(depth: Self.depth)
        var memory = SenderMemory()
        var batches = 0
        for _ in 0..<3_000 {
            var names = Self.names.shuffled(using: &random).prefix(Int.random(in: 1...5, using: &random))
            if !names.contains("op"), !random.oneIn(8) { names.insert("op", at: 0) }
            var members = names.map { name in
                (name, name == "op" && !random.oneIn(4) ? "dispatch" : value(of: name, &random))
            }
            if random.oneIn(30) { members.append(members[0]) }
            if random.oneIn(30) { members.append(("unheardOf", 1)) }
            var line = line(members, &random)
            if random.oneIn(4) { line = mutated(line, using: &random) }
            guard agree(line, reader, &memory) else { return }
            if !reader.batch.isEmpty { batches += 1 }
        }
        #expect(batches > 100)
    }

    /// Strings of every length and place, with and without what ends them too early.
    @Test func stringsEndWhereTheyDo() {
        let reader = RequestReader(depth: Self.depth)
        var memory = SenderMemory()
        for length in 0..<140 {
            for odd in ["", "\\n", "\u{e9}", "\\\"", "\u{1}"] {
                let store = String(repeating: "s", count: length) + odd
                for line in [
                    #"{"op":"dispatch","store":"\#(store)","action":"a"}"#,
                    #"{"store":"\#(store)","op":"get"}"#,
                    #"{"op":"get","store":"\#(store)"#, #"{"op":"get","store":"\#(store)""#,
                    #"{"op":"dispatch","actions":[{"store":"\#(store)","action":"\#(store)"}]}"#,
                ] {
                    guard agree(Array(line.utf8), reader, &memory) else { return }
                }
            }
        }
    }

    /// A name of eight bytes that begins like a longer one is another.
    @Test func namesAreWhole() {
        let reader = RequestReader(depth: Self.depth)
        var memory = SenderMemory()
        for member in Member.allCases {
            for name in [
                member.name, String(member.name.dropLast()), member.name + "s", member.name + "\\u0000",
            ] {
                let line = #"{"op":"dispatch","\#(name)":1,"id":1}"#
                guard agree(Array(line.utf8), reader, &memory) else { return }
            }
        }
        for operation in Operation.allCases {
            for name in [operation.rawValue, String(operation.rawValue.dropLast()), operation.rawValue + "s"]
            {
                guard agree(Array(#"{"op":"\#(name)"}"#.utf8), reader, &memory) else { return }
            }
        }
    }

    /// A batch over the depth limit is none, and large ones leave nothing behind.
    @Test func batchesKeepToTheirLimits() {
        let reader = RequestReader(depth: 4)
        var memory = SenderMemory()
        func read(_ payload: String, times: Int = 1) -> Int? {
            let element = #"{"store":"a/b","action":"c","payload":\#(payload)}"#
            let actions = Array(repeating: element, count: times).joined(separator: ",")
            let line = Array(#"{"op":"dispatch","actions":[\#(actions)]}"#.utf8)
            return line.withUnsafeBytes { bytes in
                do throws(RequestError) {
                    try reader.read(bytes, from: &memory)
                    return reader.batch.count
                } catch {
                    return nil
                }
            }
        }
        #expect(read(#"{"d":1}"#) == 1)
        #expect(read(#"{"d":[]}"#) == nil)
        #expect(read(#"{"d":1}"#, times: 1000) == 1000)
        #expect(read("{}", times: 3) == 3)
    }
}
