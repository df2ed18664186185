import BusJSON
import BusProtocol

/// A page of the timers whose stores or types match a pattern, in the order in which they are due.
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

    private let machine: StateMachine
    private let pattern: AddressPattern
    private let after: Place?
    private let limit: Int
    private var found: [(place: Place, timer: BusTimer)] = []
    private var hasMore = false

    /// Nil where `after` is not what a page before gave as `next`.
    package init?(_ machine: StateMachine, _ pattern: AddressPattern, after: String?, limit: Int) {
        self.machine = machine
        self.pattern = pattern
        self.limit = limit
        guard let after else {
            self.after = nil
            return
        }
        let parts = after.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let due = Int(parts[0]) else { return nil }
        self.after = Place(due: due, owner: parts[1], name: parts[2])
    }

    /// Looks through all timers, and keeps no more than twice what the page shows.
    package func gather(where isShown: (BusTimer) -> Bool) {
        machine.timers.forEach { timer in
            guard timer.lease == nil, after.map({ $0.due <= timer.due }) ?? true, matches(timer.owner),
                isShown(timer)
            else {
                return
            }
            let place = Place(due: timer.due, owner: machine.name(of: timer.owner), name: timer.name)
            if let after, !after.precedes(place) { return }
            found.append((place, timer))
            if found.count > 2 * limit { cut() }
        }
        cut()
    }

    private func cut() {
        found.sort { $0.place.precedes($1.place) }
        guard found.count > limit else { return }
        found.removeLast(found.count - limit)
        hasMore = true
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
    package func append(to writer: ByteWriter, room: Int) -> Bool {
        writer.append(",\"revision\":")
        writer.append(decimal: machine.revision)
        writer.append(",\"timers\":[")
        for (index, entry) in found.enumerated() {
            if index > 0 { writer.append(UInt8(ascii: ",")) }
            machine.append(entry.timer, by: true, to: writer)
            if writer.count > room { return false }
        }
        writer.append("]")
        if hasMore, let last = found.last?.place {
            writer.append(",\"next\":")
            writer.append(quoted: "\(last.due) \(last.owner) \(last.name)")
        }
        return writer.count <= room
    }
}
