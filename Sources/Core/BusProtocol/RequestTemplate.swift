/// A plain dispatch as its sender writes it, so that the next one like it is recognised.
///
/// The dispatches of a client are alike except for the `id` and the contents of the payload. So all other bytes of
/// one are kept, with what was parsed from them. A line that has the same bytes, and between them a valid `id` and a
/// valid payload, means the same, whatever its names, their order and its white space: parsing all of it again would
/// give the same. Any other line is parsed the general way, also one that matches up to a mistake, so that errors are
/// always those of the general way.
@usableFromInline
struct RequestTemplate {
    /// The kinds of gaps between the bytes that are the same.
    enum Gap { case none, id, payload }

    /// How many bytes are kept of a line at most. Names of ordinary length leave room.
    static let longest = 256
    /// Of the lines without a match one in so many is kept: a client that sends another kind each time should
    /// not pay for useless templates.
    private static let missesPerTemplate = 8

    /// The members that are the same each time; their bytes lie among those kept.
    private(set) var names = RequestReader.Names()
    /// What the names stand for, once they were resolved.
    @usableFromInline var resolved = ResolvedDispatch()
    /// The limits it was kept under, as the reader counts them.
    var generation = 0
    private(set) var first = Gap.none
    private(set) var second = Gap.none

    /// The bytes that are the same: those before the first gap, between the two, and after them.
    /// Without any before nothing is kept.
    private let text: UnsafeMutableRawPointer
    private var lengths = (before: 0, between: 0, behind: 0)
    private var misses = 0

    /// Uses `text`, of `longest` bytes.
    init(_ text: UnsafeMutableRawPointer) { self.text = text }

    var before: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: text, count: lengths.before) }
    var between: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: text + lengths.before, count: lengths.between)
    }
    var behind: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: text + lengths.before + lengths.between, count: lengths.behind)
    }
    var isKept: Bool { lengths.before > 0 }

    mutating func forget() {
        lengths = (0, 0, 0)
        resolved = ResolvedDispatch()
    }

    /// A plain dispatch was parsed that did not match; true if it is kept from now on. `id` and `payload` are their
    /// places in the line, empty if they are absent.
    mutating func meet(
        _ line: UnsafeRawBufferPointer, _ names: RequestReader.Names, id: UnsafeRawBufferPointer,
        payload: UnsafeRawBufferPointer
    ) -> Bool {
        misses &+= 1
        guard misses % Self.missesPerTemplate == 1,
            line.count - id.count - payload.count <= Self.longest, let start = line.baseAddress
        else { return false }
        forget()
        let end = start + line.count
        // A missing gap is an empty one at the end.
        var gaps = (Self.gap(.id, id, end), Self.gap(.payload, payload, end))
        if gaps.1.bytes.lowerBound < gaps.0.bytes.lowerBound { gaps = (gaps.1, gaps.0) }
        (first, second) = (gaps.0.kind, gaps.1.kind)
        let (one, two) = (gaps.0.bytes, gaps.1.bytes)
        lengths = (one.lowerBound - start, two.lowerBound - one.upperBound, end - two.upperBound)
        text.copyMemory(from: start, byteCount: lengths.before)
        (text + lengths.before).copyMemory(from: one.upperBound, byteCount: lengths.between)
        (text + lengths.before + lengths.between).copyMemory(from: two.upperBound, byteCount: lengths.behind)
        self.names = names.moved { name in
            guard let place = name.baseAddress else { return name }
            var offset = place - start
            if place >= one.upperBound { offset -= one.upperBound - one.lowerBound }
            if place >= two.upperBound { offset -= two.upperBound - two.lowerBound }
            return UnsafeRawBufferPointer(start: text + offset, count: name.count)
        }
        return true
    }

    private static func gap(
        _ kind: Gap, _ bytes: UnsafeRawBufferPointer, _ end: UnsafeRawPointer
    ) -> (kind: Gap, bytes: Range<UnsafeRawPointer>) {
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return (.none, end..<end) }
        return (kind, start..<start + bytes.count)
    }
}

/// What the names of a dispatch stand for, as numbered by the state machine. The reader only keeps it.
public struct ResolvedDispatch: Sendable {
    public let type: Int32
    public let action: Int32
    /// -1 for all stores of the type.
    public let store: Int32
    /// The definition of the type, and the state of all names when they were resolved: it is
    /// valid while both are unchanged.
    public let definition: Int
    public let names: Int

    package init(type: Int32, action: Int32, store: Int32, definition: Int, names: Int) {
        (self.type, self.action, self.store) = (type, action, store)
        (self.definition, self.names) = (definition, names)
    }

    /// Nothing is resolved.
    init() { self.init(type: -1, action: -1, store: -1, definition: -1, names: -1) }
}

/// What is remembered of one sender's lines: nothing before its first plain dispatch. Each sender has its own, so the
/// parsing time of a line reveals nothing about another client's lines.
package struct SenderMemory: ~Copyable {
    /// The bytes that it keeps follow it in the same block.
    fileprivate(set) var template: UnsafeMutablePointer<RequestTemplate>?

    package init() {}

    deinit { template?.deallocate() }

    /// The template, which is made if there is none.
    mutating func makeTemplate() -> UnsafeMutablePointer<RequestTemplate> {
        if let template { return template }
        let room = MemoryLayout<RequestTemplate>.stride
        let block = UnsafeMutableRawPointer.allocate(
            byteCount: room + RequestTemplate.longest, alignment: MemoryLayout<RequestTemplate>.alignment)
        let made = block.bindMemory(to: RequestTemplate.self, capacity: 1)
        made.initialize(to: RequestTemplate(block + room))
        template = made
        return made
    }
}
