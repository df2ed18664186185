/// A dispatch of one action as its sender writes it, so that the next one like it is recognised.
///
/// The dispatches of a client are alike except for the `id`, the store, the key and the contents of the payload. So all other
/// bytes of one are kept, with what was parsed from them. A line that has the same bytes, and between them a valid value of each
/// kind, means the same, whatever its names, their order and its white space: parsing all of it again would give the same. Any
/// other line is parsed the general way, also one that matches up to a mistake, so that errors are always those of the general
/// way.
@usableFromInline
struct RequestTemplate {
    /// The kinds of gaps between the bytes that are the same.
    enum Gap { case none, id, store, key, payload }

    /// Bytes that are the same, and the gap behind them.
    struct Piece {
        let length: Int32
        let gap: Gap
    }

    /// How many bytes are kept of a line at most. Names of ordinary length leave room.
    static let longest = 256
    /// How many bytes of a store's address are kept.
    static let longestStore = 128
    /// Gaps of each kind, and the bytes behind the last.
    static let mostPieces = 5
    /// Of the lines without a match one in so many is kept: a client that sends another kind each time should
    /// not pay for useless templates.
    private static let missesPerTemplate = 8

    /// The members that are the same each time, whose bytes lie among those kept; and the store of the line before.
    private(set) var names = RequestReader.Names()
    /// What the names stand for, once they were resolved.
    @usableFromInline var resolved = ResolvedDispatch()
    /// The limits it was kept under, as the reader counts them.
    var generation = 0

    /// Without any nothing is kept.
    private(set) var pieceCount = 0
    let pieces: UnsafeMutablePointer<Piece>
    /// The bytes of the pieces, one after the other.
    let text: UnsafeMutableRawPointer
    private let store: UnsafeMutableRawPointer
    private var misses = 0

    /// - Parameter room: For pieces and bytes, `size` bytes of it.
    init(_ room: UnsafeMutableRawPointer) {
        pieces = room.bindMemory(to: Piece.self, capacity: Self.mostPieces)
        text = room + Self.mostPieces * MemoryLayout<Piece>.stride
        store = text + Self.longest
    }

    static var size: Int { mostPieces * MemoryLayout<Piece>.stride + longest + longestStore + 2 }

    var isKept: Bool { pieceCount > 0 }

    mutating func forget() {
        pieceCount = 0
        resolved = ResolvedDispatch()
    }

    /// The store of the line before, with its quotes.
    var quotedStore: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: store, count: names.store.count + 2)
    }

    /// This line names another store than the one before; what it stands for has to be found out.
    @inline(__always)
    mutating func keep(store address: UnsafeRawBufferPointer) {
        // One that is too long is another one each time: nobody may name a store with an empty address.
        let count = address.count <= Self.longestStore ? address.count : 0
        (store + 1).copyMemory(from: address.baseAddress!, byteCount: count)
        store.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
        store.storeBytes(of: UInt8(ascii: "\""), toByteOffset: count + 1, as: UInt8.self)
        names.store = UnsafeRawBufferPointer(start: store + 1, count: count)
        resolved.store = ResolvedDispatch.unknownStore
    }

    /// A dispatch was parsed that did not match; true if it is kept from now on. `id`, `key` and `payload` are their places in
    /// the line, empty or nil if they are absent.
    mutating func meet(
        _ line: UnsafeRawBufferPointer, _ names: RequestReader.Names, id: UnsafeRawBufferPointer,
        key: UnsafeRawBufferPointer?, payload: UnsafeRawBufferPointer
    ) -> Bool {
        misses &+= 1
        guard misses % Self.missesPerTemplate == 1, let start = line.baseAddress else { return false }
        var gaps = Gaps(in: start)
        gaps.add(.id, id)
        gaps.add(.payload, payload)
        if let key { gaps.add(.key, key, margin: 1) }
        if names.present.contains(.store) { gaps.add(.store, names.store, margin: 1) }
        guard line.count - gaps.length(before: line.count) <= Self.longest,
            names.store.count <= Self.longestStore
        else { return false }
        forget()
        var (place, kept) = (0, text)
        for number in 0...gaps.count {
            let gap = number < gaps.count ? gaps[number] : (.none, line.count, line.count)
            let count = gap.lower - place
            kept.copyMemory(from: start + place, byteCount: count)
            pieces[number] = Piece(length: Int32(count), gap: gap.kind)
            kept += count
            place = gap.upper
        }
        pieceCount = gaps.count + 1
        self.names = names.moved { name in
            guard let place = name.baseAddress.map({ $0 - start }) else { return name }
            return UnsafeRawBufferPointer(
                start: text + (place - gaps.length(before: place)), count: name.count)
        }
        if names.present.contains(.store) { keep(store: names.store) }
        return true
    }

    /// The gaps of a line in their order, by their offsets in it.
    private struct Gaps {
        typealias Place = (kind: Gap, lower: Int, upper: Int)

        private let start: UnsafeRawPointer
        private(set) var count = 0
        private var places: (Place, Place, Place, Place)

        init(in start: UnsafeRawPointer) {
            self.start = start
            let nothing: Place = (.none, 0, 0)
            places = (nothing, nothing, nothing, nothing)
        }

        /// - Parameter margin: Bytes beside them that belong to the gap: quotes.
        mutating func add(_ kind: Gap, _ bytes: UnsafeRawBufferPointer, margin: Int = 0) {
            guard let first = bytes.baseAddress, bytes.count + margin > 0 else { return }
            let lower = first - start - margin
            var number = count
            while number > 0, self[number - 1].lower > lower {
                self[number] = self[number - 1]
                number -= 1
            }
            self[number] = (kind, lower, lower + bytes.count + 2 * margin)
            count += 1
        }

        subscript(_ number: Int) -> Place {
            get {
                switch number {
                case 0: places.0
                case 1: places.1
                case 2: places.2
                default: places.3
                }
            }
            set {
                switch number {
                case 0: places.0 = newValue
                case 1: places.1 = newValue
                case 2: places.2 = newValue
                default: places.3 = newValue
                }
            }
        }

        /// How many bytes of gaps stand before a place in the line.
        func length(before place: Int) -> Int {
            var length = 0
            for number in 0..<count where self[number].upper <= place {
                length += self[number].upper - self[number].lower
            }
            return length
        }
    }
}

/// What the names of a dispatch stand for, as numbered by the state machine. The reader only keeps it.
public struct ResolvedDispatch: Sendable {
    public let type: Int32
    public let action: Int32
    /// -1 for all stores of the type.
    public package(set) var store: Int32
    /// The definition of the type, and the state of all names when they were resolved: it is
    /// valid while both are unchanged.
    public let definition: Int
    public let names: Int

    package init(type: Int32, action: Int32, store: Int32, definition: Int, names: Int) {
        (self.type, self.action, self.store) = (type, action, store)
        (self.definition, self.names) = (definition, names)
    }

    /// As `store`: names and action are known, but the store is another one than in the line before.
    package static let unknownStore: Int32 = -2

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
            byteCount: room + RequestTemplate.size, alignment: MemoryLayout<RequestTemplate>.alignment)
        let made = block.bindMemory(to: RequestTemplate.self, capacity: 1)
        made.initialize(to: RequestTemplate(block + room))
        template = made
        return made
    }
}
