import BusJSON
import BusProtocol

/// How far a subscriber group with a pattern has come with finding its stores. New ones are told to it meanwhile.
struct MemberSearch {
    /// The types that match, and the one that is being looked through.
    var types: [Int32]
    var type = 0
    /// The last name that was looked at in it.
    var lastName: String?
    /// What all names that match begin with.
    let prefix: String
}

extension Engine {
    /// Begins to find the stores that a group wants.
    func beginSearch(for shape: Shape) {
        let pattern = shape.key.pattern
        let matching = types.filter { pattern.type.matches($0.name) }
        work += types.count * Work.look
        if pattern.name.isLiteral {
            for entry in matching {
                let index = pattern.name.pattern.withUnsafeBytes { stores.find(type: entry.index, name: $0) }
                if let index { enlist(index, in: shape) }
            }
            return
        }
        shape.search = MemberSearch(
            types: matching.map(\.index),
            prefix: String(decoding: pattern.name.literalPrefix, as: UTF8.self))
        if shape.key.actions { searchingActionShapes.append(shape) }
    }

    /// Finds stores that a group wants while `mayGoOn`; true when all are found.
    func search(for shape: Shape, while mayGoOn: () -> Bool) -> Bool {
        while var search = shape.search {
            guard search.type < search.types.count else {
                shape.search = nil
                searchingActionShapes.removeAll { $0 === shape }
                break
            }
            let entry = types[Int(search.types[search.type])]
            entry.ordered.prepare(entry.members)
            entry.ordered.putInPlace {
                work += Work.ordering
                return mayGoOn()
            }
            guard entry.ordered.isComplete else { return false }
            let isDone = look(through: entry, for: shape, &search, while: mayGoOn)
            if isDone {
                search.type += 1
                search.lastName = nil
            }
            shape.search = search
            if !isDone { return false }
        }
        return true
    }

    private func look(
        through entry: TypeEntry, for shape: Shape, _ search: inout MemberSearch, while mayGoOn: () -> Bool
    ) -> Bool {
        let cost = Work.look + shape.key.pattern.name.pattern.count
        let seen = search.lastName
        let prefix = search.prefix
        var last = seen
        var isDone = true
        entry.ordered.forEach(from: seen ?? prefix) { index in
            let name = stores.pointer(index).pointee.name
            guard prefix.isEmpty || name.utf8.starts(with: prefix.utf8) else { return false }
            if let seen, !UTF8Order.precedes(seen, name) { return true }
            guard mayGoOn() else {
                isDone = false
                return false
            }
            work += cost
            last = name
            if shape.key.pattern.name.matches(name) { enlist(index, in: shape) }
            return true
        }
        search.lastName = last
        return isDone
    }

    /// Goes on finding the stores of the groups that a connection waits for; false if there is more to do.
    func goOnSearching(for connection: Connection) -> Bool {
        while let shape = connection.searches.last {
            guard search(for: shape, while: { !self.isSliceUsedUp }) else {
                connection.isPaused = true
                return false
            }
            connection.searches.removeLast()
        }
        if isOverMemory, connection.subscriptions.contains(where: { !$0.shape.members.isEmpty }) {
            sayGoodbye(
                connection, .limit,
                "The bus holds \(limits.memory) bytes, its memory limit; subscribe to fewer stores, or to whole types."
            )
        }
        return true
    }

    // MARK: Members

    func enlist(_ index: Int32, in shape: Shape) {
        let record = stores.pointer(index)
        guard shape.enlist(index, ofType: record.pointee.type) else { return }
        work += Work.membership
        record.pointee.shapes.append(shape)
        membershipCount += 1
    }

    /// Finds the groups that a new store belongs to.
    func enlist(_ index: Int32, address: String) {
        let record = stores.pointer(index)
        for shape in exactShapes[address] ?? [] where shape.key.pattern.name.matches(record.pointee.name) {
            enlist(index, in: shape)
        }
        if globShapes.isEmpty { return }
        let type = types[Int(record.pointee.type)].name
        work +=
            Work.look
            * globShapes.forEach(wanting: record.pointee.name, ofType: type) {
                enlist(index, in: $0)
            }
    }

    // MARK: Groups that nobody is in any more

    /// A group leaves its stores, a slice at a time.
    func desert(_ shape: Shape) {
        shape.isDeserted = true
        deserted.append(shape)
        if isSweeping { return }
        isSweeping = true
        queue.add(.sweep, &sweepShare)
    }

    func sweep() {
        while let shape = deserted.last {
            var place = shape.sweptTo ?? shape.members.startIndex
            while place != shape.members.endIndex {
                if isSliceUsedUp {
                    shape.sweptTo = place
                    isSweeping = true
                    return queue.add(.sweep, &sweepShare)
                }
                leave(shape.members[place], shape)
                place = shape.members.index(after: place)
            }
            deserted.removeLast()
        }
    }

    private func leave(_ index: Int32, _ shape: Shape) {
        let record = stores.pointer(index)
        // The store may have gone, and another have its place.
        guard stores.isThere(index) else { return }
        work += Work.membership + record.pointee.shapes.count
        // From the end: a connection that goes takes its latest first.
        if let place = record.pointee.shapes.lastIndex(where: { $0 === shape }) {
            record.pointee.shapes.remove(at: place)
            membershipCount -= 1
        }
    }
}
