import BusJSON

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Parses one line into a request: one pass over the bytes, nothing allocated for the members that every dispatch has.
/// One reader parses all lines, one after the other; its results are valid until the next line.
public final class RequestReader {
    /// Text of a request, in place: bytes of the line, or of a copy where escapes had to be undone.
    public typealias Text = UnsafeRawBufferPointer

    /// The members of a plain dispatch without its `id` and its payload.
    @usableFromInline
    struct Names {
        @usableFromInline var present = MemberSet()
        @usableFromInline var op = Text(start: nil, count: 0)
        @usableFromInline var type = Text(start: nil, count: 0)
        @usableFromInline var store = Text(start: nil, count: 0)
        @usableFromInline var action = Text(start: nil, count: 0)

        /// The same with each text somewhere else.
        func moved(_ move: (Text) -> Text) -> Names {
            Names(
                present: present, op: move(op), type: move(type), store: move(store), action: move(action))
        }
    }

    /// All that a plain dispatch has. It stands behind a constant pointer, so that reading it from another module
    /// is not checked for overlapping accesses each time.
    @usableFromInline
    struct Parts {
        @usableFromInline var names = Names()
        @usableFromInline var id = Text(start: nil, count: 0)
        /// Without an address where `key` is absent or no string.
        @usableFromInline var key = Text(start: nil, count: 0)
        @usableFromInline var payload = JSONObject()
        /// Where the line's sender keeps a line, if it is that one or one like it.
        @usableFromInline var familiar: UnsafeMutablePointer<RequestTemplate>?
    }

    @usableFromInline let parts: UnsafeMutablePointer<Parts>

    /// The members the request has.
    @inlinable public var present: MemberSet { parts.pointee.names.present }
    /// The raw JSON of `id`, quotes included; empty when there is none.
    @inlinable public var id: Text { parts.pointee.id }
    @inlinable public var op: Text { parts.pointee.names.op }
    @inlinable public var type: Text { parts.pointee.names.type }
    @inlinable public var store: Text { parts.pointee.names.store }
    @inlinable public var action: Text { parts.pointee.names.action }
    @inlinable public var payload: JSONObject { parts.pointee.payload }

    /// The text of `key`; nil when there is none.
    package var key: Text? {
        get throws(RequestError) {
            guard present.contains(.key) else { return nil }
            guard parts.pointee.key.baseAddress != nil else {
                throw .invalid("key", "`key` must be a string.")
            }
            return parts.pointee.key
        }
    }

    /// Writes the payload, in place: a copy would count references.
    package func writePayload(to writer: ByteWriter) { writer.append(jsonObject: parts.pointee.payload) }

    /// Passes the payload on, while the request is executed; `returnPayload` returns its storage, into
    /// which the next payload is parsed.
    @inlinable @inline(__always)
    public func takePayload() -> JSONObject {
        var payload = JSONObject()
        swap(&payload, &parts.pointee.payload)
        return payload
    }

    @inlinable @inline(__always)
    public func returnPayload(_ payload: consuming JSONObject) { parts.pointee.payload = payload }

    /// The resolved dispatch in the request's template, if it matches one; valid as long as the request.
    @inlinable public var resolved: UnsafeMutablePointer<ResolvedDispatch>? {
        parts.pointee.familiar?.pointer(to: \.resolved)
    }

    /// The actions of a batch, if they stand as most clients write them; else they are a value like others.
    package let batch = RequestBatch()
    /// Values of all other members, by the member's number.
    @exclusivity(unchecked) private var values: [JSON]
    /// The first complaint about a member, reported once the whole line has proved to be JSON.
    @exclusivity(unchecked) private var complaint: RequestError?
    /// The names of members that no request has, to find one that comes twice.
    @exclusivity(unchecked) private var unknown: Set<[UInt8]> = []
    @exclusivity(unchecked) private var copies: [UnsafeMutableRawBufferPointer] = []
    /// The payload's place in the line.
    private var payloadText = Text(start: nil, count: 0)
    private var depth: Int
    /// Members by the first bytes of their names.
    private let members = WordTable(
        Member.allCases.map { (word: WordTable<Member>.word($0.name), value: $0) })
    /// What may be asked, by the first bytes of its name, and the members that each may have.
    private let operations = WordTable(
        Operation.allCases.map {
            (
                word: WordTable<OperationEntry>.word($0.rawValue),
                value: OperationEntry(operation: $0, name: SmallText(ascii: $0.rawValue), members: $0.members)
            )
        })
    /// Counts changes of limits: a template kept under earlier ones is invalid.
    @exclusivity(unchecked) private var generation = 0

    package init(depth: Int) {
        self.depth = depth
        values = Array(repeating: .null, count: Member.allCases.count)
        parts = .allocate(capacity: 1)
        parts.initialize(to: Parts())
    }

    /// Another limit, for the lines to come.
    package func limit(depth: Int) {
        self.depth = depth
        generation &+= 1
    }

    deinit {
        for copy in copies { copy.deallocate() }
        parts.deinitialize(count: 1)
        parts.deallocate()
    }

    /// Whether options of a dispatch have to be looked at: anything but what the simplest one has.
    @inlinable public var hasMembersBeyondPlainDispatch: Bool {
        present.hasMembers(outside: Self.plainDispatch)
    }

    /// Whether options have to be looked at beyond a key.
    @inlinable public var hasMembersBeyondKeyedDispatch: Bool {
        present.hasMembers(outside: MemberSet(bits: Self.plainDispatch.bits | Member.key.bit))
    }

    /// The same, where a batch whose actions are read in place is no option.
    package var hasOptions: Bool {
        present.hasMembers(
            outside: MemberSet(
                bits: Self.plainDispatch.bits | Member.key.bit | (hasBatch ? Member.actions.bit : 0)))
    }

    /// Whether there are several actions, read in place.
    package var hasBatch: Bool { !batch.isEmpty }

    /// Reads a line. Throws when it is no JSON object; errors about members wait for `operation`, so that the reply can
    /// carry the `id`. Lines of one sender are mostly alike, so what they look like is remembered with it.
    package func read(_ line: UnsafeRawBufferPointer, from sender: inout SenderMemory) throws(RequestError) {
        if let familiar = sender.template, readByTemplate(line, familiar) {
            return parts.pointee.familiar = familiar
        }
        parts.pointee.familiar = nil
        try readAny(line)
        guard isPlainDispatch else { return }
        let familiar = sender.makeTemplate()
        if familiar.pointee.meet(line, parts.pointee.names, id: id, payload: payloadText) {
            familiar.pointee.generation = generation
            parts.pointee.familiar = familiar
        }
    }

    /// Parses a line like the previous one of its sender; false for any other line.
    @inline(__always)
    private func readByTemplate(
        _ line: UnsafeRawBufferPointer, _ familiar: UnsafeMutablePointer<RequestTemplate>
    ) -> Bool {
        guard familiar.pointee.isKept, familiar.pointee.generation == generation else { return false }
        // The request itself is one level.
        var reader = JSONReader(line, depthLimit: depth - 1)
        parts.pointee.id = Text(start: nil, count: 0)
        guard reader.take(familiar.pointee.before), fill(familiar.pointee.first, &reader),
            reader.take(familiar.pointee.between), fill(familiar.pointee.second, &reader),
            reader.take(familiar.pointee.behind), reader.isAtEnd
        else { return false }
        parts.pointee.names = familiar.pointee.names
        return true
    }

    /// Parses a gap of a template; false where its contents are not of the usual kind.
    @inline(__always)
    private func fill(_ gap: RequestTemplate.Gap, _ reader: inout JSONReader) -> Bool {
        switch gap {
        case .none: return true
        case .id:
            let first = reader.offset
            guard reader.takeDigits() || reader.takeShortInteger() != nil || takeText(&reader)
            else { return false }
            parts.pointee.id = reader.bytes(from: first, to: reader.offset)
            return true
        case .payload:
            guard reader.peek() == UInt8(ascii: "{") else { return false }
            do throws(JSONError) {
                try reader.object(replacing: &parts.pointee.payload)
                return true
            } catch {
                return false
            }
        }
    }

    private func takeText(_ reader: inout JSONReader) -> Bool {
        var map = QuoteMap(of: reader)
        return reader.takePlainText(&map) != nil
    }

    /// Whether the line that was read is a dispatch in which all the names stand as they are, without escapes.
    private var isPlainDispatch: Bool {
        complaint == nil && copies.isEmpty && present.contains(.op) && !hasMembersBeyondPlainDispatch
            && Self.matches(op, "dispatch")
    }

    private func readAny(_ line: UnsafeRawBufferPointer) throws(RequestError) {
        let nothing = Text(start: nil, count: 0)
        parts.pointee.names = Names()
        parts.pointee.id = nothing
        parts.pointee.key = nothing
        payloadText = nothing
        complaint = nil
        batch.clear()
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
        // Copies that no other function is lent stay in registers.
        var reader = line
        var map = QuoteMap(of: line)
        repeat {
            let place = reader.offset
            if takeMember(&reader, &map) { continue }
            line = reader
            line.goBack(to: place)
            try readMember(&line)
            reader = line
        } while reader.take(UInt8(ascii: ","))
        line = reader
        try line.expect(UInt8(ascii: "}"))
    }

    /// Takes a member as most clients write it: a short name, its colon, and a value of the right kind without escapes. False
    /// for any other, and then the reader stands anywhere.
    @inline(__always)
    private func takeMember(_ reader: inout JSONReader, _ map: inout QuoteMap) -> Bool {
        let word = reader.takeShortName(&map)
        guard word != 0, let member = members.value(of: word), !present.contains(member) else {
            return false
        }
        switch member {
        case .op:
            guard let text = reader.takePlainText(&map) else { return false }
            parts.pointee.names.op = text
        case .type:
            guard let text = reader.takePlainText(&map) else { return false }
            parts.pointee.names.type = text
        case .store:
            guard let text = reader.takePlainText(&map) else { return false }
            parts.pointee.names.store = text
        case .action:
            guard let text = reader.takePlainText(&map) else { return false }
            parts.pointee.names.action = text
        case .id:
            let first = reader.offset
            guard reader.takeDigits() || reader.takePlainText(&map) != nil else { return false }
            parts.pointee.id = reader.bytes(from: first, to: reader.offset)
        case .payload:
            let first = reader.offset
            var inner = reader
            guard inner.peek() == UInt8(ascii: "{"), readPayload(&inner) else { return false }
            reader = inner
            payloadText = reader.bytes(from: first, to: reader.offset)
        case .key:
            guard let text = reader.takePlainText(&map) else { return false }
            parts.pointee.key = text
        case .actions:
            var inner = reader
            guard batch.read(&inner, &map, members) else { return false }
            reader = inner
        default:
            var inner = reader
            guard readValue(of: member, &inner) else { return false }
            reader = inner
        }
        parts.pointee.names.present.insert(member)
        return true
    }

    /// False for a value with a mistake, which is found again by who throws it.
    private func readValue(of member: Member, _ reader: inout JSONReader) -> Bool {
        do throws(JSONError) {
            values[Int(member.rawValue)] = try reader.value()
            return true
        } catch {
            return false
        }
    }

    /// False for a payload with a mistake, which is found again by who throws it.
    private func readPayload(_ reader: inout JSONReader) -> Bool {
        do throws(JSONError) {
            try reader.object(replacing: &parts.pointee.payload)
            return true
        } catch {
            return false
        }
    }

    /// Whether the request is known to be a dispatch without a mistake in its members.
    @inlinable public var matchesTemplate: Bool { parts.pointee.familiar != nil }

    /// The operation of the request, once its members have proved to be those it may have.
    package func operation() throws(RequestError) -> Operation {
        if matchesTemplate { return .dispatch }
        if let complaint { throw complaint }
        guard present.contains(.op) else {
            throw .invalid("op", "Say in `op` what is asked for, for example \"dispatch\".")
        }
        guard let entry = operations.value(of: WordTable<OperationEntry>.word(op)),
            op.count <= SmallText.longest, entry.name == SmallText(ascii: op)
        else {
            let name = String(decoding: op.prefix(64), as: UTF8.self)
            throw RequestError(
                .unknownOp,
                "There is no op \"\(name)\"; \(suggestion(for: name, among: Operation.allCases.map(\.rawValue)))"
            )
        }
        if let member = present.first(outside: entry.members) {
            throw .invalid(
                member.name, "`\(member.name)` is not a member of \(entry.operation.rawValue); leave it out.")
        }
        return entry.operation
    }

    private struct OperationEntry {
        let operation: Operation
        let name: SmallText
        let members: MemberSet
    }

    /// Whether the request names one store and says no more of it.
    @inlinable public var namesOnlyAStore: Bool {
        present.contains(.store) && !present.hasMembers(outside: Self.onlyAStore)
    }

    @inlinable static var onlyAStore: MemberSet {
        MemberSet(bits: Member.op.bit | Member.id.bit | Member.store.bit)
    }

    @inlinable static var plainDispatch: MemberSet {
        let (op, id, type) = (Member.op.bit, Member.id.bit, Member.type.bit)
        let (store, action, payload) = (Member.store.bit, Member.action.bit, Member.payload.bit)
        return MemberSet(bits: op | id | type | store | action | payload)
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
        complain(.invalid(shown, "\"\(shown)\" is not a member of any request; leave it out."))
    }

    private func complain(_ error: RequestError) { if complaint == nil { complaint = error } }

    package static func parseError(_ error: JSONError) -> RequestError {
        if error.reason == .tooDeep {
            return RequestError(
                .tooLarge, "This line is nested too deeply; the limit stands in hello's `limits`.")
        }
        return RequestError(.parseError, "This line is not JSON as the bus takes it: \(error).")
    }

    /// The value of a member; nil when it is absent.
    package func value(_ member: Member) -> JSON? {
        precondition(member != .key, "The key is a text.")
        guard present.contains(member) else { return nil }
        return member == .actions && !batch.isEmpty ? batch.value(depth: depth) : values[Int(member.rawValue)]
    }

    // MARK: Names

    @inline(__always)
    private static func matches(_ text: Text, _ word: StaticString) -> Bool {
        text.count == word.utf8CodeUnitCount && memcmp(text.baseAddress!, word.utf8Start, text.count) == 0
    }

    private func member(named name: Text) -> Member? {
        members.value(of: WordTable<Member>.word(name)).flatMap { $0.name.hasBytes(name) ? $0 : nil }
    }
}
