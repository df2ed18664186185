import BusJSON
import BusLogic
import BusState

/// The views of a bus, and what the commit being made does to their stores.
final class ViewTable {
    /// The views, each after those that it reads, and then the indexes.
    @exclusivity(unchecked) var readers: [SourceReader] = []
    /// How many expressions the views have.
    @exclusivity(unchecked) private(set) var expressions = 0
    /// Whether definitions have changed since the views were put together.
    @exclusivity(unchecked) var isStale = false

    /// The stores of views that the commit makes and drops.
    @exclusivity(unchecked) var created: [Int32] = []
    @exclusivity(unchecked) var dropped: [Int32] = []
    /// What the commit has done to sources, in order.
    let changes = Stack<SourceChange>()
    /// For each written source what it means to each reader of its type.
    let masks = Stack<UInt64>()

    /// Whether a member is read beside views and indexes, by the index of its type; nil: none is.
    @exclusivity(unchecked) var isReadElsewhere: ((_ type: Int32, _ member: String) -> Bool)?
    /// Paths of types that were written to and that nothing reads. They live as long as their types.
    let unread = PathSet()

    /// Whether a commit has anything to do for them.
    var isNeeded: Bool { isStale || !readers.isEmpty }
    var bytes: Int { readers.reduce(0) { $0 + $1.bytes } }

    /// What a change means to the reader at a place among those of its type; 0 if that evaluates nothing.
    @inline(__always)
    func mask(of change: SourceChange, at column: Int) -> UInt64 {
        switch change.kind {
        case .written(let masks): self.masks[masks + column]
        case .created, .replaced: ViewRules.anything
        case .dropped: 0
        }
    }

    func countExpressions() { expressions = readers.reduce(0) { $0 + $1.expressions } }
}

/// What a commit does to a source.
struct SourceChange {
    enum Kind {
        /// `masks` has from this place on what it means to each of the type's readers.
        case written(masks: Int)
        case created
        case replaced(JSONObject)
        case dropped
    }

    let store: Int32
    let type: Int32
    let kind: Kind
}

/// The views and indexes that read a type.
final class ViewReaders {
    /// Their places among all of them.
    let places: [Int]
    private let readers: [SourceReader]
    /// What writes to members of the type mean to each view, as far as it was asked.
    @exclusivity(unchecked) private var known: [(path: UnsafeRawPointer, masks: [UInt64])] = []
    private static let mostKnown = 64

    init(_ places: [Int], _ readers: [SourceReader]) {
        self.places = places
        self.readers = readers
    }

    /// Lends what a write means to each view.
    @inline(__always)
    func withMasks(of record: UnsafePointer<UndoLog.Record>, _ body: ([UInt64]) -> Void) {
        guard let path = record.pointee.pathOfType else { return body(masks(of: record.pointee.path[0])) }
        for index in known.indices where known[index].path == path { return body(known[index].masks) }
        let found = masks(of: record.pointee.path[0])
        if known.count == Self.mostKnown { known.removeFirst() }
        known.append((path, found))
        body(found)
    }

    /// What a change of a member means to each view: nothing, where the view does not read it.
    private func masks(of name: String) -> [UInt64] {
        readers.map { $0.bits(of: name) }
    }
}
