import BusJSON

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
    @exclusivity(unchecked) var values: [JSON]
    /// The first complaint about a member, reported once the whole line has proved to be JSON.
    @exclusivity(unchecked) var complaint: RequestError?
    /// The names of members that no request has, to find one that comes twice.
    @exclusivity(unchecked) var unknown: Set<[UInt8]> = []
    @exclusivity(unchecked) var copies: [UnsafeMutableRawBufferPointer] = []
    /// The payload's place in the line.
    var payloadText = Text(start: nil, count: 0)
    var depth: Int
    let shortMembers = RequestReader.shortMemberTable
    let members = RequestReader.memberTable
    let operations = RequestReader.operationTable
    /// Counts changes of limits: a template kept under earlier ones is invalid.
    @exclusivity(unchecked) var generation = 0

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
        batch.clear()
        if let last = sender.template {
            let expected = last.pointee.follower
            if readByTemplate(line, expected) {
                sender.note(expected)
                return parts.pointee.familiar = expected
            }
            if let other = readByOtherTemplates(line, than: expected) {
                last.pointee.follower = other
                sender.note(other)
                return parts.pointee.familiar = other
            }
        }
        parts.pointee.familiar = nil
        try readAny(line)
        guard isPlainDispatch, let familiar = sender.templateForMiss() else { return }
        if familiar.pointee.keep(
            line, parts.pointee.names, id: id, key: present.contains(.key) ? parts.pointee.key : nil,
            payload: payloadText, batch)
        {
            familiar.pointee.generation = generation
            sender.template?.pointee.follower = familiar
            sender.note(familiar)
            parts.pointee.familiar = familiar
        }
    }

    /// Whether the request is known to be a dispatch without a mistake in its members.
    @inlinable public var matchesTemplate: Bool { parts.pointee.familiar != nil }

    /// The operation of the request, once its members have proved to be those it may have.
    package func operation() throws(RequestError) -> Operation {
        if matchesTemplate { return .command(.dispatch) }
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
                "There is no op `\(name)`; \(suggestion(for: name, among: Operation.allCases.map(\.rawValue)))"
            )
        }
        if let member = present.first(outside: entry.members) {
            throw .invalid(
                member.name, "`\(member.name)` is not a member of \(entry.operation.rawValue); leave it out.")
        }
        return entry.operation
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
}
