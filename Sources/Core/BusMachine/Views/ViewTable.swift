import BusJSON
import BusLogic
import BusState

/// The views of a bus, and what the commit being made does to their stores.
final class ViewTable {
    /// In an order in which each comes after those that it reads.
    @exclusivity(unchecked) var views: [ViewIndex] = []
    /// Whether definitions have changed since the views were put together.
    @exclusivity(unchecked) var isStale = false

    /// The stores of views that the commit makes and drops.
    @exclusivity(unchecked) var created: [Int32] = []
    @exclusivity(unchecked) var dropped: [Int32] = []
    /// What the commit has done to sources, in order.
    @exclusivity(unchecked) var changes: [SourceChange] = []
    /// For each written source what it means to each reader of its type.
    @exclusivity(unchecked) var masks: [UInt64] = []

    /// Whether a commit has anything to do for them.
    var isNeeded: Bool { isStale || !views.isEmpty }
    var bytes: Int { views.reduce(0) { $0 + $1.bytes } }
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

/// The views that read a type.
final class ViewReaders {
    /// Their places among all views.
    let places: [Int]
    private let views: [ViewIndex]
    /// What writes to paths of the type mean to each view, as far as it was asked. Paths of types live as long as they do.
    @exclusivity(unchecked) private var known: [(path: UnsafeRawPointer, isRead: Bool, masks: [UInt64])] = []
    private static let mostKnown = 64

    init(_ places: [Int], _ views: [ViewIndex]) {
        self.places = places
        self.views = views
    }

    /// Whether a write means anything to one of the views.
    @inline(__always)
    func reads(_ record: UnsafePointer<UndoLog.Record>) -> Bool {
        if let path = record.pointee.pathOfType { return known[place(of: path, record)].isRead }
        return masks(of: record.pointee.path[0]).contains { $0 != 0 }
    }

    /// Adds what a write means to each view.
    func note(_ record: UnsafePointer<UndoLog.Record>, to masks: inout [UInt64], from start: Int) {
        let found =
            record.pointee.pathOfType.map { known[place(of: $0, record)].masks }
            ?? self.masks(of: record.pointee.path[0])
        for index in found.indices { masks[start + index] |= found[index] }
    }

    /// The place of a path of the type among those that are known.
    @inline(__always)
    private func place(of path: UnsafeRawPointer, _ record: UnsafePointer<UndoLog.Record>) -> Int {
        for index in 0..<known.count where known[index].path == path { return index }
        return remember(path, record)
    }

    @inline(never)
    private func remember(_ path: UnsafeRawPointer, _ record: UnsafePointer<UndoLog.Record>) -> Int {
        let found = masks(of: record.pointee.path[0])
        if known.count == Self.mostKnown { known.removeFirst() }
        known.append((path, found.contains { $0 != 0 }, found))
        return known.count - 1
    }

    /// What a change of a member means to each view: nothing, where the view does not read it.
    private func masks(of name: String) -> [UInt64] {
        views.map { $0.rules.bits(of: name) & $0.rules.allReads }
    }
}
