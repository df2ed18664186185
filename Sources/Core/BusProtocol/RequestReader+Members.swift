import BusJSON

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Reading a line from its beginning to its end, whatever it looks like.
extension RequestReader {
    func readAny(_ line: UnsafeRawBufferPointer) throws(RequestError) {
        let nothing = Text(start: nil, count: 0)
        parts.pointee.names = Names()
        parts.pointee.id = nothing
        parts.pointee.key = nothing
        payloadText = nothing
        complaint = nil
        if !copies.isEmpty {
            for copy in copies { copy.deallocate() }
            copies = []
        }
        if !unknown.isEmpty { unknown.removeAll(keepingCapacity: true) }
        var reader = JSONReader(line, depthLimit: depth)
        var isObject = true
        do throws(JSONError) {
            if reader.peek() == UInt8(ascii: "{") {
                try readMembers(&reader)
            } else {
                _ = try reader.value()
                isObject = false
            }
            try reader.expectEnd()
        } catch {
            parts.pointee.id = nothing
            throw Self.parseError(error)
        }
        guard isObject else {
            throw RequestError(.invalidRequest, "A request is one JSON object on one line.")
        }
    }

    private func readMembers(_ line: inout JSONReader) throws(JSONError) {
        try line.expect(UInt8(ascii: "{"))
        try line.enter()
        if line.take(UInt8(ascii: "}")) { return }
        var scanner = PlainScanner(at: line)
        while true {
            line.go(to: scanner)
            if !takeMember(&scanner, line) {
                try readMember(&line)
                scanner.go(to: line)
            }
            if scanner.take(UInt8(ascii: ",")) { continue }
            line.go(to: scanner)
            guard line.take(UInt8(ascii: ",")) else { break }
            scanner.go(to: line)
        }
        try line.expect(UInt8(ascii: "}"))
    }

    /// Takes a member as most clients write it: a short name, its colon, and a value of the right kind without escapes. False
    /// for any other, and then the scanner stands anywhere.
    @inline(__always)
    private func takeMember(_ scanner: inout PlainScanner, _ line: JSONReader) -> Bool {
        let word = scanner.takeName()
        guard word != 0, let member = shortMembers.value(of: word), !present.contains(member) else {
            return false
        }
        switch member {
        case .op:
            guard let text = scanner.takeText() else { return false }
            parts.pointee.names.op = text
        case .type:
            guard let text = scanner.takeText() else { return false }
            parts.pointee.names.type = text
        case .store:
            guard let text = scanner.takeText() else { return false }
            parts.pointee.names.store = text
        case .action:
            guard let text = scanner.takeText() else { return false }
            parts.pointee.names.action = text
        case .key:
            guard let text = scanner.takeText() else { return false }
            parts.pointee.key = text
        case .id:
            guard let text = scanner.takeNumberOrText() else { return false }
            parts.pointee.id = text
        case .payload:
            guard scanner.isAt(UInt8(ascii: "{")), readPayload(&scanner, line) else { return false }
        case .actions:
            guard batch.read(&scanner, line, shortMembers) else { return false }
        default:
            guard readValue(of: member, &scanner, line) else { return false }
        }
        parts.pointee.names.present.insert(member)
        return true
    }

    /// False for a value with a mistake, which is found again by who throws it.
    @inline(never)
    private func readValue(of member: Member, _ scanner: inout PlainScanner, _ line: JSONReader) -> Bool {
        var reader = line
        reader.go(to: scanner)
        do throws(JSONError) {
            values[Int(member.rawValue)] = try reader.value()
            scanner.go(to: reader)
            return true
        } catch {
            return false
        }
    }

    /// The same for the payload.
    @inline(__always)
    private func readPayload(_ scanner: inout PlainScanner, _ line: JSONReader) -> Bool {
        var reader = line
        reader.go(to: scanner)
        let first = reader.offset
        do throws(JSONError) {
            try reader.object(replacing: &parts.pointee.payload)
        } catch {
            return false
        }
        payloadText = reader.bytes(from: first, to: reader.offset)
        scanner.go(to: reader)
        return true
    }

    // MARK: Members

    /// Reads a member, however it is written.
    @inline(never)
    private func readMember(_ reader: inout JSONReader) throws(JSONError) {
        guard let quote = reader.peek() else { throw JSONError(.unexpectedEnd, at: reader.offset) }
        guard quote == UInt8(ascii: "\"") else { throw JSONError(.unexpectedByte, at: reader.offset) }
        let place = reader.offset
        let name = try text(try reader.scanString(), &reader)
        try reader.expect(UInt8(ascii: ":"))
        guard let member = member(named: name) else {
            try noteUnknown(name, place: place)
            _ = try reader.value()
            return
        }
        guard !present.contains(member) else { throw JSONError(.duplicateKey, at: place) }
        parts.pointee.names.present.insert(member)
        switch member {
        case .op: parts.pointee.names.op = try readText(&reader, member)
        case .type: parts.pointee.names.type = try readText(&reader, member)
        case .store: parts.pointee.names.store = try readText(&reader, member)
        case .action: parts.pointee.names.action = try readText(&reader, member)
        case .id: try readID(&reader)
        case .payload:
            if reader.peek() == UInt8(ascii: "{") {
                let first = reader.offset
                try reader.object(replacing: &parts.pointee.payload)
                payloadText = reader.bytes(from: first, to: reader.offset)
            } else {
                _ = try reader.value()
                parts.pointee.payload = JSONObject()
                complain(.invalid("payload", "`payload` must be an object."))
            }
        case .key:
            if reader.peek() == UInt8(ascii: "\"") {
                parts.pointee.key = try text(try reader.scanString(), &reader)
            } else {
                _ = try reader.value()
            }
        default: values[Int(member.rawValue)] = try reader.value()
        }
    }

    @inline(__always)
    private func readText(_ reader: inout JSONReader, _ member: Member) throws(JSONError) -> Text {
        if reader.peek() == UInt8(ascii: "\"") {
            return try text(try reader.scanString(), &reader)
        }
        _ = try reader.value()
        complain(.invalid(member.name, "`\(member.name)` must be a string."))
        return Text(start: nil, count: 0)
    }

    private func readID(_ reader: inout JSONReader) throws(JSONError) {
        let next = reader.peek()
        let first = reader.offset
        if let next, next &- 48 < 10 {
            _ = try reader.number()
        } else {
            switch try reader.value() {
            case .string, .int, .double: break
            default: return complain(.invalid("id", "`id` must be a string or a number."))
            }
        }
        parts.pointee.id = reader.bytes(from: first, to: reader.offset)
    }

    private func text(
        _ content: JSONReader.StringContent, _ reader: inout JSONReader
    ) throws(JSONError) -> Text {
        if content.plain { return content.bytes }
        var decoded = try reader.decode(content)
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, decoded.utf8.count), alignment: 1)
        decoded.withUTF8 { copy.copyMemory(from: UnsafeRawBufferPointer($0)) }
        copies.append(copy)
        return Text(start: copy.baseAddress, count: decoded.utf8.count)
    }

    /// Unknown members are refused by name; the same one twice is a duplicate key all the same.
    private func noteUnknown(_ name: Text, place: Int) throws(JSONError) {
        guard unknown.insert(Array(name)).inserted else { throw JSONError(.duplicateKey, at: place) }
        let shown = String(decoding: name.prefix(64), as: UTF8.self)
        complain(.invalid(shown, "`\(shown)` is not a member of any request; leave it out."))
    }

    private func complain(_ error: RequestError) { if complaint == nil { complaint = error } }

    // MARK: Names

    @inline(__always)
    static func matches(_ text: Text, _ word: StaticString) -> Bool {
        text.count == word.utf8CodeUnitCount && memcmp(text.baseAddress!, word.utf8Start, text.count) == 0
    }

    private func member(named name: Text) -> Member? {
        members.value(of: WordTable<Member>.word(name)).flatMap { $0.name.hasBytes(name) ? $0 : nil }
    }

    /// Members whose names have at most seven bytes, by those.
    static let shortMemberTable = WordTable(
        Member.allCases.filter { $0.name.utf8.count <= 7 }.map {
            (word: WordTable<Member>.word($0.name), value: $0)
        })

    /// All members, by the first eight bytes of their names.
    static let memberTable = WordTable(
        Member.allCases.map { (word: WordTable<Member>.word($0.name), value: $0) })

    /// What may be asked, by the first bytes of its name.
    static let operationTable = WordTable(
        Operation.allCases.map {
            (
                word: WordTable<OperationEntry>.word($0.rawValue),
                value: OperationEntry(
                    operation: $0, name: SmallText(ascii: $0.rawValue), members: $0.members)
            )
        })

    /// An operation, its name, and the members that it may have.
    struct OperationEntry: Sendable {
        let operation: Operation
        let name: SmallText
        let members: MemberSet
    }
}
