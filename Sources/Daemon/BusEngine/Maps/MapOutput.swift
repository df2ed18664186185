import BusJSON

/// What the owner of the engine does about maps. They have numbers, none of which is used twice.
package enum MapOutput {
    /// A map of a type is to be made, with these states in it and of so many bytes at most; `mapMade` or `mapFailed` says what came of
    /// it.
    case make(Int, type: String, MapChanges, room: Int)
    /// States are to be published. If that fails, `mapFailed` says so.
    case publish(Int, MapChanges)
    /// Readers are to be told that there may be another one. `mapGone` says when none of them has the file any more.
    case end(Int)
    /// A reply that brings a map is to be sent to a connection: `nextMap(of:)` says when.
    case give(ConnectionID)

    /// The map that it is about.
    var number: Int? {
        switch self {
        case .make(let number, _, _, _), .publish(let number, _), .end(let number): number
        case .give: nil
        }
    }
}

/// States of stores that have become durable, and the names of those that were dropped.
package final class MapChanges {
    private struct Change {
        let name: Range<Int>
        let state: Range<Int>?
        let revision: Int
    }

    let bytes = ByteWriter()
    private var changes: [Change] = []

    package var count: Int { changes.count }

    /// How long the name and the state of each store are, in bytes.
    package var lengths: some Sequence<(name: Int, state: Int)> {
        changes.lazy.map { ($0.name.count, $0.state?.count ?? 0) }
    }

    /// Adds the state of a store; nil: it was dropped.
    func add(_ name: String, _ state: JSONObject?, at revision: Int) {
        let start = bytes.count
        bytes.append(raw: name)
        let end = bytes.count
        if let state { bytes.append(jsonObject: state) }
        changes.append(
            Change(name: start..<end, state: state.map { _ in end..<bytes.count }, revision: revision))
    }

    /// Passes each state, as `get` gives it, and the revision at which it came to be; nil: the store was dropped.
    package func forEach<Failure>(
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer?, _ revision: Int) throws(Failure) -> Void
    ) throws(Failure) {
        let all = bytes.bytes
        for change in changes {
            try body(
                UnsafeRawBufferPointer(rebasing: all[change.name]),
                change.state.map { UnsafeRawBufferPointer(rebasing: all[$0]) }, change.revision)
        }
    }
}
