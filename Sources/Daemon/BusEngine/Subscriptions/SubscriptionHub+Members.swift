import BusJSON
import BusMachine
import BusProtocol

/// How far a subscriber group with a pattern has come in the search for its stores. New
/// stores are added to it meanwhile.
struct MemberSearch {
    /// The types that match, and the one being searched.
    var types: [Int32]
    var type = 0
    /// The last name that was looked at in that type.
    var lastName: String?
    /// What all names that match begin with.
    let prefix: String
}

extension SubscriptionHub {
    /// Begins the search for the stores that a group wants.
    func beginSearch(for group: SubscriberGroup) {
        let pattern = group.key.pattern
        let matching = machine.types.filter { pattern.type.matches($0.name) }
        clock.work += machine.types.count * Work.look
        if pattern.name.isLiteral {
            for entry in matching {
                let index = pattern.name.pattern.withUnsafeBytes {
                    machine.stores.find(type: entry.index, name: $0)
                }
                if let index { join(index, in: group) }
            }
            return
        }
        group.search = MemberSearch(
            types: matching.map(\.index),
            prefix: String(decoding: pattern.name.literalPrefix, as: UTF8.self))
        if group.key.actions { searchingActionGroups.append(group) }
    }

    /// Searches for stores that a group wants while `mayGoOn`; true when all are found.
    func search(for group: SubscriberGroup, while mayGoOn: () -> Bool) -> Bool {
        while var search = group.search {
            guard search.type < search.types.count else {
                group.search = nil
                searchingActionGroups.removeAll { $0 === group }
                break
            }
            let entry = machine.types[Int(search.types[search.type])]
            entry.ordered.prepare(entry.members)
            entry.ordered.putInPlace {
                clock.work += Work.ordering
                return mayGoOn()
            }
            guard entry.ordered.isComplete else { return false }
            let isDone = look(through: entry, for: group, &search, while: mayGoOn)
            if isDone {
                search.type += 1
                search.lastName = nil
            }
            group.search = search
            if !isDone { return false }
        }
        return true
    }

    private func look(
        through entry: TypeEntry, for group: SubscriberGroup, _ search: inout MemberSearch,
        while mayGoOn: () -> Bool
    ) -> Bool {
        let cost = Work.look + group.key.pattern.name.pattern.count
        let seen = search.lastName
        let prefix = search.prefix
        var last = seen
        var isDone = true
        entry.ordered.forEach(from: seen ?? prefix) { index in
            let name = machine.stores.pointer(index).pointee.name
            guard prefix.isEmpty || name.utf8.starts(with: prefix.utf8) else { return false }
            if let seen, !UTF8Order.precedes(seen, name) { return true }
            guard mayGoOn() else {
                isDone = false
                return false
            }
            clock.work += cost
            last = name
            if group.key.pattern.name.matches(name) { join(index, in: group) }
            return true
        }
        search.lastName = last
        return isDone
    }

    /// Continues the search for the groups that a connection waits for; false if there is more to do.
    func continueSearching(for connection: Connection) -> Bool {
        while let group = connection.searches.last {
            guard search(for: group, while: { !clock.isSliceUsedUp }) else {
                connection.pause()
                return false
            }
            connection.endSearch()
        }
        return true
    }

    // MARK: Members

    func join(_ index: Int32, in group: SubscriberGroup) {
        if group.key.view != nil {
            let record = machine.stores.pointer(index)
            let (name, type) = (record.pointee.name, machine.types[Int(record.pointee.type)].name)
            guard group.key.shows(name, ofType: type) else { return }
            if !group.key.actions { group.see(group.key.selection(of: name, ofType: type), of: index) }
        }
        guard group.join(index) else { return }
        clock.work += Work.membership
        groupsByStore.add(group, to: index)
    }

    /// Adds a new store to the groups that want it.
    func joinGroups(_ index: Int32) {
        if exactGroups.isEmpty, globGroups.isEmpty { return }
        let address = machine.address(of: Int(index))
        let record = machine.stores.pointer(index)
        for group in exactGroups[address] ?? [] where group.key.pattern.name.matches(record.pointee.name) {
            join(index, in: group)
        }
        if globGroups.isEmpty { return }
        let type = machine.types[Int(record.pointee.type)].name
        clock.work +=
            Work.look
            * globGroups.forEach(wanting: record.pointee.name, ofType: type) {
                join(index, in: $0)
            }
    }

    /// A store is dropped, after its drop has been encoded: it leaves its groups.
    func leaveGroups(_ index: Int32) {
        let left = groupsByStore.removeAll(from: index)
        for group in left { group.leave(index) }
        clock.work += left.count * Work.membership
    }

    // MARK: Groups without subscribers

    /// A group leaves its stores, a slice at a time.
    func desert(_ group: SubscriberGroup) {
        group.isDeserted = true
        deserted.append(group)
        scheduler.enqueueSweep()
    }

    func sweep() {
        while let group = deserted.last {
            var place = group.sweptTo ?? group.members.startIndex
            while place != group.members.endIndex {
                if clock.isSliceUsedUp {
                    group.sweptTo = place
                    return scheduler.enqueueSweep()
                }
                let store = group.members[place]
                // The store may have been dropped, and another may have its place.
                if machine.stores.isThere(store), let groups = groupsByStore[store] {
                    clock.work += Work.membership + groups.pointee.count
                    groupsByStore.remove(group, from: store)
                }
                place = group.members.index(after: place)
            }
            deserted.removeLast()
        }
    }
}
