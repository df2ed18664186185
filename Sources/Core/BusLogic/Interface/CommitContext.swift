import BusJSON
import BusState

/// What expressions may read besides state and payload, the same for all stores of a commit but for `store`,
/// and the budget they spend. The engine keeps one and refills it for each commit.
///
/// Its facts stand behind a constant pointer: they are read and written whole and by one serial owner, and the
/// run-time check for overlapping accesses would cost as much as a small mutation.
package final class CommitContext {
    package struct Facts {
        package var time: Double = 0
        package var revision = 0
        package var uid: Int?
        package var store = 0
        package var budget: Budget
        /// Whether `prior` has any states.
        package var keepsPrior = false
        /// What the action that was applied last returns, until it is taken.
        package var result: JSON?
        /// Whether there is anything in `turning`.
        package var hasTurning = false
    }

    package typealias Place = UnsafeMutablePointer<Facts>

    package let facts: Place

    /// The commit's time, in seconds since 1970.
    package var time: Double {
        get { facts.pointee.time }
        set { facts.pointee.time = newValue }
    }
    /// The revision the commit will have.
    package var revision: Int {
        get { facts.pointee.revision }
        set { facts.pointee.revision = newValue }
    }
    /// The client's user id, where the kernel told it.
    package var uid: Int? {
        get { facts.pointee.uid }
        set { facts.pointee.uid = newValue }
    }
    /// The store that is being committed to, as the reader knows it.
    package var store: Int {
        get { facts.pointee.store }
        set { facts.pointee.store = newValue }
    }
    /// What is left of the commit's budget; each store takes at most `storeBudget` of it.
    package var budget: Budget {
        get { facts.pointee.budget }
        set { facts.pointee.budget = newValue }
    }
    /// Whether actions write members that no definition names though it says by `state` that there are no others. They did
    /// once, so what was committed then is applied again like that.
    package var takesUnnamedMembers = false
    /// Whether an action is refused whose `when` fails, as entries were that were made by earlier rules.
    package var refusesFailedConditions = false
    /// Whether the rules are late enough that an action pays for the members that it moves, with each write, and for the changes
    /// that `merge` goes through.
    var hasPrices: Bool { facts.pointee.budget.hasPrices }
    /// What is committed was accepted before, and comes from the log.
    package var isReplaying = false
    /// What one store may spend in one action.
    package let storeBudget: Budget

    /// The stores to which the commit may have written what the timers of their types read, and which of these held before.
    package var turning: [Int: UInt64] = [:]

    /// What one action writes to one store, from when it is worked out until it is written.
    let values = Stack<JSON>()

    /// States before the action that is applied, by store, of types whose stores read each other.
    package private(set) var prior: [Int: JSONObject] = [:]

    /// Keeps the state of a store before an action; a batch may reach a store again.
    package func keep(_ state: JSONObject, of store: Int) {
        if prior[store] == nil { prior[store] = state }
        facts.pointee.keepsPrior = true
    }

    package func forgetPrior() {
        prior = [:]
        facts.pointee.keepsPrior = false
    }

    /// The writes of an action whose number or places only data tells, from when they are worked out until they are applied.
    var planned: [DynamicWrites.Planned] = []

    /// What all expressions of a commit are evaluated in, one after the other, so that none has to set it up.
    let evaluation: UnsafeMutablePointer<Evaluation>

    /// Answers questions about stores.
    package unowned let reader: any StoreReader
    /// Keeps the timers of stores; nil where nobody does, and actions set none.
    package unowned var timers: (any TimerKeeper)?

    package init(reader: any StoreReader, budget: Budget, storeBudget: Budget) {
        self.reader = reader
        facts = .allocate(capacity: 1)
        facts.initialize(to: Facts(budget: budget))
        self.storeBudget = storeBudget
        evaluation = .allocate(capacity: 1)
        evaluation.initialize(to: Evaluation())
    }

    deinit {
        facts.deallocate()
        evaluation.deinitialize(count: 1)
        evaluation.deallocate()
    }
}

/// How much work expressions may do: every evaluated operation counts one, every produced string or array
/// counts its bytes (an array element or object member counts 16).
package struct Budget: Sendable {
    package var operations: Int
    package var bytes: Int
    /// The bytes of long texts and keys that may be read where an operation does not say how long they are: a number is
    /// looked for in a text, keys are compared. It is the commit's alone: where it is used up the commit is refused, and
    /// no computed value becomes null. So the entries of a log, which were committed, are applied without it.
    package var reading: Int
    /// Whether members that are moved are paid for with each write, and the changes that `merge` goes through.
    /// Entries of a shared log that were made by earlier rules do not pay for them.
    package var hasPrices: Bool

    package init(operations: Int, bytes: Int, reading: Int = .max, hasPrices: Bool = true) {
        self.operations = operations
        self.bytes = bytes
        self.reading = reading
        self.hasPrices = hasPrices
    }
}

/// What a mutation may ask about stores: its own address, and states of types it waits for.
package protocol StoreReader: AnyObject {
    /// The address of a store.
    func address(of store: Int) -> String
    /// The state of the store at an address as it stands now; nil when there is none.
    func state(at address: String) -> JSONObject?
    /// How many stores a type has.
    func storeCount(ofType type: String) -> Int
    /// The addresses of a type's stores, ascending.
    func addresses(ofType type: String) -> [String]
    /// Who makes the commit: `roles`, `uid`, `user`, `unit` and `token`, as far as they are known.
    var who: JSON { get }
}
