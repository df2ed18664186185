import BusJSON
import BusLogic
import BusState

/// One store of a view while the machine works it out: which aggregates it has, and what has changed for it.
final class ViewGroup {
    let name: String
    /// The store's record; -1 until it is made.
    @exclusivity(unchecked) var store: Int32 = -1
    /// How many sources count in it.
    @exclusivity(unchecked) var count = 0
    let aggregates: [ViewAggregate]
    /// The values that may have changed since the state was written, a bit for each.
    @exclusivity(unchecked) var changed: UInt64 = 0
    /// Whether the whole state has to be written: it was made under another definition.
    @exclusivity(unchecked) var isForeign = false
    @exclusivity(unchecked) var isDirty = false

    init(_ name: String, _ aggregates: [ViewAggregate]) {
        self.name = name
        self.aggregates = aggregates
    }

    @inline(__always)
    func withAggregate(_ index: Int, _ body: (ViewAggregate) -> Void) {
        Unmanaged.passUnretained(aggregates[index])._withUnsafeGuaranteedRef(body)
    }
}

/// A view with what each of its sources counts as, brought up to date source by source.
///
/// What a source counted as is kept, so that it can be taken away again without its earlier state: a source costs what its
/// values cost, whatever the number of sources.
final class ViewIndex: SourceReader {
    let entry: TypeEntry
    let type: DeclaredType
    let rules: ViewRules
    private let reader: ViewReader
    private let order: AddressOrder
    /// The index of each value's contribution among those of a source; -1 where each source counts alike.
    private let columns: [Int]
    /// The members of a source that each value reads.
    private let reads: [UInt64]
    private let stride: Int
    /// What its computed values have left of a budget without bounds.
    @exclusivity(unchecked) private var left = Budget.unlimited

    @exclusivity(unchecked) private(set) var groups: [String: ViewGroup] = [:]
    /// Those that have changed.
    @exclusivity(unchecked) private var dirty: [ViewGroup] = []

    /// The row of each source, by its store's index; -1 where it counts in no store of the view.
    @exclusivity(unchecked) private var rows: ContiguousArray<Int32> = []
    @exclusivity(unchecked) private var groupOfRow: ContiguousArray<ViewGroup?> = []
    @exclusivity(unchecked) private var contributions: ContiguousArray<ViewContribution> = []
    @exclusivity(unchecked) private var freeRows: [Int32] = []
    /// One for each value.
    private let heapPlaces: [HeapPlaces]

    init(
        _ entry: TypeEntry, _ type: DeclaredType, _ rules: ViewRules, sources: Set<Int32>,
        _ order: AddressOrder
    ) {
        self.entry = entry
        self.type = type
        self.rules = rules
        self.order = order
        reader = ViewReader(rules)
        heapPlaces = rules.values.map { _ in HeapPlaces() }
        var columns: [Int] = []
        var stride = 0
        for value in rules.values {
            columns.append(value.hasArgument ? stride : -1)
            stride += value.hasArgument ? 1 : 0
        }
        self.columns = columns
        reads = rules.values.map(\.reads)
        self.stride = stride
        super.init(sources)
    }

    /// How many sources count in it, and what each of them takes, in bytes.
    var rowCount: Int { groupOfRow.count - freeRows.count }
    override var bytes: Int { rowCount * (BusLimits.viewRow + BusLimits.viewValue * rules.values.count) }

    /// A store of the view that is there already, from an earlier definition.
    func adopt(_ store: Int32, named name: String) {
        let group = group(named: name)
        group.store = store
        group.isForeign = true
        note(group)
    }

    // MARK: Sources

    override var expressions: Int { rules.expressions }
    override func spent(by rules: Int) -> (operations: Int, reading: Int) {
        if rules < BusLimits.rulesOfViewStates { return (reader.operations, reader.reading) }
        return (reader.operations &+ (.max &- left.operations), reader.reading &+ (.max &- left.reading))
    }
    override func bits(of member: String) -> UInt64 { rules.bits(of: member) & rules.allReads }

    override func update(_ store: Int32, _ state: UnsafePointer<JSONObject>, changed: UInt64) {
        evaluate(store, state, changed, isApplied: true)
    }

    override func pay(
        for store: Int32, _ state: UnsafePointer<JSONObject>, changed: UInt64, from budget: inout Budget
    ) {
        reader.spend(from: &budget) { evaluate(store, state, changed, isApplied: false) }
    }

    /// Evaluates what a change of a source may affect, and if `isApplied` brings the view up to date with it. Payment takes
    /// the same way, so a commit pays for exactly what is evaluated.
    @inline(__always)
    private func evaluate(
        _ store: Int32, _ state: UnsafePointer<JSONObject>, _ changed: UInt64, isApplied: Bool
    ) {
        var row = row(of: store)
        var isMoved = false
        if changed & rules.keyReads != 0 || row < 0 && changed == ViewRules.anything {
            let key = reader.key(of: state)
            if key != (row < 0 ? nil : groupOfRow[row]!.name) {
                isMoved = true
                if isApplied {
                    remove(store)
                    if let key { row = add(store, to: key) }
                }
            }
            if key == nil { return }
        } else if row < 0 {
            return
        }
        for index in 0..<reads.count where isMoved || reads[index] & changed != 0 {
            let now = reader.contribution(to: index, of: state)
            if isApplied { count(store, row, as: now, for: index, isNew: isMoved) }
        }
    }

    /// Adds a source to a store of the view, without its values, and returns its row.
    private func add(_ store: Int32, to key: String) -> Int {
        let group = group(named: key)
        let row = takeRow(for: store)
        groupOfRow[row] = group
        group.count += 1
        note(group, .max)
        return row
    }

    /// Sets what a source counts as for one value. `isNew`: the source has just been added.
    @inline(__always)
    private func count(
        _ store: Int32, _ row: Int, as now: ViewContribution, for index: Int, isNew: Bool
    ) {
        let (group, column) = (groupOfRow[row]!, columns[index])
        let source = ViewSource(store: store, row: Int32(row))
        if isNew {
            group.withAggregate(index) { $0.add(now, of: source) }
        } else {
            let before = contributions[row * stride + column]
            if now == before { return }
            group.withAggregate(index) { $0.replace(before, by: now, of: source) }
            note(group, 1 << UInt64(index))
        }
        if column >= 0 { contributions[row * stride + column] = now }
    }

    /// A source goes, or counts no more.
    override func remove(_ store: Int32) {
        let row = row(of: store)
        if row < 0 { return }
        let group = groupOfRow[row]!
        group.count -= 1
        for index in rules.values.indices {
            var contribution = ViewContribution.none
            if columns[index] >= 0 {
                contribution = contributions[row * stride + columns[index]]
                contributions[row * stride + columns[index]] = .none
            }
            group.aggregates[index].remove(contribution, of: ViewSource(store: store, row: Int32(row)))
        }
        groupOfRow[row] = nil
        rows[Int(store)] = -1
        freeRows.append(Int32(row))
        note(group, .max)
    }

    private func row(of store: Int32) -> Int { Int(store) < rows.count ? Int(rows[Int(store)]) : -1 }

    private func takeRow(for store: Int32) -> Int {
        while rows.count <= Int(store) { rows.append(-1) }
        if let free = freeRows.popLast() {
            rows[Int(store)] = free
            return Int(free)
        }
        rows[Int(store)] = Int32(groupOfRow.count)
        groupOfRow.append(nil)
        for _ in 0..<stride { contributions.append(.none) }
        return groupOfRow.count - 1
    }

    private func group(named name: String) -> ViewGroup {
        if let group = groups[name] { return group }
        let group = ViewGroup(
            name, zip(rules.values, heapPlaces).map { ViewAggregate.make($0, order, $1) })
        groups[name] = group
        return group
    }

    private func note(_ group: ViewGroup, _ changed: UInt64 = 0) {
        group.changed |= changed
        if group.isDirty { return }
        group.isDirty = true
        dirty.append(group)
    }

    // MARK: Its own stores

    /// Calls with the stores of the view that may have changed, in the order of their names; they are up to date from now on.
    @inline(__always)
    func takeDirty(_ body: (ViewGroup) -> Void) {
        if dirty.isEmpty { return }
        if dirty.count > 1 { dirty.sort { UTF8Order.precedes($0.name, $1.name) } }
        for place in 0..<dirty.count {
            let group = dirty[place]
            group.isDirty = false
            if group.count == 0 { groups[group.name] = nil }
        }
        for place in 0..<dirty.count { body(dirty[place]) }
        dirty.removeAll(keepingCapacity: dirty.count <= BusLimits.usualWrites)
    }

    /// The whole state of a store.
    func state(of group: ViewGroup) -> JSONObject {
        type.viewState(group.aggregates.map(\.value), spending: &left)
    }

    /// Brings the state of a store up to date.
    func write(_ group: ViewGroup, to draft: inout Draft, in context: CommitContext) {
        defer { group.changed = 0 }
        if group.isForeign {
            group.isForeign = false
            return draft.become(state(of: group))
        }
        var written: UInt64 = 0
        for index in 0..<reads.count where group.changed & (1 << UInt64(index)) != 0 {
            Unmanaged.passUnretained(rules.values[index])._withUnsafeGuaranteedRef { value in
                let count = draft.noted
                group.withAggregate(index) { $0.write(value.path, to: &draft) }
                if draft.noted > count { written |= value.bits }
            }
        }
        if written != 0 { type.refreshComputed(&draft, written, in: context, spending: &left) }
    }
}
