import BusJSON
import BusProtocol

/// A page of the timers whose stores or types match a pattern, in the order in which they are due: they are looked for a few
/// at a time, and the answer is what it would have been in one step at the revision that it names.
///
/// Timers due at one time stand in the order of their addresses and names, and a page begins behind such a place: it
/// can be asked for whatever has fired meanwhile.
package final class TimerList {
    /// Where a timer stands in the list.
    private struct Place {
        let due: Int
        let owner: String
        let name: String

        func precedes(_ other: Place) -> Bool {
            if due != other.due { return due < other.due }
            if !UTF8Order.equal(owner, other.owner) { return UTF8Order.precedes(owner, other.owner) }
            return UTF8Order.precedes(name, other.name)
        }
    }

    /// The longest place as text: a time, an address and a name with what separates them.
    private static let longestPlace = 20 + Names.longestType + Names.longestStore + Names.longestTimer + 3

    /// What a step has done, for callers that count it.
    package enum Step {
        case looked
        /// Brought so many into order.
        case ordered(Int)
    }

    private let machine: StateMachine
    private let pattern: AddressPattern
    private let after: Place?
    private let limit: Int
    private let isShown: (BusTimer) -> Bool
    /// The slot that is looked at next.
    private var slot = 0
    /// The number of the timer that was looked at last among those set meanwhile.
    private var seen = 0
    private var found: [(place: Place, timer: BusTimer)] = []
    private var hasMore = false
    /// The last one of a full page: what comes behind it is not on it.
    private var last: Place?

    /// Nil where `after` is not what a page before gave as `next`.
    package init?(
        _ machine: StateMachine, _ pattern: AddressPattern, after: String?, limit: Int,
        where isShown: @escaping (BusTimer) -> Bool
    ) {
        var place: Place?
        if let after {
            guard after.utf8.count <= Self.longestPlace else { return nil }
            let parts = after.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 3, let due = Int(parts[0]) else { return nil }
            place = Place(due: due, owner: parts[1], name: parts[2])
        }
        self.machine = machine
        self.pattern = pattern
        self.after = place
        self.limit = limit
        self.isShown = isShown
        machine.timers.noteReader(1)
    }

    deinit { machine.timers.noteReader(-1) }

    /// How many are kept: no more than twice what the page shows.
    package var count: Int { found.count }

    /// Begins again, because all timers have been replaced.
    package func restart() {
        (slot, found, hasMore, last) = (0, [], false, nil)
    }

    /// Looks through the timers while `mayGoOn`, which is called with each step; true when the page is there.
    package func advance(_ mayGoOn: (Step) -> Bool) -> Bool {
        if slot == 0 { seen = machine.timers.lastNumber }
        while slot < machine.timers.slotCount {
            if let timer = machine.timers.timer(inSlot: slot) { consider(timer, mayGoOn) }
            slot += 1
            if !mayGoOn(.looked) { return false }
        }
        while let next = machine.timers.firstSet(after: seen) {
            if let timer = machine.timers.timer(inSlot: Int(next.slot)) { consider(timer, mayGoOn) }
            seen = next.number
            if !mayGoOn(.looked) { return false }
        }
        // Some have fired meanwhile.
        found.removeAll { !$0.timer.isSet }
        cut(mayGoOn)
        return true
    }

    private func consider(_ timer: BusTimer, _ mayGoOn: (Step) -> Bool) {
        guard timer.isSet, timer.lease == nil, after.map({ $0.due <= timer.due }) ?? true,
            last.map({ timer.due <= $0.due }) ?? true, matches(timer.owner), isShown(timer)
        else { return }
        let place = Place(due: timer.due, owner: machine.name(of: timer.owner), name: timer.name)
        if let after, !after.precedes(place) { return }
        if let last, last.precedes(place) { return }
        found.append((place, timer))
        if found.count > 2 * limit { cut(mayGoOn) }
    }

    private func cut(_ mayGoOn: (Step) -> Bool) {
        _ = mayGoOn(.ordered(found.count))
        found.sort { $0.place.precedes($1.place) }
        // One that was set meanwhile may have been looked at twice.
        for index in found.indices.dropFirst().reversed() where found[index].timer === found[index - 1].timer
        {
            found.remove(at: index)
        }
        guard found.count > limit else { return }
        found.removeLast(found.count - limit)
        hasMore = true
        last = found.last?.place
    }

    /// A timer of a type is in the list where all stores of the type are.
    private func matches(_ owner: TimerOwner) -> Bool {
        switch owner {
        case .store(let index):
            let record = machine.stores.pointer(index)
            return pattern.type.matches(machine.types[Int(record.pointee.type)].name)
                && pattern.name.matches(record.pointee.name)
        case .type(let name):
            return pattern.name.isAny && (name == "*" ? pattern.type.isAny : pattern.type.matches(name))
        }
    }

    /// Writes the members of the reply, each behind a comma; false as soon as there is no room for more.
    package func appendAnswer(to writer: ByteWriter, room: Int) -> Bool {
        writer.append(",\"revision\":", decimal: machine.revision)
        writer.append(",\"timers\":[")
        for (index, entry) in found.enumerated() {
            if index > 0 { writer.append(UInt8(ascii: ",")) }
            machine.append(entry.timer, by: true, to: writer)
            if writer.count > room { return false }
        }
        writer.append("]")
        // Those up to here were all looked at, whether or not they are still set.
        if hasMore, let last {
            writer.append(",\"next\":", quoted: "\(last.due) \(last.owner) \(last.name)")
        }
        return writer.count <= room
    }
}
