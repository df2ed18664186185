/// A plain dispatch as its sender writes it, so that the next one like it is known again.
///
/// The dispatches of a client look alike but for the `id` and for what stands in the payload. So all other bytes of
/// one are kept, with what was read from them. A line that has the same bytes, and between them an `id` and a payload
/// that are valid, says the same, whatever its names, their order and its white space: reading all of it again could
/// give nothing else. Any other line is read the general way, also one that is familiar up to a mistake, so that
/// errors are always those of the general way.
@usableFromInline
struct RequestTemplate {
    /// What stands between the bytes that are the same.
    enum Gap { case none, id, payload }

    /// How many bytes are kept of a line at most. Names of ordinary length leave room.
    static let longest = 256
    /// Of the lines that were not familiar one in so many is kept: who sends another kind each time should not pay for
    /// memories of no use.
    private static let missesPerTemplate = 8

    /// What the line says, as far as it is the same each time; the texts lie among the bytes that are kept.
    private(set) var names = RequestReader.Names()
    /// What the names stand for, once somebody has found out.
    @usableFromInline var resolved = ResolvedDispatch()
    /// The limits it was kept under, as the reader counts them.
    var generation = 0
    private(set) var first = Gap.none
    private(set) var second = Gap.none

    /// The bytes that are the same: those before the first gap, between the two, and behind them. Without any before
    /// nothing is kept.
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

    /// A plain dispatch was read that was not familiar; true if it is kept from now on. `id` and `payload` are where
    /// those stand in the line, empty if they don't.
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
        // A gap that is not there is an empty one at the end.
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

/// What the names of a dispatch stand for, as whoever resolved them numbers it. The reader only keeps it.
public struct ResolvedDispatch: Sendable {
    public let type: Int32
    public let action: Int32
    /// -1 for all stores of the type.
    public let store: Int32
    /// Which definition of the type it was, and the state of all names it was found out in: it holds while both do.
    public let definition: Int
    public let names: Int

    package init(type: Int32, action: Int32, store: Int32, definition: Int, names: Int) {
        (self.type, self.action, self.store) = (type, action, store)
        (self.definition, self.names) = (definition, names)
    }

    /// Nothing has been found out.
    init() { self.init(type: -1, action: -1, store: -1, definition: -1, names: -1) }
}

/// What is remembered of one sender's lines: nothing before its first plain dispatch. Each sender has its own, so nobody
/// can tell from how long a line takes what another has sent.
package struct SenderMemory: ~Copyable {
    /// Behind it, in the same block, stand the bytes that it keeps.
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
