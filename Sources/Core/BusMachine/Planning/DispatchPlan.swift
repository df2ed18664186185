import BusJSON
import BusLogic
import BusProtocol
import BusState

/// A dispatch to be applied: names resolved, payloads checked. Its storage is reused by all dispatches.
public final class DispatchPlan {
    /// One action as events and the log tell it.
    public struct Action {
        /// Its steps, one per state type it reaches.
        public let steps: Range<Int>
        /// For an action to every type that declares it: the payload that all of them take.
        public let payloadForEveryType: JSONObject?
        /// Which action of a batch it is; -1 outside of batches.
        public let index: Int32

        @inlinable @inline(__always)
        init(steps: Range<Int>, payloadForEveryType: JSONObject? = nil, index: Int = -1) {
            self.steps = steps
            self.payloadForEveryType = payloadForEveryType
            self.index = Int32(truncatingIfNeeded: index)
        }
    }

    /// One action on one store, or on all stores of one type.
    public struct Step {
        public unowned(unsafe) let type: TypeEntry
        public let action: Int
        /// With defaults filled in.
        public let payload: JSONObject
        /// The store; -1 for all of the type.
        public let store: Int32

        /// The members of the payload of which only a digest leaves the bus.
        @inline(__always)
        var redacted: [String] { type.redacted(of: action) }
    }

    /// What its client's trace calls it, of a dispatch that says so.
    package var traceparent: String?

    public let actions = Stack<Action>()
    public let steps = Stack<Step>()

    /// For each step the conditions of which one must hold for a store before the step is applied to it; no conditions for a
    /// step that needs none. Empty if no step needs any.
    package private(set) var conditions: [[Expression]] = [] { didSet { noteCare() } }

    /// What a client wants a store to be like before a step is applied to it.
    struct Guard {
        let step: Int
        let condition: JSON
    }

    /// Which stores of its type a step is applied to.
    struct Choice {
        let step: Int
        let filter: StoreFilter
    }

    /// In the order of their steps; a step without one is applied to all.
    private(set) var choices: [Choice] = []

    /// In the order of their steps.
    private(set) var guards: [Guard] = []
    /// The length of all expressions of clients, in bytes.
    package private(set) var guardBytes = 0 { didSet { noteCare() } }
    /// How much of the stores their client sees; nil: everything.
    private(set) var guardian: Grants?

    /// Steps are not applied one after the other without a look at the stores.
    @exclusivity(unchecked) @usableFromInline private(set) var needsCare = false

    /// `needsCare` for other modules. Not inlined: there, each read would be checked for exclusive access at run time.
    package var isCareful: Bool { @inline(never) get { needsCare } }

    private func noteCare() {
        needsCare = !conditions.isEmpty || guardBytes > 0 || !storeSteps.isEmpty
    }

    /// A store that a batch creates or drops.
    package struct StoreStep {
        package let store: Int32
        package let isCreation: Bool
        /// How many of the plan's actions come before it.
        let actions: Int
        /// Which element of its batch it is.
        let element: Int
        /// Of a creation: the state that it begins with, and its lease in milliseconds.
        var state = JSONObject()
        var lease: Int?
        /// Of a creation: it belongs to a session.
        package var isEphemeral = false
        /// Of a drop: what its client wants the store to be like.
        var condition: JSON?
        /// Of a drop by value, which names no store: those that it means, until it is applied.
        var chosen: ChosenStores?

        /// The same with so many actions before it.
        func behind(_ actions: Int) -> StoreStep {
            StoreStep(
                store: store, isCreation: isCreation, actions: actions, element: element, state: state,
                lease: lease, isEphemeral: isEphemeral)
        }

        /// The same for one of the stores that it means.
        func dropping(_ store: Int32) -> StoreStep {
            StoreStep(store: store, isCreation: false, actions: actions, element: element)
        }
    }

    /// The stores of a type for which an expression holds.
    package struct ChosenStores {
        package let type: TypeEntry
        let filter: StoreFilter
        /// Who must have created them; nil: anybody.
        let creator: Int32?
    }

    /// By store, the elements of a batch that leave it as it is, in their order.
    private(set) var kept: [Int32: [Int]] = [:]

    /// Notes that an element leaves a store as it is.
    func keep(_ store: Int32, _ element: Int) {
        // Without expressions nothing is dropped by value, and `clear` may not look at this.
        if guardBytes > 0 { kept[store, default: []].append(element) }
    }

    /// In their order.
    package internal(set) var storeSteps: [StoreStep] = [] { didSet { noteCare() } }
    /// How many of them are applied: addresses are as after these.
    var storeStepsDone = 0

    package let conditionCache = ConditionCache()

    /// What a step returns of one store.
    package struct Returned {
        package let step: Int
        /// The store's, which may be gone when it is told.
        package let address: String
        package let value: JSON
    }

    /// What the steps that were applied return, in their order.
    @exclusivity(unchecked) package private(set) var returned: [Returned] = []
    /// Their size, in bytes; 0 where they return nothing.
    @exclusivity(unchecked) @usableFromInline package private(set) var returnedBytes = 0

    @inlinable var hasReturned: Bool { returnedBytes > 0 }

    package func note(_ returned: Returned, _ bytes: Int) {
        self.returned.append(returned)
        returnedBytes += bytes
    }

    /// The steps are to be applied again, or are forgotten.
    @usableFromInline package func forgetReturned() {
        returned = []
        returnedBytes = 0
    }

    @inlinable @inline(__always)
    public func clear() {
        if actions.isEmpty && steps.isEmpty && !needsCare { return }
        actions.clear { $0.pointee.payloadForEveryType != nil }
        steps.clear()
        if hasReturned { forgetReturned() }
        if needsCare { dropCare() }
    }

    @usableFromInline func dropCare() {
        precondition(storeStepsDone == 0, "What a plan has done to stores is committed or rolled back.")
        (conditions, storeSteps, kept) = ([], [], [:])
        (guards, guardBytes, guardian, choices) = ([], 0, nil, [])
    }

    /// Makes the last step depend on a client's condition on its store. Throws where that would be too much of them.
    func demand(_ condition: JSON, seenBy grants: Grants?) throws(RequestError) {
        try count(condition, seenBy: grants)
        guards.append(Guard(step: steps.count - 1, condition: condition))
    }

    /// Has the steps from one on reach only the stores that a client has chosen.
    func choose(by filter: StoreFilter, from first: Int) throws(RequestError) {
        try count(filter.source, as: .where)
        for step in first..<steps.count { choices.append(Choice(step: step, filter: filter)) }
    }

    /// Which stores of its type a step is applied to; nil: all, or one.
    func filter(ofStep step: Int) -> StoreFilter? {
        if !needsCare { return nil }
        var (place, end) = (0, choices.count)
        while place < end {
            let middle = (place + end) / 2
            if choices[middle].step < step { place = middle + 1 } else { end = middle }
        }
        return place < choices.count && choices[place].step == step ? choices[place].filter : nil
    }

    /// Remembers who wants a store to be like something before it is dropped.
    func count(_ condition: JSON, seenBy grants: Grants?) throws(RequestError) {
        try count(condition)
        guardian = grants
    }

    func count(_ condition: JSON, as member: Member = .if) throws(RequestError) {
        guardBytes += condition.encodedSize
        guard guardBytes <= BusLimits.conditions else {
            throw RequestError(
                .tooLarge,
                "The conditions of a dispatch have at most \(BusLimits.conditions) bytes together; send several dispatches."
            ).with("member", .string(member.name))
        }
    }

    /// Makes steps depend on conditions: of each step those that are at its place here.
    package func impose(_ conditions: [[Expression]]) { self.conditions = conditions }

    /// How many stores are looked at for drops by value.
    package var choosable: Int { storeSteps.reduce(0) { $0 + ($1.chosen?.type.count ?? 0) } }

    /// How many stores it reaches; a store counts again with each action.
    package var reach: Int { steps.indices.reduce(0) { $0 + reach(ofStep: $1) } }

    /// How many stores a step is about: one, or all of its type.
    @inline(__always)
    func reach(ofStep index: Int) -> Int {
        // In place: a copy of a step would count references.
        let step = steps.elements.baseAddress! + index
        if step.pointee.store >= 0 { return 1 }
        return Unmanaged.passUnretained(step.pointee.type)._withUnsafeGuaranteedRef { $0.count }
    }
}
