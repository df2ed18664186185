/// The properties of a state machine that other modules read with every commit.
///
/// They are stored behind a constant pointer: in other modules the compiler checks every access to a property of a
/// class for overlap at run time, which would cost a plain dispatch 1,200 instructions, two fifths more. One serial
/// owner makes all accesses, so none overlap.
extension StateMachine {
    @usableFromInline
    struct Place {
        @usableFromInline var time = 0
        @usableFromInline var revision = 0
        @usableFromInline var sequence = 0
        @usableFromInline var sequenceBefore = 0
        @usableFromInline var changed = 0
        @usableFromInline var stateBytes = 0
        @usableFromInline var operationsSpent = 0
        @usableFromInline var operationsBeside = 0
        @usableFromInline var operationsOfViews = 0
        @usableFromInline var largeWriteSets = 0
        @usableFromInline var timersSet = 0
        /// Whether anything depends on what commits write: views, indexes, or conditions of subscriptions.
        @usableFromInline var isWatched = false
        /// Whether the commit being made may have written something that one of these reads.
        @usableFromInline var isRead = false
        /// Whether the log keeps less than all of some type.
        @usableFromInline var keepsLess = false
        var appliesLogPolicies = false
        var forgottenThrough = 0
        var viewTable = ViewTable()
        @usableFromInline var types: [TypeEntry] = []
        @usableFromInline var stores: StoreTable

        init(stores: StoreTable) { self.stores = stores }
    }

    /// The time of the entry being applied, in milliseconds since 1970.
    public internal(set) var time: Int {
        @inlinable get { place.pointee.time }
        set { place.pointee.time = newValue }
    }

    public internal(set) var revision: Int {
        @inlinable get { place.pointee.revision }
        set { place.pointee.revision = newValue }
    }

    /// Counts changes to stores; see `StoreRecord.sequence`.
    public internal(set) var sequence: Int {
        @inlinable get { place.pointee.sequence }
        set { place.pointee.sequence = newValue }
    }

    /// Its value before the commit being made.
    public internal(set) var sequenceBefore: Int {
        @inlinable get { place.pointee.sequenceBefore }
        set { place.pointee.sequenceBefore = newValue }
    }

    /// How many stores the commit has changed so far.
    public internal(set) var changed: Int {
        @inlinable get { place.pointee.changed }
        set { place.pointee.changed = newValue }
    }

    /// The sum of all states' sizes, in bytes.
    public internal(set) var stateBytes: Int {
        @inlinable get { place.pointee.stateBytes }
        set { place.pointee.stateBytes = newValue }
    }

    /// The operations that the last attempt to apply something took.
    public internal(set) var operationsSpent: Int {
        @inlinable get { place.pointee.operationsSpent }
        set { place.pointee.operationsSpent = newValue }
    }

    /// The operations so far that `operationsSpent` does not count, also of what was refused; it only grows. They are those of new
    /// and reverted states and their timers, of what these pay for views, of conditions that are asked before applying, and of
    /// views that follow a commit.
    public internal(set) var operationsBeside: Int {
        @inlinable get { place.pointee.operationsBeside }
        set { place.pointee.operationsBeside = newValue }
    }

    /// Those that views took in the last commit for which `isRead` held.
    public internal(set) var operationsOfViews: Int {
        @inlinable get { place.pointee.operationsOfViews }
        set { place.pointee.operationsOfViews = newValue }
    }

    /// How often something was applied to so many stores that the storage it needed should be released some time.
    public internal(set) var largeWriteSets: Int {
        @inlinable get { place.pointee.largeWriteSets }
        set { place.pointee.largeWriteSets = newValue }
    }

    /// Whether what was applied last returns anything.
    public var hasReturned: Bool { @inlinable get { plan.hasReturned } }

    /// How many timers dispatches have ever set, whether or not they were committed.
    public internal(set) var timersSet: Int {
        @inlinable get { place.pointee.timersSet }
        set { place.pointee.timersSet = newValue }
    }

    /// What the bus works out from the stores there are.
    var viewTable: ViewTable {
        get { place.pointee.viewTable }
        set { place.pointee.viewTable = newValue }
    }

    /// Whether the plan reaches more than one store.
    @inline(__always)
    package var isPlanWide: Bool {
        guard plan.steps.count == 1 else { return plan.steps.count > 1 }
        return plan.reach(ofStep: 0) > 1
    }

    /// By index; never shrinks.
    public internal(set) var types: [TypeEntry] {
        @inlinable unsafeAddress { UnsafePointer(place.pointer(to: \.types)!) }
        unsafeMutableAddress { place.pointer(to: \.types)! }
    }

    public internal(set) var stores: StoreTable {
        @inlinable unsafeAddress { UnsafePointer(place.pointer(to: \.stores)!) }
        unsafeMutableAddress { place.pointer(to: \.stores)! }
    }
}
