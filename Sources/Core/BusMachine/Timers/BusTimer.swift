import BusJSON
import BusProtocol

/// What a timer belongs to: a store, or a type, whose stores its action will reach.
package enum TimerOwner: Hashable {
    /// A store, by its index.
    case store(Int32)
    /// A type by its name; `*` for every type that declares the action.
    case type(String)
}

/// Something that is due at a time: an action of a timer, or the end of a store's lease.
///
/// It belongs to one table and one owner, and stands in the table's heap.
package final class BusTimer {
    /// What happens when it is due.
    package enum Purpose {
        /// An action is dispatched, on behalf of who asked for it.
        case action(String, payload: JSONObject, by: Principal)
        /// The store is dropped, unless it was touched: after so many milliseconds without.
        case lease(Int)
    }

    package let owner: TimerOwner
    /// Empty for a lease.
    package let name: String
    package let purpose: Purpose
    /// In milliseconds since 1970. Of a lease: when the store was touched last, and the length of the lease later.
    package internal(set) var due: Int
    /// After how many milliseconds it is due again, and so on; nil: it is due once.
    package let every: Int?
    /// Whether a request has set it: the client knows all that it tells. One that an action or a type has set may come from a
    /// state that is hidden from the client. Always false of timers that were set before `BusLimits.rulesOfCopies`.
    package let isRequested: Bool
    /// Distinguishes timers that are due at the same time: the one set first fires first.
    package internal(set) var order = 0
    /// What it counts as in the memory of the bus.
    package let size: Int

    // Where it stands: in the table, in the heap, and in the list of its owner's.
    var slot: Int32 = -1
    var place: Int32 = -1
    var next: Int32 = -1

    init(
        owner: TimerOwner, name: String, due: Int, every: Int? = nil, isRequested: Bool = false,
        _ purpose: Purpose
    ) {
        self.owner = owner
        self.name = name
        self.due = due
        self.every = every
        self.isRequested = isRequested
        self.purpose = purpose
        size =
            if case .action(_, let payload, _) = purpose { Self.size(of: payload) } else {
                BusLimits.timerOverhead
            }
    }

    /// What a timer with this payload counts as in the memory of the bus.
    static func size(of payload: JSONObject) -> Int { BusLimits.timerOverhead + payload.encodedSize }

    /// Whether it stands in the table.
    package var isSet: Bool { slot >= 0 }

    /// The length of the lease; nil for a timer with an action.
    package var lease: Int? { if case .lease(let length) = purpose { length } else { nil } }
}
