import BusJSON
import BusLogic
import BusProtocol
import BusState

/// Views: types whose stores the bus works out from all stores of others.
///
/// When all that a commit does to the others is known, and nothing can be refused any more, the writes to the views' stores are
/// derived from it and join its write set: subscribers, slow readers and the order of changes treat them as any others.
/// Entries of the log lack them: whoever applies the same entries derives the same writes.
extension StateMachine {
    /// Derives what the commit being made means to views. Returns whether it gives them stores, or takes some away.
    @usableFromInline @inline(never)
    func deriveViews(_ details: CommitDetails?) -> Bool {
        // The machine holds its views, and nothing here replaces their table.
        Unmanaged.passUnretained(place.pointee.viewTable)._withUnsafeGuaranteedRef { table in
            place.pointee.isRead = details != nil || table.isStale || !undoLog.writesOnly(to: table.unread)
            return place.pointee.isRead && deriveViews(details, table)
        }
    }

    private func deriveViews(_ details: CommitDetails?, _ table: ViewTable) -> Bool {
        let made = table.isStale ? assembleViews(table) : []
        gatherChanges(details, table)
        operationsOfViews = 0
        if made.isEmpty, table.changes.isEmpty, table.dropped.isEmpty { return false }
        for (place, reader) in table.readers.enumerated() {
            if made.contains(where: { $0 === reader }) { fill(reader) }
            let before = reader.spent(by: rules)
            refresh(reader, at: place, table)
            let now = reader.spent(by: rules)
            var reading = (now.reading &- before.reading) / BusLimits.bytesPerOperation
            if rules < BusLimits.rulesOfViewStates {
                // By these, what had been read before counted, too. A member that comes from a copy has read less of that.
                reading =
                    now.reading / BusLimits.bytesPerOperation &- before.reading / BusLimits.bytesPerOperation
            }
            operationsOfViews &+= now.operations &- before.operations &+ reading
        }
        operationsBeside &+= operationsOfViews
        table.changes.clear()
        table.masks.clear()
        return !table.created.isEmpty || !table.dropped.isEmpty
    }

    /// A type comes, changes or goes.
    func noteDefinition(of type: any StateType, before: (any StateType)? = nil) {
        // The memory of its paths may be used again for those of another type.
        viewTable.unread.removeAll()
        let isRead = [type, before].contains { $0?.isView == true || $0?.indexed.isEmpty == false }
        if viewTable.isStale || viewTable.readers.isEmpty && !isRead { return }
        viewTable.isStale = true
        noteReaders()
    }

    // MARK: Who reads what

    /// Whether the commit being made may have written something that a view, an index or `isReadElsewhere` reads.
    @inlinable @inline(__always)
    public var isRead: Bool { place.pointee.isRead }

    /// Sets what tells which members are read beside views and indexes, by the index of their type; nil: none is. Called again
    /// whenever that changes.
    package func noteReaders(beside isRead: ((_ type: Int32, _ member: String) -> Bool)?) {
        viewTable.isReadElsewhere = isRead
        noteReaders()
    }

    private func noteReaders() {
        place.pointee.isWatched = viewTable.isNeeded || viewTable.isReadElsewhere != nil
        place.pointee.isRead = place.pointee.isWatched
        viewTable.unread.removeAll()
    }

    /// Notes a path that no view reads, unless it is read elsewhere. Commits that write only to noted paths skip the views.
    private func noteUnread(_ record: UnsafePointer<UndoLog.Record>, of type: Int32, _ table: ViewTable) {
        guard let path = record.pointee.pathOfType else { return }
        if table.isReadElsewhere?(type, record.pointee.path[0]) != true { table.unread.insert(path) }
    }

    @inline(__always)
    private func forEachRecord(of write: StoreWrite, _ body: (UnsafePointer<UndoLog.Record>) -> Void) {
        for index in write.records { body(undoLog.record(index)) }
        var further = Int(write.further)
        while further >= 0 {
            for index in furtherRecords[further].records { body(undoLog.record(index)) }
            further = Int(furtherRecords[further].before)
        }
    }

    // MARK: Changes of sources

    func gatherChanges(_ details: CommitDetails?, _ table: ViewTable) {
        let apart = details.map { Set($0.made + $0.gone + $0.replaced.map(\.store)) } ?? []
        for place in writeSet.indices {
            let store = writeSet[place].store
            if !apart.isEmpty, apart.contains(store) { continue }
            noteWrite(at: place, of: store, table)
        }
        guard let details else { return }
        // What goes comes first: there may be a new store at its address.
        for store in details.removed { note(store, .dropped, table) }
        for (store, state) in details.replaced { note(store, .replaced(state), table) }
        for store in details.created { note(store, .created, table) }
    }

    private func note(_ store: Int32, _ kind: SourceChange.Kind, _ table: ViewTable) {
        let type = stores.pointer(store).pointee.type
        if types[Int(type)].viewReaders == nil { return }
        table.changes.append(SourceChange(store: store, type: type, kind: kind))
    }

    /// Notes a write of the write set, if a view reads what it wrote.
    private func noteWrite(at place: Int, of store: Int32, _ table: ViewTable) {
        let type = stores.pointer(store).pointee.type
        guard let masks = gatherMasks(at: place, of: type, table) else { return }
        table.changes.append(SourceChange(store: store, type: type, kind: .written(masks: masks)))
    }

    /// Puts what a write of the write set means to each reader of its type at the end of `masks`, and returns where that begins;
    /// nil if none reads what was written.
    private func gatherMasks(at place: Int, of type: Int32, _ table: ViewTable) -> Int? {
        guard let readers = types[Int(type)].viewReaders else {
            forEachRecord(of: writeSet[place]) { noteUnread($0, of: type, table) }
            return nil
        }
        let start = table.masks.count
        forEachRecord(of: writeSet[place]) { record in
            readers.withMasks(of: record) { masks in
                if masks.allSatisfy({ $0 == 0 }) {
                    noteUnread(record, of: type, table)
                } else if table.masks.count == start {
                    for mask in masks { table.masks.append(mask) }
                } else {
                    for index in 0..<masks.count { table.masks[start + index] |= masks[index] }
                }
            }
        }
        return table.masks.count == start ? nil : start
    }

    // MARK: Views

    private func refresh(_ reader: SourceReader, at place: Int, _ table: ViewTable) {
        for index in table.changes.indices {
            let change = table.changes[index]
            guard let column = types[Int(change.type)].viewReaders!.places.firstIndex(of: place)
            else { continue }
            if case .dropped = change.kind {
                reader.remove(change.store)
                continue
            }
            let mask = table.mask(of: change, at: column)
            if mask != 0 {
                withState(after: change) { reader.update(change.store, $0, changed: mask) }
            }
        }
        guard let view = reader as? ViewIndex else { return }
        view.takeDirty { settle($0, of: view, table) }
    }

    /// Lends the state of a source after a change.
    @inline(__always)
    func withState(after change: SourceChange, _ body: (UnsafePointer<JSONObject>) -> Void) {
        if case .replaced(let state) = change.kind { return withUnsafePointer(to: state, body) }
        body(stores.pointer(change.store).pointer(to: \.state)!)
    }

    /// Brings one store of a view up to date: it is made, written or dropped.
    private func settle(_ group: ViewGroup, of view: ViewIndex, _ table: ViewTable) {
        if group.count == 0 {
            if group.store >= 0 { drop(group.store, table) }
        } else if group.store < 0 {
            group.changed = 0
            group.store = group.name.utf8Span.span.withUnsafeBytes { name in
                insert(name, of: view.entry, view.state(of: group), creator: StoreRecord.view, owner: nil)
            }
            table.created.append(group.store)
            note(group.store, .created, table)
        } else {
            write(group, of: view)
            let write = stores.pointer(group.store).pointee.write
            if write >= 0 { noteWrite(at: Int(write), of: group.store, table) }
        }
    }

    private func drop(_ store: Int32, _ table: ViewTable) {
        table.dropped.append(store)
        note(store, .dropped, table)
    }

    private func write(_ group: ViewGroup, of view: ViewIndex) {
        let record = stores.pointer(group.store)
        let mark = undoLog.records.count
        var draft = Draft(&record.pointee.state, size: Int(record.pointee.size), undoLog: undoLog)
        view.write(group, to: &draft, in: context)
        guard undoLog.records.count > mark else { return }
        noteWrite(group.store, record, mark..<undoLog.records.count)
        stateBytes &+= draft.size &- Int(record.pointee.size)
        record.pointee.size = Int32(truncatingIfNeeded: draft.size)
    }

    // MARK: Definitions

    /// Puts the views together as the definitions in force say, and returns those that have to be worked out from all stores
    /// there are. Any other goes on as it was.
    private func assembleViews(_ table: ViewTable) -> [SourceReader] {
        table.isStale = false
        defer { noteReaders() }
        let before = table.readers
        var made: [SourceReader] = []
        table.readers = viewsInOrder(among: typesByName.mapValues(\.type)).map { type, rules in
            let entry = typesByName[type.name]!
            let sources = Set(rules.sources.compactMap { typesByName[$0]?.index })
            let known = before.lazy.compactMap { $0 as? ViewIndex }.first { $0.entry === entry }
            if let known, known.type.definition == type.definition, known.sources == sources { return known }
            let view = ViewIndex(entry, type, rules, sources: sources, addressOrder)
            made.append(view)
            return view
        }
        for entry in types {
            entry.indexes = entry.type.indexed.map { member in
                if let known = entry.indexes.first(where: { UTF8Order.equal($0.member, member) }) {
                    return known
                }
                let index = MemberIndex(entry, member, addressOrder)
                made.append(index)
                return index
            }
            table.readers += entry.indexes as [SourceReader]
        }
        table.countExpressions()
        for entry in types {
            let places = table.readers.indices.filter { table.readers[$0].sources.contains(entry.index) }
            entry.viewReaders =
                places.isEmpty ? nil : ViewReaders(places, places.map { table.readers[$0] })
        }
        // A definition that changes keeps those stores that it still has.
        for case let view as ViewIndex in made {
            for store in view.entry.members where store >= 0 {
                view.adopt(store, named: stores.pointer(store).pointee.name)
            }
        }
        for case let view as ViewIndex in before
        where !table.readers.contains(where: { ($0 as? ViewIndex)?.entry === view.entry }) {
            for store in view.entry.members where store >= 0 { drop(store, table) }
        }
        return made
    }

    private var addressOrder: AddressOrder {
        // A machine may pass its stores and types on to another.
        let (stores, names) = (stores, types.map(\.name))
        return AddressOrder(
            precedes: { left, right in
                let (a, b) = (stores.pointer(left), stores.pointer(right))
                if a.pointee.type != b.pointee.type {
                    return UTF8Order.precedes(names[Int(a.pointee.type)], names[Int(b.pointee.type)])
                }
                return UTF8Order.precedes(a.pointee.name, b.pointee.name)
            },
            address: {
                let record = stores.pointer($0)
                return "\(names[Int(record.pointee.type)])/\(record.pointee.name)"
            })
    }

    /// Works a view or an index out from all stores of its sources.
    private func fill(_ reader: SourceReader) {
        for type in reader.sources.sorted() {
            for store in types[Int(type)].members where store >= 0 {
                reader.update(store, stores.pointer(store).pointer(to: \.state)!, changed: ViewRules.anything)
            }
        }
    }

    /// The views among types, each after those that it reads.
    func viewsInOrder(
        among types: [String: any StateType]
    ) -> [(type: DeclaredType, rules: ViewRules)] {
        var ordered: [(type: DeclaredType, rules: ViewRules)] = []
        var placed: Set<String> = []
        func place(_ name: String) {
            guard let type = types[name] as? DeclaredType, let rules = type.view, placed.insert(name).inserted
            else { return }
            for source in rules.sources { place(source) }
            ordered.append((type, rules))
        }
        for name in types.keys.sorted(by: UTF8Order.precedes) { place(name) }
        return ordered
    }

    /// Notes for each type what its views and indexes take of a commit's operations: from the definitions alone, so that it is
    /// the same before the first commit.
    func countOperationsOfViews() {
        var operations: [String: Int] = [:]
        for case let type as DeclaredType in typesByName.values.map(\.type) {
            operations[type.name, default: 0] += BusLimits.operationsPerViewValue * type.indexed.count
            guard let rules = type.view else { continue }
            for source in Set(rules.sources) {
                operations[source, default: 0] +=
                    BusLimits.operationsPerView + BusLimits.operationsPerViewValue * rules.values.count
            }
        }
        for entry in types { entry.viewOperations = operations[entry.name] ?? 0 }
    }

    // MARK: The commit

    /// Commits the stores that views gain and lose.
    @usableFromInline @inline(never)
    func commitViewStores(to observer: some CommitObserver) {
        observer.viewsGain(viewTable.created)
        for store in viewTable.created {
            commitCreation(of: store)
            observer.created(store)
        }
        for store in viewTable.dropped { observer.dropped(store) }
    }

    @usableFromInline @inline(never)
    func removeViewStores(_ observer: some CommitObserver) {
        observer.viewsHaveGained(viewTable.created, lost: viewTable.dropped)
        for store in viewTable.dropped { remove(store) }
        viewTable.created = []
        viewTable.dropped = []
    }
}

extension StateMachine {
    // MARK: Restoring

    /// When a store of a view last changed, as a snapshot has it.
    struct ViewStamp {
        let revision: Int
        let sequence: Int
        let parts: [PartRevisions.Record]
    }

    /// Works out all views of a machine whose other stores have been restored. A store that has no stamp counts as changed in the
    /// last commit.
    func restoreViews(_ stamps: [String: ViewStamp]) {
        // The first commit puts the views together, as on a bus that was not restored: both must charge it the same.
        guard viewTable.isNeeded, revision > 0 || stores.count > 0 else { return }
        _ = deriveViews(nil)
        for store in viewTable.created {
            let record = stores.pointer(store)
            let stamp = stamps[address(of: Int(store))]
            if stamp == nil { sequence += 1 }
            record.pointee.revision = stamp?.revision ?? revision
            record.pointee.sequence = stamp?.sequence ?? sequence
            if let stamp { parts?.restore(store, stamp.parts) }
        }
        for store in viewTable.created.sorted(by: {
            stores.pointer($0).pointee.sequence < stores.pointer($1).pointee.sequence
        }) {
            types[Int(stores.pointer(store).pointee.type)].moveToNewest(store)
        }
        viewTable.created = []
        noteReaders()
    }

    // MARK: Refusals

    /// Throws where a type is a view, whose stores nobody makes, changes or drops.
    package func refuseView(_ entry: TypeEntry) throws(RequestError) {
        guard let rules = entry.view else { return }
        throw RequestError(
            .rejected,
            "\(entry.name) is a view: its stores follow those of \(rules.sources.joined(separator: ", ")), and nobody else changes them; change these instead."
        )
    }

    /// The same where a store is one of a view.
    package func refuseView(of store: Int32) throws(RequestError) {
        try refuseView(types[Int(stores.pointer(store).pointee.type)])
    }
}

extension StateType {
    /// The members by whose values its stores are found.
    var indexed: [String] { (self as? DeclaredType)?.indexed ?? [] }
    /// Whether the bus works its states out from those of others.
    package var isView: Bool { (self as? DeclaredType)?.view != nil }
}
