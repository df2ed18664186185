import BusJSON
import BusMachine
import BusProtocol
import BusState

/// The groups of subscriptions that are alike, by what they want.
final class SubscriberGroups {
    let machine: StateMachine
    let clock: TurnClock
    let scheduler: Scheduler

    @exclusivity(unchecked) var all: [SubscriptionFilter: SubscriberGroup] = [:]
    /// How many were ever made.
    private var made = 0
    /// Groups that want every store of a type, by the type's index.
    @exclusivity(unchecked) private(set) var byType: [[SubscriberGroup]] = []
    /// Groups that want only some stores of a type, by store, and how they are found: by the one address that their
    /// pattern names, or by the prefix of names that match it.
    let byStore = StoreGroups()
    private var exact: [String: [SubscriberGroup]] = [:]
    private var globs = GlobIndex()
    /// How groups that choose stores by what they are like find them.
    @exclusivity(unchecked) private(set) var tests = StoreTests()
    /// How many departures all of these remember.
    @exclusivity(unchecked) var departureCount = 0
    /// Groups with very many subscribers.
    private var crowds: [SubscriberGroup] = []
    /// What groups count as in the memory of the daemon, beside the stores in them.
    private var bytes = 0
    /// How many groups want actions; mostly none.
    @exclusivity(unchecked) private(set) var actionCount = 0
    /// Groups that want actions of only some stores of a type, and those of them that have not found all their stores.
    @exclusivity(unchecked) private(set) var partialActions: [SubscriberGroup] = []
    @exclusivity(unchecked) private(set) var searchingActions: [SubscriberGroup] = []
    /// Groups without subscribers that are still members of stores.
    private var deserted: [SubscriberGroup] = []
    /// What expressions may still take of the commit being made, and what one user's may: half of what all may.
    @exclusivity(unchecked) var testWork = 0
    @exclusivity(unchecked) var mostTestWorkOfUser = 0
    @exclusivity(unchecked) var testedCommits = 0
    /// The groups whose expressions were not held against all of that commit.
    @exclusivity(unchecked) var overdue: [SubscriberGroup] = []

    init(_ machine: StateMachine, _ clock: TurnClock, _ scheduler: Scheduler) {
        self.machine = machine
        self.clock = clock
        self.scheduler = scheduler
        noteTypes()
    }

    // MARK: For other parts

    var count: Int { all.count }
    /// What they make the daemon hold.
    var memory: Int {
        bytes + byStore.count * DaemonLimits.membershipBytes + departureCount * DaemonLimits.departureBytes
    }

    /// Figures that are kept as they change, beside what they come to when they are counted from nothing.
    var recount: [MemoryCount] {
        [
            MemoryCount("groups", bytes, all.values.reduce(0) { $0 + $1.key.memory }),
            MemoryCount("memberships", byStore.count, byStore.recount),
            MemoryCount("departures", departureCount, all.values.reduce(0) { $0 + $1.departures.known }),
        ]
    }

    func has(_ filter: SubscriptionFilter) -> Bool { all[filter] != nil }

    /// How many patterns with wildcards begin like this one, and how many of them a user made.
    func patternsAlike(_ pattern: AddressPattern, of user: User) -> (all: Int, own: Int) {
        globs.countAlike(pattern, of: user)
    }

    /// How many groups want the store, or all stores of a type, that a filter names, and how many of them a user made.
    func alike(_ filter: SubscriptionFilter, of user: User) -> (all: Int, own: Int) {
        var found: [SubscriberGroup] = []
        if filter.chosen != nil {
            for type in machine.types where filter.pattern.type.matches(type.name) {
                let groups = tests.groups(ofType: type.index)
                if groups.count > found.count { found = groups }
            }
        } else if let address = filter.pattern.literalAddress {
            found = exact[address] ?? []
        } else if filter.pattern.name.isAny {
            for type in machine.types where filter.pattern.type.matches(type.name) {
                let groups = byType[Int(type.index)]
                if groups.count > found.count { found = groups }
            }
        }
        return (found.count, found.count { $0.maker === user })
    }

    /// The machine has more types: groups that want whole types are added to those that match.
    func noteTypes() {
        tests.noteTypes(machine.types[byType.count...])
        while byType.count < machine.types.count {
            let name = machine.types[byType.count].name
            byType.append(
                inOrder.filter { $0.wantsWholeTypes && $0.key.pattern.type.matches(name) })
        }
    }

    // MARK: Making and removing

    /// Makes the group of all subscriptions with a filter. It may have to search for its stores.
    func make(_ filter: SubscriptionFilter, for user: User) -> SubscriberGroup {
        made += 1
        let group = SubscriberGroup(
            key: filter, tests.test(for: filter),
            selection: filter.actions ? nil : filter.selected.map { Selection($0) },
            number: made, revision: machine.revision, now: clock.now, maker: user)
        user.shapes += 1
        all[filter] = group
        bytes += filter.memory
        if filter.actions { actionCount += 1 }
        if group.test != nil {
            tests.add(group, machine.types)
            noteTests()
            beginSearch(for: group)
        } else if group.wantsWholeTypes {
            for entry in machine.types where filter.pattern.type.matches(entry.name) {
                byType[Int(entry.index)].append(group)
            }
        } else {
            findMembers(of: group)
        }
        return group
    }

    /// A dictionary has no stable order; what clients receive has.
    var inOrder: [SubscriberGroup] { all.values.sorted { $0.number < $1.number } }

    private func findMembers(of group: SubscriberGroup) {
        let pattern = group.key.pattern
        if group.key.actions { partialActions.append(group) }
        if let address = pattern.literalAddress {
            exact[address, default: []].append(group)
        } else {
            globs.add(group)
        }
        beginSearch(for: group)
    }

    /// Removes a group without subscribers.
    func remove(_ group: SubscriberGroup) {
        if all[group.key] === group { all[group.key] = nil }
        group.maker.shapes -= 1
        bytes -= group.key.memory
        if group.key.actions { actionCount -= 1 }
        departureCount -= group.forgetDepartures(through: machine.revision)
        if group.test != nil {
            tests.remove(group, machine.types)
            noteTests()
            return desert(group)
        }
        if group.wantsWholeTypes {
            for index in byType.indices { byType[index].removeAll { $0 === group } }
            return
        }
        if group.key.actions {
            partialActions.removeAll { $0 === group }
            searchingActions.removeAll { $0 === group }
        }
        if let address = group.key.pattern.literalAddress {
            exact[address]?.removeAll { $0 === group }
            if exact[address]?.isEmpty == true { exact[address] = nil }
        } else {
            globs.remove(group)
        }
        desert(group)
    }

    /// The machine holds the stores of an earlier revision now: all groups search for theirs again.
    func rejoin() {
        byStore.removeAll()
        byType = []
        tests.forgetTypes()
        deserted = []
        noteTypes()
        for group in inOrder {
            group.removeAll()
            departureCount -= group.forgetDepartures(through: machine.revision)
            if group.wantsWholeTypes { continue }
            beginSearch(for: group)
            _ = search(for: group) { true }
        }
    }

    // MARK: Crowds

    // A commit looks at each live subscription that it concerns, if only to let it fall behind, and that can't be interrupted.
    // Where there are very many, a turn keeps room for it, so that a commit late in the turn does not exceed it.

    /// A group has one subscriber more or less: it may have become a crowd, or be one no longer.
    func noteCrowd(_ group: SubscriberGroup) {
        let isCrowd = group.subscribers.count >= DaemonLimits.crowd
        if isCrowd == group.isCrowd { return }
        group.isCrowd = isCrowd
        if isCrowd { crowds.append(group) } else { crowds.removeAll { $0 === group } }
    }

    /// The work of publishing a commit that concerns all crowds, with the slice in which it is made and one in which others
    /// come to take live changes.
    var mostPublishing: Int {
        if crowds.isEmpty { return 0 }
        let telling = crowds.reduce(0) {
            // Events of actions can't be merged, so they are delivered however many there are.
            $0 &+ $1.liveCount &* ($1.key.actions ? Work.delivery : Work.fall)
        }
        return telling &+ DaemonLimits.liveWork &+ 2 &* clock.limits.sliceWork
    }

    // MARK: Searching

    /// Begins the search for the stores that a group wants.
    private func beginSearch(for group: SubscriberGroup) {
        let pattern = group.key.pattern
        let matching = machine.types.filter { pattern.type.matches($0.name) }
        clock.work += machine.types.count * Work.look
        // One that has an expression is tested in its subscriber's turn.
        if pattern.name.isLiteral, group.test == nil {
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
        if group.key.actions, group.test == nil { searchingActions.append(group) }
    }

    /// Searches for stores that a group wants while `mayGoOn`; true when all are found.
    func search(for group: SubscriberGroup, while mayGoOn: () -> Bool) -> Bool {
        while var search = group.search {
            guard search.type < search.types.count else {
                group.search = nil
                searchingActions.removeAll { $0 === group }
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

    /// A group is about a store: it becomes a member, where the rules and the group's expression allow.
    func join(_ index: Int32, in group: SubscriberGroup) {
        if group.key.view != nil {
            let record = machine.stores.pointer(index)
            let (name, type) = (record.pointee.name, machine.types[Int(record.pointee.type)].name)
            guard group.key.shows(name, ofType: type) else { return }
        }
        if let test = group.test, !test.holds(for: index, in: machine, &clock.work) { return }
        add(index, to: group)
    }

    /// A store becomes a member of a group.
    func add(_ index: Int32, to group: SubscriberGroup) {
        let record = machine.stores.pointer(index)
        if group.key.view != nil, !group.key.actions {
            let (name, type) = (record.pointee.name, machine.types[Int(record.pointee.type)].name)
            group.see(group.key.selection(of: name, ofType: type), of: index)
        }
        guard group.join(index) else { return }
        group.countMember(ofType: record.pointee.type, 1)
        clock.work += Work.membership
        byStore.add(group, to: index)
    }

    /// A store ceases to be a member of a group.
    func remove(_ index: Int32, from group: SubscriberGroup) {
        guard !group.isDeserted, group.members.contains(index) else { return }
        group.leave(index)
        group.countMember(ofType: machine.stores.pointer(index).pointee.type, -1)
        clock.work += Work.membership
        byStore.remove(group, from: index)
    }

    /// Adds a new store to the groups that want it.
    func join(_ index: Int32) {
        let typeIndex = machine.stores.pointer(index).pointee.type
        if tests.watch(Int(typeIndex)) {
            for group in tests.groups(ofType: typeIndex) { test(index, for: group) }
        }
        if exact.isEmpty, globs.isEmpty { return }
        let address = machine.address(of: Int(index))
        let record = machine.stores.pointer(index)
        for group in exact[address] ?? [] where group.key.pattern.name.matches(record.pointee.name) {
            join(index, in: group)
        }
        if globs.isEmpty { return }
        let type = machine.types[Int(record.pointee.type)].name
        clock.work +=
            Work.look
            * globs.forEach(wanting: record.pointee.name, ofType: type) {
                join(index, in: $0)
            }
    }

    /// A store is dropped, after its drop has been encoded: it leaves its groups.
    func leave(_ index: Int32) {
        let left = byStore.removeAll(from: index)
        let type = machine.stores.pointer(index).pointee.type
        for group in left {
            group.leave(index)
            group.countMember(ofType: type, -1)
        }
        clock.work += left.count * Work.membership
    }

    // MARK: Groups without subscribers

    /// A group leaves its stores, a slice at a time.
    private func desert(_ group: SubscriberGroup) {
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
                if machine.stores.isThere(store), let groups = byStore[store] {
                    clock.work += Work.membership + groups.pointee.count
                    byStore.remove(group, from: store)
                }
                place = group.members.index(after: place)
            }
            deserted.removeLast()
        }
    }
}
