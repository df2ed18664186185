import BusJSON
import BusLogic
import BusProtocol
import BusState

/// What a commit means: types, stores, and how they change, the same wherever the same entries are applied.
///
/// It knows no connection, no subscription, no log and no clock. The daemon's engine stands in front of it and notifies
/// subscribers; replay, snapshots, verification and reads of the past use it alone.
///
/// A commit is made in three steps. It is *planned* (`Planning`): names are resolved, payloads checked. Then it is
/// *applied* (`Commits`): states change in place, and `rollback` undoes all of it. Finally it is *committed*: the
/// revision is incremented, every store that differs takes the revision, and the engine is shown each change.
public final class StateMachine {
    @exclusivity(unchecked) package var limits: BusLimits
    /// The rules by which entries are applied: those of now, except where an entry of a shared log was made by earlier ones.
    @exclusivity(unchecked) package var rules = BusLimits.rules {
        didSet {
            context.takesUnnamedMembers = rules < 2
            context.refusesFailedConditions = rules < BusLimits.rulesOfViewStates
            context.budget.hasPrices = rules >= BusLimits.rulesOfPrices
        }
    }
    /// The UUID of this history.
    @exclusivity(unchecked) package var epoch: String

    /// The properties that the engine reads all the time.
    @usableFromInline let place: UnsafeMutablePointer<Place>

    // Types and stores; see `Place`.
    @exclusivity(unchecked) var typesByName: [String: TypeEntry] = [:] {
        didSet {
            nameChanges += 1
            typeNames = nil
        }
    }
    /// The types by the bytes of their names in a line; made again after a change.
    @exclusivity(unchecked) private var typeNames: NameTable?
    /// Counts the changes after which names of types and stores may mean something else: types added or
    /// removed, and stores dropped.
    @exclusivity(unchecked) package internal(set) var nameChanges = 0
    /// Types in the order in which one action reaches them.
    @exclusivity(unchecked) var commitOrder: [TypeEntry] = []
    @exclusivity(unchecked) package internal(set) var dropLog = DropLog()

    /// Timers and leases.
    @exclusivity(unchecked) package internal(set) var timers = TimerTable()

    /// Who may do what, as checked before a commit is made; and the commit since when. Nil: everybody may do all but
    /// what the daemon keeps for operators.
    @exclusivity(unchecked) package internal(set) var access: AccessRules?
    @exclusivity(unchecked) package internal(set) var accessSince = 0
    /// When what the rules show of states in parts last changed; nil where they show none, or while nobody follows it.
    @exclusivity(unchecked) package internal(set) var parts: PartRevisions?
    /// Whether that is followed. On a shared bus only since all members do.
    @exclusivity(unchecked) package var followsParts = true

    // Who asks, and earlier requests.
    @exclusivity(unchecked) var identities = Identities()
    @exclusivity(unchecked) var sessions = OpenSessions()
    @exclusivity(unchecked) package internal(set) var keys: DeduplicationTable

    // The commit being made, kept to reuse its storage.
    public let plan = DispatchPlan()
    public let writeSet = Stack<StoreWrite>()
    let furtherRecords = Stack<FurtherRecords>()
    let undoLog = UndoLog()
    @exclusivity(unchecked) var timerUndo = TimerUndo()
    /// The principal of the dispatch being applied, who holds it meanwhile; stale at any other time.
    @exclusivity(unchecked) var applying: Unmanaged<Principal>?
    /// What a commit did to one store: member by member where that is enough, else as delta entries.
    package let memberChanges = MemberChanges()
    package let entries = Stack<DeltaEntry>()
    /// What the state that was made last for a new store took of what one commit may spend: its computed values, and the views
    /// that read it.
    @exclusivity(unchecked) package internal(set) var operationsOfCreation = 0
    /// Made right after the machine, which it refers to.
    @exclusivity(unchecked) private(set) var context: CommitContext!

    // The log.
    let reading = LogReading()
    @exclusivity(unchecked) var timeText = (milliseconds: -1, text: ByteWriter(capacity: 64))
    /// Where a keyed request is written for its digest.
    let keyScratch = ByteWriter(capacity: 1024)

    /// `hashSeed` seeds the hashing of addresses and keys, so that no client can choose ones that collide.
    package init(
        types: [any StateType], epoch: String, limits: BusLimits = BusLimits(), hashSeed: UInt64
    ) {
        self.epoch = epoch
        self.limits = limits
        place = .allocate(capacity: 1)
        place.initialize(to: Place(stores: StoreTable(seed: hashSeed)))
        keys = DeduplicationTable(seed: hashSeed)
        for type in types { addType(type) }
        orderTypes()
        context = CommitContext(
            reader: self,
            budget: Budget(operations: limits.commit, bytes: BusLimits.commitBytes),
            storeBudget: Budget(operations: BusLimits.storeOperations, bytes: BusLimits.storeBytes))
        context.timers = self
    }

    deinit {
        place.deinitialize(count: 1)
        place.deallocate()
    }

    /// The seed of the hashes in use.
    package var hashSeed: UInt64 { keys.seed }

    /// Types that need not be compiled from their definitions.
    package var knownTypes: [any StateType] {
        get { reading.types }
        set { reading.types = newValue }
    }

    /// How many entries of the log were applied without making values of them.
    package var entriesReadInPlace: Int { reading.inPlace }

    /// The member of a bus over several machines whose clients ask here; nil: the bus is this machine's alone.
    package var member: String? {
        get { identities.member }
        set { identities.member = newValue }
    }

    /// The number of the type with a name.
    @inline(__always)
    func typeNumber(of name: UnsafeRawBufferPointer) -> Int32? {
        if typeNames == nil { listTypeNames() }
        return typeNames!.number(of: name)
    }

    /// The type with a name.
    func type(named name: UnsafeRawBufferPointer) -> TypeEntry? {
        typeNumber(of: name).map { types[Int($0)] }
    }

    @inline(never)
    private func listTypeNames() {
        typeNames = NameTable(typesByName.values.map { (name: $0.name, number: $0.index) })
    }

    package var storeCount: Int { stores.count }

    /// What the stores count as, in bytes.
    package var stateMemory: Int {
        stateBytes + stores.count * BusLimits.storeOverhead + timers.bytes + viewTable.bytes
    }

    /// What views and indexes take of that.
    package var viewMemory: Int { viewTable.bytes }
    package var viewCount: Int { viewTable.readers.count { $0 is ViewIndex } }
    package var indexCount: Int { viewTable.readers.count { $0 is MemberIndex } }

    /// What the record of changes in parts counts as, in bytes.
    package var partsMemory: Int { (parts?.count ?? 0) * BusLimits.partRevision }

    /// Sets the time of the next entry: milliseconds since 1970. Time never goes back within a history.
    package func advance(to milliseconds: Int) { time = max(time, milliseconds) }

    /// Sets the time back: where a new history begins, and after what was only tried.
    package func turnBack(to milliseconds: Int) { time = milliseconds }

    /// Makes the next commit the one after `revision`, so that a recorded commit that is applied again gets the number
    /// it had, which expressions may read. The number may also go back by the steps that one recorded commit took here.
    /// Only for a machine without subscribers.
    package func renumber(after revision: Int) {
        precondition(revision >= 0, "Revisions count from 1.")
        self.revision = revision
        timerUndo.forget()
    }

    /// Takes over all that another machine holds, which is left with the large parts of this one: freeing them takes
    /// time in proportion, and need not be done here.
    package func become(_ other: StateMachine) {
        swap(&stores, &other.stores)
        swap(&types, &other.types)
        swap(&typesByName, &other.typesByName)
        swap(&commitOrder, &other.commitOrder)
        swap(&dropLog, &other.dropLog)
        swap(&viewTable, &other.viewTable)
        noteReaders(beside: other.viewTable.isReadElsewhere)
        swap(&keys, &other.keys)
        sessions.become(&other.sessions)
        swap(&timers, &other.timers)
        timers.noteReader(other.timers.readers)
        timerUndo.forget()
        stateBytes = other.stateBytes
        revision = other.revision
        sequence = other.sequence
        sequenceBefore = other.sequence
        identities.become(other.identities)
        (access, accessSince) = (other.access, other.accessSince)
        (parts, followsParts) = (other.parts, other.followsParts)
        noteKept()
    }

    /// Returns unused memory to the kernel.
    package func giveBackMemory() { stores.giveBackMemory() }
}
