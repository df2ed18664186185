import BusJSON
import BusLogic
import BusProtocol
import BusState

/// A `get` or `stores` under way: it searches for the stores that match, as many as the caller allows at a time, then
/// answers with their states at that moment.
///
/// Between two steps stores may be created and dropped: the caller notifies the pending queries of each. So the answer
/// is what it would have been in one step at the revision that it names.
package final class StoreQuery {
    /// What a step of the search has done, for callers that count it.
    package enum Step {
        /// Searched this many types.
        case types(Int)
        /// Put a store in its place in the order of names.
        case ordered
        /// Looked at a store, with a pattern of this many bytes.
        case looked(Int)
        /// Held a store against an expression, which took this many operations.
        case tested(Int)
    }

    private let machine: StateMachine
    private let selection: StoreSelection
    /// The prefix of all names that match.
    private let prefix: String
    /// What an expression sees as `meta`: of the moment at which the search begins.
    private let meta: JSON
    /// How many bytes an answer may have: a query that has found more need not search on.
    private let room: Int

    /// The types that match, in the order of their addresses, and the one being searched.
    private var types: [Int32] = []
    private var type = 0
    /// The last name that was looked at in that type.
    private var lastName: String?
    /// The stores that match, in order, and how many bytes they will take at least.
    private var found: ContiguousArray<Int32> = []
    private var bytes = 0
    /// There are more than were requested.
    private var hasMore = false
    /// Stores that have changed since the search began, where an expression says which are meant.
    private var changed: Set<Int32> = []

    /// Types whose stores are not shown.
    private let hidden: Set<Int32>

    /// Throws if a store, or a type that is named without wildcards, does not exist.
    package init(
        _ selection: StoreSelection, but hidden: [TypeEntry] = [], in machine: StateMachine, room: Int
    ) throws(RequestError) {
        self.hidden = Set(hidden.map(\.index))
        self.selection = selection
        self.machine = machine
        self.room = room
        meta = ["time": .double(Double(machine.time) / 1000), "revision": .int(machine.revision)]
        prefix = String(decoding: selection.pattern.name.literalPrefix, as: UTF8.self)
        if let required = selection.required {
            guard machine.find(required) != nil else { throw machine.absence(of: required) }
        } else if case .states = selection.answer {
            try machine.requireTypes(of: selection.pattern)
        }
    }

    /// How many stores have been found so far, and what is kept of those that have changed meanwhile, in as much room.
    package var count: Int { found.count + 4 * changed.count }

    /// Starts again, because all stores have been replaced.
    package func restart() {
        types = []
        type = 0
        lastName = nil
        found = []
        bytes = 0
        hasMore = false
        changed = []
    }

    // MARK: Search

    /// Searches for stores while `mayGoOn`, which is called with each step; true when all that match, or as many
    /// as were requested, are found.
    package func advance(_ mayGoOn: (Step) -> Bool) -> Bool {
        while true {
            guard search(mayGoOn) else { return false }
            guard let store = changed.popFirst() else { return true }
            // However little is allowed, one is looked at.
            if lookAgain(at: store, mayGoOn) { continue }
            return false
        }
    }

    private func search(_ mayGoOn: (Step) -> Bool) -> Bool {
        if let address = selection.pattern.literalAddress {
            if let after = selection.after, !UTF8Order.precedes(after, address) { return true }
            if found.isEmpty, let index = machine.find(address), shows(index), isMeant(index, mayGoOn).isMeant
            {
                take(index)
            }
            return true
        }
        if types.isEmpty {
            // The slash sorts before all that may follow a type's name but the hyphen.
            types = machine.types
                .filter { selection.pattern.type.matches($0.name) && !hidden.contains($0.index) }
                .sorted { UTF8Order.precedes($0.name + "/", $1.name + "/") }.map(\.index)
            _ = mayGoOn(.types(machine.types.count))
        }
        while type < types.count {
            let entry = machine.types[Int(types[type])]
            let indexed = entry.lookUp(selection.filter)
            guard indexed != nil || order(entry, mayGoOn), look(through: entry, indexed, mayGoOn) else {
                return false
            }
            if hasMore { return true }
            type += 1
            lastName = nil
        }
        return true
    }

    /// Whether the expression says that a store is meant, and whether the search may go on.
    private func isMeant(_ index: Int32, _ mayGoOn: (Step) -> Bool) -> (isMeant: Bool, mayGoOn: Bool) {
        guard let filter = selection.filter else { return (true, true) }
        var operations = 0
        let isMeant = machine.matches(index, filter, seenAs: visibility(of: index), meta, &operations)
        return (isMeant, mayGoOn(.tested(operations)))
    }

    /// Puts the stores of a type in the order of their names; false if that must not continue to the end.
    private func order(_ entry: TypeEntry, _ mayGoOn: (Step) -> Bool) -> Bool {
        entry.ordered.prepare(entry.members)
        entry.ordered.putInPlace { mayGoOn(.ordered) }
        return entry.ordered.isComplete
    }

    /// Searches the stores of one type, or those of them that an index has; false if it must not continue to the end.
    private func look(
        through entry: TypeEntry, _ indexed: (index: MemberIndex, found: MemberIndex.Found)?,
        _ mayGoOn: (Step) -> Bool
    ) -> Bool {
        guard let start = start(in: entry) else { return true }
        let step = Step.looked(selection.pattern.name.pattern.count)
        let seen = lastName
        var isDone = true
        // However little is allowed, the search advances by one store.
        var mayLook = true
        func visit(_ index: Int32) -> Bool {
            let name = machine.stores.pointer(index).pointee.name
            guard prefix.isEmpty || name.utf8.starts(with: prefix.utf8) else { return false }
            if let seen, !UTF8Order.precedes(seen, name) { return true }
            guard mayLook else {
                isDone = false
                return false
            }
            mayLook = mayGoOn(step)
            lastName = name
            // A page ends where one more follows that is shown: what is not shown is not there.
            guard isBehind(name, entry), selection.pattern.name.isAny || selection.pattern.name.matches(name),
                shows(index)
            else { return true }
            let (isMeant, isAllowed) = isMeant(index, mayGoOn)
            if !isAllowed { mayLook = false }
            if !isMeant { return true }
            if found.count == selection.limit || bytes > room {
                hasMore = true
                return false
            }
            take(index)
            return true
        }
        if let (index, found) = indexed {
            index.forEach(of: found, from: start, in: machine.stores, visit)
        } else {
            _ = entry.ordered.forEach(from: start, visit)
        }
        return isDone
    }

    /// Where to begin in a type: after the last name seen, and where names begin like the pattern; nil: not at all.
    private func start(in entry: TypeEntry) -> String? {
        var start = lastName ?? prefix
        if let after = selection.after {
            let own = entry.name + "/"
            if after.utf8.starts(with: own.utf8) {
                let name = String(after.dropFirst(own.count))
                if UTF8Order.precedes(start, name) { start = name }
            } else if UTF8Order.precedes(own, after) {
                return nil
            }
        }
        return start
    }

    private func isBehind(_ name: String, _ entry: TypeEntry) -> Bool {
        guard let after = selection.after else { return true }
        return UTF8Order.precedes(after, "\(entry.name)/\(name)")
    }

    private func shows(_ index: Int32) -> Bool {
        if case .nothing = visibility(of: index) { return false }
        return true
    }

    private func visibility(of index: Int32) -> Grants.Visibility {
        selection.view?.visibility(of: index, in: machine) ?? .whole
    }

    /// What of a store's state is in the answer.
    private func shown(_ index: Int32, _ selected: Selection?) -> JSONObject {
        let state = machine.state(of: index, seenAs: visibility(of: index))
        return selected?.project(state) ?? state
    }

    private func take(_ index: Int32) {
        found.append(index)
        bytes += size(of: index)
    }

    /// What a store takes on the line, at least.
    private func size(of index: Int32) -> Int {
        let record = machine.stores.pointer(index)
        let address =
            machine.types[Int(record.pointee.type)].name.utf8.count + record.pointee.name.utf8.count + 5
        guard case .states(nil) = selection.answer else { return address }
        // The size of what is not shown must not decide where a page ends.
        if case .parts = visibility(of: index) { return address }
        return address + Int(record.pointee.size)
    }

    // MARK: Changes meanwhile

    /// A store has been created: a query that has passed its place adds it. Returns how many stores were looked at.
    package func noteCreated(_ index: Int32) -> Int {
        let record = machine.stores.pointer(index)
        let entry = machine.types[Int(record.pointee.type)]
        guard let place = types.firstIndex(of: entry.index), place <= type,
            isBehind(record.pointee.name, entry), selection.pattern.name.matches(record.pointee.name),
            shows(index)
        else { return 1 }
        if place == type {
            // There may have been another of the name that was looked at last.
            guard let lastName, !UTF8Order.precedes(lastName, record.pointee.name) else { return 1 }
        }
        if selection.filter != nil {
            changed.insert(index)
            return 1
        }
        return 1 + insert(index)
    }

    /// Puts a store that has been passed in its place. Returns how many stores were looked at.
    private func insert(_ index: Int32) -> Int {
        let address = machine.address(of: Int(index))
        var (position, end, looked) = (0, found.count, 0)
        while position < end {
            let middle = (position + end) / 2
            if UTF8Order.precedes(address, machine.address(of: Int(found[middle]))) {
                end = middle
            } else {
                position = middle + 1
            }
            looked += 1
        }
        found.insert(index, at: position)
        bytes += size(of: index)
        if found.count > selection.limit { dropLast() }
        return looked
    }

    /// Whether what has been found depends on the states of stores.
    package var followsChanges: Bool { selection.filter != nil }

    /// A store has changed: whether it is meant is looked at again when all others are found.
    package func noteChanged(_ index: Int32) { changed.insert(index) }

    /// Looks again at a store that has changed; false if the search may not go on.
    private func lookAgain(at index: Int32, _ mayGoOn: (Step) -> Bool) -> Bool {
        let record = machine.stores.pointer(index)
        let entry = machine.types[Int(record.pointee.type)]
        guard isBehind(record.pointee.name, entry), selection.pattern.type.matches(entry.name),
            selection.pattern.name.matches(record.pointee.name), shows(index)
        else { return mayGoOn(.looked(selection.pattern.name.pattern.count)) }
        let (isMeant, isAllowed) = isMeant(index, mayGoOn)
        if found.contains(index) {
            if !isMeant { remove(index) }
        } else if hasMore, !isBeforeLast(index) {
            // It may have been the one that follows.
            lookAgain()
        } else if isMeant {
            _ = insert(index)
        }
        return isAllowed
    }

    /// Whether a store comes before the last one that was found: where more follow, those behind it come with the next page.
    private func isBeforeLast(_ index: Int32) -> Bool {
        found.last.map {
            UTF8Order.precedes(machine.address(of: Int(index)), machine.address(of: Int($0)))
        } ?? true
    }

    /// There are now more than were requested: the last one comes with the next page.
    private func dropLast() {
        guard let last = found.popLast() else { return }
        bytes -= size(of: last)
        hasMore = true
        // Everything that was requested is found.
        type = types.count
    }

    /// A store is dropped, whose record is still there: a query that has found it removes it.
    package func noteDropped(_ index: Int32) {
        changed.remove(index)
        remove(index)
    }

    private func remove(_ index: Int32) {
        guard let place = found.firstIndex(of: index) else { return }
        bytes -= size(of: index)
        found.remove(at: place)
        // Stores after the last one requested have not been looked at.
        if hasMore, !found.isEmpty { lookAgain() } else if hasMore { restart() }
    }

    /// A page has become too short: the search continues after its last store.
    private func lookAgain() {
        let record = machine.stores.pointer(found.last!)
        guard let place = types.firstIndex(of: record.pointee.type) else { return restart() }
        type = place
        lastName = record.pointee.name
        hasMore = false
    }

    // MARK: The answer

    /// Writes the members of the reply, each behind a comma; false as soon as there is no room for more.
    package func appendAnswer(to writer: ByteWriter) -> Bool {
        switch selection.answer {
        case .states(let selected):
            writer.append(",\"revision\":", decimal: machine.revision)
            writer.append(",\"states\":{")
            for (place, index) in found.enumerated() {
                if place > 0 { writer.append(UInt8(ascii: ",")) }
                writer.append(quoted: machine.address(of: Int(index)))
                writer.append(UInt8(ascii: ":"))
                writer.append(jsonObject: shown(index, selected))
                if writer.count > room { return false }
            }
            writer.append("}")
        case .list:
            writer.append(",\"stores\":[")
            for (place, index) in found.enumerated() {
                let record = machine.stores.pointer(index)
                writer.append(place == 0 ? "{\"store\":" : ",{\"store\":")
                writer.append(quoted: machine.address(of: Int(index)))
                writer.append(",\"revision\":")
                writer.append(
                    decimal: selection.view?.revision(of: index, in: machine) ?? record.pointee.revision)
                writer.append(record.pointee.owner >= 0 ? ",\"ephemeral\":true" : ",\"ephemeral\":false")
                if record.pointee.creator == StoreRecord.view { writer.append(",\"view\":true") }
                machine.appendLease(of: index, to: writer)
                writer.append(UInt8(ascii: "}"))
                if writer.count > room { return false }
            }
            writer.append("]")
        }
        if hasMore, let last = found.last {
            writer.append(",\"next\":", quoted: machine.address(of: Int(last)))
        }
        return writer.count <= room
    }
}
