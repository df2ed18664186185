import BusJSON
import BusLogic
import BusProtocol

/// A state type on this bus: its definition, and its stores in order of creation and in order of change.
public final class TypeEntry {
    public let index: Int32
    public let name: String
    /// How the address of one of its stores begins in an event: `"name/`.
    public let addressStart: String
    /// The definition; a reload replaces it.
    @exclusivity(unchecked) package private(set) var type: any StateType
    /// What the log keeps of its stores, and since which commit; 0: since there is the type.
    @exclusivity(unchecked) package internal(set) var kept = LogPolicy.all
    @exclusivity(unchecked) package internal(set) var keptSince = 0
    /// Counts how often it was defined.
    @exclusivity(unchecked) public private(set) var definitions = 0
    /// The index of each action, by name.
    @exclusivity(unchecked) private var actions = NameTable([])
    @exclusivity(unchecked) package private(set) var actionNames: [String] = []
    /// What each action accepts, where its schema says all; kept here so that the type is not asked each time.
    @exclusivity(unchecked) private var schemas: [PayloadSchema?] = []

    /// The members of each action's payload of which only a digest leaves the bus; empty where no action has such.
    @exclusivity(unchecked) private var redacted: [[String]] = []

    /// The stores in order of creation; -1 where one was dropped. Compacted when half of it is holes.
    @exclusivity(unchecked) public private(set) var members: ContiguousArray<Int32> = []
    /// How far compacting has come: the stores up to `next` lie together in the first `end` places.
    @exclusivity(unchecked) private var compacted: (end: Int, next: Int)?
    @exclusivity(unchecked) public private(set) var count = 0

    /// The ends of the list of changes.
    @exclusivity(unchecked) public private(set) var oldest: Int32 = -1
    @exclusivity(unchecked) public private(set) var newest: Int32 = -1

    /// What each action writes, where its payload alone says it; kept here so that the type is not asked each time.
    @exclusivity(unchecked) private var precomputedWrites: [PrecomputedWrites?] = []

    /// Whether its actions read other stores of the type, as they were before the action.
    @exclusivity(unchecked) private(set) var readsItself = false

    /// How its stores are worked out, where it is a view.
    @exclusivity(unchecked) package private(set) var view: ViewRules?
    /// The views that read it, and what they take of a commit's operations for each store that is written.
    @exclusivity(unchecked) var viewReaders: ViewReaders?
    @exclusivity(unchecked) var viewOperations = 0

    /// By the values of which members its stores are found.
    @exclusivity(unchecked) var indexes: [MemberIndex] = []
    /// Whether its states may have a member `state`, for which expressions would take what they call so.
    var mayHaveState: Bool {
        guard let type = type as? DeclaredType else { return true }
        return type.isOpen || type.initial["state"] != nil
    }

    /// How many of its stores have a lease, which every dispatch renews that matches them: so none of them is left out.
    @exclusivity(unchecked) private var leases = 0

    /// How often each action was committed since the daemon's start, as `index` numbers them, and under the names of actions
    /// that an earlier definition had.
    @exclusivity(unchecked) @usableFromInline private(set) var committed: ContiguousArray<Int> = []
    @exclusivity(unchecked) private var committedBefore: [String: Int] = [:]

    /// What each action cost per store lately, where that was much.
    @exclusivity(unchecked) private var workPerStore: [Int] = []

    /// The stores in the order of their names, for lists.
    package let ordered: OrderedStores
    private let stores: StoreTable

    init(index: Int32, type: any StateType, stores: StoreTable) {
        self.index = index
        name = type.name
        addressStart = "\"\(type.name)/"
        self.type = type
        self.stores = stores
        ordered = OrderedStores(ofType: index, stores)
        remember()
    }

    /// Replaces the definition: between commits only, since the undo log refers to paths of the old one.
    func redefine(_ type: any StateType) {
        self.type = type
        remember()
    }

    private func remember() {
        committedBefore = commits
        actionNames = type.actionNames
        committed = ContiguousArray(repeating: 0, count: actionNames.count)
        rememberWrites()
        readsItself = type.waitFor.contains { UTF8Order.equal($0, name) }
        actions = NameTable(actionNames.enumerated().map { (name: $1, number: Int32($0)) })
        workPerStore = Array(repeating: 0, count: actionNames.count)
        view = (type as? DeclaredType)?.view
        schemas = actionNames.indices.map { type.payloadSchema(of: $0) }
        redacted = actionNames.indices.map { type.redactedMembers(of: $0) }
        if redacted.allSatisfy(\.isEmpty) { redacted = [] }
        definitions += 1
    }

    private func rememberWrites() {
        precomputedWrites = actionNames.indices.map { action in
            if leases > 0 { return nil }
            return type.precomputedWrites(of: action).flatMap {
                $0.operations <= BusLimits.storeOperations ? $0 : nil
            }
        }
    }

    /// A lease begins (1) or ends (-1).
    func noteLease(_ change: Int) {
        let had = leases > 0
        leases += change
        if had != (leases > 0) { rememberWrites() }
    }

    /// The index of the action with a name; nil when the type does not declare it.
    @inline(__always)
    func action(named name: UnsafeRawBufferPointer) -> Int? { actions.number(of: name).map { Int($0) } }

    package func hasAction(named name: String) -> Bool { actionNames.contains { UTF8Order.equal($0, name) } }

    /// Whether an action surely accepts a payload as it is; if not, the type has to be asked.
    @inline(__always)
    func takes(_ payload: borrowing JSONObject, for action: Int) -> Bool {
        guard let schema = schemas[action].map(Unmanaged.passUnretained) else { return false }
        return schema._withUnsafeGuaranteedRef { $0.isComplete(payload) }
    }

    /// The members of an action's payload of which only a digest leaves the bus.
    @inline(__always)
    func redacted(of action: Int) -> [String] { redacted.isEmpty ? [] : redacted[action] }

    package func actionName(_ index: Int) -> String { actionNames[index] }

    /// What an action writes, where its payload alone says it; valid as long as the type is not redefined.
    @inline(__always)
    func precomputedWrites(of action: Int) -> Unmanaged<PrecomputedWrites>? {
        precomputedWrites[action].map { .passUnretained($0) }
    }

    /// How often each action was committed since the daemon's start.
    package var commits: [String: Int] {
        var commits = committedBefore
        for (index, name) in actionNames.enumerated() where committed[index] > 0 {
            commits[name, default: 0] += committed[index]
        }
        return commits
    }

    @inlinable @inline(__always)
    func countCommit(of action: Int) { committed[action] &+= 1 }

    /// What an action will cost per store, about; 0 where it never was notable.
    public func workPerStore(of action: Int) -> Int { workPerStore[action] }

    public func noteWork(_ work: Int, of action: Int) { workPerStore[action] = work }

    // MARK: Stores

    func add(_ index: Int32) {
        enlist(index)
        list(index)
    }

    /// A store is reached by actions from now on. `relist` and `delist` take back one another; what was enlisted last is
    /// taken back by `undoEnlisting`.
    func enlist(_ index: Int32) {
        stores.pointer(index).pointee.place = Int32(members.count)
        members.append(index)
        count += 1
    }

    func undoEnlisting() {
        members.removeLast()
        count -= 1
    }

    func delist(_ index: Int32) {
        members[Int(stores.pointer(index).pointee.place)] = -1
        count -= 1
    }

    func relist(_ index: Int32) {
        members[Int(stores.pointer(index).pointee.place)] = index
        count += 1
    }

    /// A store that is enlisted stands in lists, too.
    func list(_ index: Int32) {
        ordered.add(index)
        linkNewest(index)
    }

    /// A store that is not enlisted any more stands in no list.
    func unlist(_ index: Int32) {
        unlink(index)
        ordered.remove(index)
        compact()
    }

    /// A store has left its place. Once half of the places are empty, the members are compacted a few at a time, because a type
    /// may have a million stores.
    func compact() {
        if compacted == nil, members.count > 64, count * 2 < members.count { compacted = (0, 0) }
        guard var (end, next) = compacted else { return }
        // More than one for each store dropped, so that it comes to an end.
        for _ in 0..<16 where next < members.count {
            let member = members[next]
            if member >= 0, end < next {
                members[next] = -1
                members[end] = member
                stores.pointer(member).pointee.place = Int32(end)
            }
            if member >= 0 { end += 1 }
            next += 1
        }
        compacted = (end, next)
        guard next == members.count else { return }
        members.removeLast(members.count - end)
        compacted = nil
    }

    /// Moves a store to the end of the list of changes.
    @inline(__always)
    func moveToNewest(_ index: Int32) {
        if newest == index { return }
        unlink(index)
        linkNewest(index)
    }

    private func linkNewest(_ index: Int32) {
        let record = stores.pointer(index)
        record.pointee.older = newest
        record.pointee.newer = -1
        if newest >= 0 { stores.pointer(newest).pointee.newer = index } else { oldest = index }
        newest = index
    }

    private func unlink(_ index: Int32) {
        let record = stores.pointer(index)
        let (older, newer) = (record.pointee.older, record.pointee.newer)
        if older >= 0 { stores.pointer(older).pointee.newer = newer } else { oldest = newer }
        if newer >= 0 { stores.pointer(newer).pointee.older = older } else { newest = older }
    }

    /// The first store, in order of change, whose change came after `sequence`; -1 when there is none. Searches from
    /// both ends, because the result mostly lies near one, and reports to `charge` how many stores it looked at.
    package func firstChanged(after sequence: Int, _ charge: (Int) -> Void) -> Int32 {
        first(where: { $0.sequence > sequence }, charge)
    }

    /// The first store, in order of change, that a commit after `revision` changed last; -1 when there is none.
    package func firstChanged(afterRevision revision: Int, _ charge: (Int) -> Void) -> Int32 {
        first(where: { $0.revision > revision }, charge)
    }

    /// `isAfter` holds for a store and for all that changed after it.
    @inline(__always)
    private func first(where isAfter: (borrowing StoreRecord) -> Bool, _ charge: (Int) -> Void) -> Int32 {
        var found: Int32 = -1
        var (early, late) = (oldest, newest)
        var looked = 0
        defer { charge(looked) }
        while early >= 0, late >= 0 {
            looked += 1
            if isAfter(stores.pointer(early).pointee) { return early }
            guard isAfter(stores.pointer(late).pointee) else { return found }
            found = late
            early = stores.pointer(early).pointee.newer
            late = stores.pointer(late).pointee.older
        }
        return found
    }

    /// All stores by the bytes of their names, however long that takes.
    package var inOrder: [Int32] {
        ordered.prepare(members)
        ordered.putInPlace { true }
        var all: [Int32] = []
        ordered.forEach(from: nil) {
            all.append($0)
            return true
        }
        return all
    }
}
