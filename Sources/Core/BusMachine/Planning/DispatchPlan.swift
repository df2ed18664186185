import BusJSON
import BusLogic
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
    }

    public let actions = Stack<Action>()
    public let steps = Stack<Step>()

    /// What must hold of a store before a step is applied to it: of each step its conditions, one of which suffices; none
    /// where it needs none. Empty where no step needs any.
    package private(set) var conditions: [[Expression]] = [] {
        didSet { hasConditions = !conditions.isEmpty }
    }
    @exclusivity(unchecked) @usableFromInline private(set) var hasConditions = false

    @inlinable @inline(__always)
    public func clear() {
        if actions.isEmpty && steps.isEmpty { return }
        actions.clear()
        steps.clear()
        if hasConditions { liftConditions() }
    }

    /// Makes steps depend on conditions: of each step those that are at its place here.
    package func impose(_ conditions: [[Expression]]) { self.conditions = conditions }

    /// The steps depend on nothing.
    @usableFromInline package func liftConditions() { conditions = [] }

    /// How many stores it reaches; a store counts again with each action.
    package var reach: Int {
        steps.elements.reduce(0) { $0 + ($1.store >= 0 ? 1 : $1.type.count) }
    }
}
