/// A dispatch as its sender writes it, of one action or a few, so that the next one like it is recognised.
///
/// The dispatches of a client are alike except for the `id`, the stores, the key and the contents of the payloads. So all other
/// bytes of one are kept, with what was parsed from them. A line that has the same bytes, and between them a valid value of each
/// kind, means the same, whatever its names, their order and its white space: parsing all of it again would give the same. Any
/// other line is parsed the general way, also one that matches up to a mistake, so that errors are always those of the general
/// way.
@usableFromInline
struct RequestTemplate {
    /// The kinds of gaps between the bytes that are the same.
    enum Gap: UInt8 {
        case none, id, store, key, payload
        /// Without any bytes: where the actions of a batch begin and end.
        case batch, batchEnd
        /// In an action of a batch.
        case target, actionPayload
    }

    /// Bytes that are the same, and the gap behind them.
    struct Piece {
        let length: Int16
        let gap: Gap
        /// The action of a batch in which the gap is.
        let action: UInt8
    }

    /// What is the same each time of an action in a batch.
    struct Action {
        let isStore: Bool
        let hasPayload: Bool
        /// A type; stores are gaps.
        let target: RequestReader.Text
        let name: RequestReader.Text
        /// What the names stand for, once they were resolved; its store is without meaning.
        var resolved = ResolvedDispatch()
    }

    /// How many bytes are kept of a line at most. Names of ordinary length leave room.
    static let longest = 256
    /// How many bytes of a store's address are kept.
    static let longestStore = 128
    /// Batches of more actions are not kept.
    static let mostActions = 4
    /// Gaps of each kind, those of all actions, and the bytes behind the last.
    static let mostPieces = 7 + 2 * mostActions
    /// The members that are the same each time, whose bytes lie among those kept; and the store of the line before.
    private(set) var names = RequestReader.Names()
    /// What the names stand for, once they were resolved.
    @usableFromInline var resolved = ResolvedDispatch()
    /// The limits it was kept under, as the reader counts them.
    var generation = 0

    /// Without any nothing is kept.
    private(set) var pieceCount = 0
    let pieces: UnsafeMutablePointer<Piece>
    /// None where the line is no batch.
    private(set) var actionCount = 0
    let actions: UnsafeMutablePointer<Action>
    /// The bytes of the pieces, one after the other.
    let text: UnsafeMutableRawPointer
    private let store: UnsafeMutableRawPointer

    /// The templates of a sender form a ring; alone, it is its own neighbour.
    var next: UnsafeMutablePointer<RequestTemplate>
    /// The one that matched the line after the last that this one matched: most programs repeat themselves.
    var follower: UnsafeMutablePointer<RequestTemplate>
    /// Whether it matched since its sender last looked for one to replace.
    var isUsed = false

    /// - Parameters:
    ///   - place: Where it will stand.
    ///   - room: For actions, pieces and bytes, `size` bytes of it, aligned as actions are.
    init(at place: UnsafeMutablePointer<RequestTemplate>, _ room: UnsafeMutableRawPointer) {
        (next, follower) = (place, place)
        actions = room.bindMemory(to: Action.self, capacity: Self.mostActions)
        let behind = room + Self.mostActions * MemoryLayout<Action>.stride
        pieces = behind.bindMemory(to: Piece.self, capacity: Self.mostPieces)
        text = behind + Self.mostPieces * MemoryLayout<Piece>.stride
        store = text + Self.longest
    }

    static var size: Int {
        mostActions * MemoryLayout<Action>.stride + mostPieces * MemoryLayout<Piece>.stride + longest
            + longestStore + 2
    }

    var isKept: Bool { pieceCount > 0 }

    mutating func forget() {
        (pieceCount, actionCount) = (0, 0)
        resolved = ResolvedDispatch()
    }

    /// The store of the line before, with its quotes.
    var quotedStore: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: store, count: names.store.count + 2)
    }

    /// This line names another store than the one before; what it stands for has to be found out.
    @inline(__always)
    mutating func keep(store address: UnsafeRawBufferPointer) {
        let count = address.count
        precondition(count <= Self.longestStore, "The scanner takes no text that is as long.")
        store.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
        (store + 1).copyMemory(from: address.baseAddress!, byteCount: count)
        store.storeBytes(of: UInt8(ascii: "\""), toByteOffset: count + 1, as: UInt8.self)
        names.store = UnsafeRawBufferPointer(start: store + 1, count: count)
        resolved.store = ResolvedDispatch.unknownStore
        resolved.digest = nil
    }

    /// Keeps a dispatch that was parsed in place of the one before; false, and nothing happens, for one that is too long. `id`,
    /// `key` and `payload` are their places in the line, empty or nil if they are absent.
    mutating func keep(
        _ line: UnsafeRawBufferPointer, _ names: RequestReader.Names, id: UnsafeRawBufferPointer,
        key: UnsafeRawBufferPointer?, payload: UnsafeRawBufferPointer, _ batch: RequestBatch
    ) -> Bool {
        guard let start = line.baseAddress, batch.count <= Self.mostActions else { return false }
        return withUnsafeTemporaryAllocation(of: Gaps.Place.self, capacity: Self.mostPieces - 1) { room in
            var gaps = Gaps(in: start, room)
            gaps.add(.id, id)
            gaps.add(.payload, payload)
            if let key { gaps.add(.key, key, margin: 1) }
            if names.present.contains(.store) { gaps.add(.store, names.store, margin: 1) }
            gaps.add(batch)
            return keep(line, names, gaps, batch)
        }
    }

    private mutating func keep(
        _ line: UnsafeRawBufferPointer, _ names: RequestReader.Names, _ gaps: Gaps, _ batch: RequestBatch
    ) -> Bool {
        guard line.count - gaps.length(before: line.count) <= Self.longest,
            names.store.count <= Self.longestStore, let start = line.baseAddress
        else { return false }
        forget()
        var (place, kept) = (0, text)
        for number in 0...gaps.count {
            let gap =
                number < gaps.count
                ? gaps[number] : Gaps.Place(kind: .none, action: 0, lower: line.count, upper: line.count)
            let count = gap.lower - place
            kept.copyMemory(from: start + place, byteCount: count)
            pieces[number] = Piece(length: Int16(count), gap: gap.kind, action: gap.action)
            kept += count
            place = gap.upper
        }
        pieceCount = gaps.count + 1
        func moved(_ name: RequestReader.Text) -> RequestReader.Text {
            guard let place = name.baseAddress.map({ $0 - start }) else { return name }
            return UnsafeRawBufferPointer(
                start: text + (place - gaps.length(before: place)), count: name.count)
        }
        self.names = names.moved(moved)
        if names.present.contains(.store) { keep(store: names.store) }
        actionCount = batch.count
        for number in 0..<batch.count {
            let element = batch.elements.baseAddress! + number
            let (isStore, target) = (element.pointee.isStore, element.pointee.target)
            (actions + number).initialize(
                to: Action(
                    isStore: isStore, hasPayload: element.pointee.payloadText.baseAddress != nil,
                    target: isStore ? RequestReader.Text(start: nil, count: 0) : moved(target),
                    name: moved(element.pointee.action)))
        }
        return true
    }

    /// The gaps of a line in their order, by their offsets in it.
    private struct Gaps {
        struct Place {
            let kind: Gap
            let action: UInt8
            let lower: Int
            let upper: Int
        }

        private let start: UnsafeRawPointer
        private let places: UnsafeMutableBufferPointer<Place>
        private(set) var count = 0

        /// - Parameter room: For as many gaps as there can be.
        init(in start: UnsafeRawPointer, _ room: UnsafeMutableBufferPointer<Place>) {
            self.start = start
            places = room
        }

        /// - Parameter margin: Bytes beside them that belong to the gap: quotes.
        mutating func add(_ kind: Gap, _ bytes: UnsafeRawBufferPointer, margin: Int = 0, action: Int = 0) {
            guard let first = bytes.baseAddress, bytes.count + margin > 0 else { return }
            let lower = first - start - margin
            add(
                Place(
                    kind: kind, action: UInt8(action), lower: lower, upper: lower + bytes.count + 2 * margin))
        }

        /// Those of all actions of a batch, and where it begins and ends.
        mutating func add(_ batch: RequestBatch) {
            guard !batch.isEmpty, let first = batch.text.baseAddress else { return }
            let (lower, upper) = (first - start, first - start + batch.text.count)
            add(Place(kind: .batch, action: 0, lower: lower, upper: lower))
            add(Place(kind: .batchEnd, action: 0, lower: upper, upper: upper))
            for number in 0..<batch.count {
                let element = batch.elements.baseAddress! + number
                if element.pointee.isStore {
                    add(.target, element.pointee.target, margin: 1, action: number)
                }
                add(.actionPayload, element.pointee.payloadText, action: number)
            }
        }

        private mutating func add(_ place: Place) {
            var number = count
            while number > 0, places[number - 1].lower > place.lower {
                places[number] = places[number - 1]
                number -= 1
            }
            places[number] = place
            count += 1
        }

        subscript(_ number: Int) -> Place { places[number] }

        /// How many bytes of gaps stand before a place in the line.
        func length(before place: Int) -> Int {
            var length = 0
            for number in 0..<count where places[number].upper <= place {
                length += places[number].upper - places[number].lower
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
    /// The definition of the type, and the state of all names when they were resolved: they are
    /// valid while both are unchanged.
    public let definition: Int
    public let names: Int
    /// The names' part of the request's digest, if it was needed.
    package var digest: DigestHead?

    package init(type: Int32, action: Int32, store: Int32, definition: Int, names: Int) {
        (self.type, self.action, self.store) = (type, action, store)
        (self.definition, self.names) = (definition, names)
    }

    /// As `store`: names and action are known, but the store is another one than in the line before.
    package static let unknownStore: Int32 = -2

    /// The beginning of a text, digested as far as it makes whole words.
    package struct DigestHead: Sendable {
        package let first: UInt64
        package let second: UInt64
        /// The bytes behind the last whole word, the first lowest.
        package let tail: UInt64
        package let count: Int

        package init(first: UInt64, second: UInt64, tail: UInt64, count: Int) {
            (self.first, self.second, self.tail, self.count) = (first, second, tail, count)
        }
    }

    /// Nothing is resolved.
    init() { self.init(type: -1, action: -1, store: -1, definition: -1, names: -1) }
}
