import BusJSON
import BusLogic
import BusState

/// The views of a bus, and what the commit being made does to their stores.
final class ViewTable {
    /// In an order in which each comes after those that it reads.
    var views: [ViewIndex] = []
    /// Whether definitions have changed since the views were put together.
    var isStale = false

    /// The stores of views that the commit makes and drops.
    var created: [Int32] = []
    var dropped: [Int32] = []
    /// What the commit has done to sources, in order.
    var changes: [SourceChange] = []
    /// For each written source what it means to each reader of its type.
    var masks: [UInt64] = []

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
    private var known: [(path: UnsafeRawPointer, masks: [UInt64])] = []
    private static let mostKnown = 64

    init(_ places: [Int], _ views: [ViewIndex]) {
        self.places = places
        self.views = views
    }

    /// Adds what a write means to each view; `isRead` if it means anything to one.
    func note(
        _ record: UnsafePointer<UndoLog.Record>, to masks: inout [UInt64], from start: Int,
        _ isRead: inout Bool
    ) {
        if let path = record.pointee.pathOfType {
            for index in known.indices where known[index].path == path {
                return Self.note(known[index].masks, to: &masks, from: start, &isRead)
            }
            let found = self.masks(of: record.pointee.path[0])
            if known.count < Self.mostKnown { known.append((path, found)) }
            return Self.note(found, to: &masks, from: start, &isRead)
        }
        Self.note(self.masks(of: record.pointee.path[0]), to: &masks, from: start, &isRead)
    }

    private static func note(
        _ found: [UInt64], to masks: inout [UInt64], from start: Int, _ isRead: inout Bool
    ) {
        for index in found.indices where found[index] != 0 {
            masks[start + index] |= found[index]
            isRead = true
        }
    }

    /// What a change of a member means to each view: nothing, where the view does not read it.
    private func masks(of name: String) -> [UInt64] {
        views.map { $0.rules.bits(of: name) & $0.rules.allReads }
    }
}
