import BusJSON
import BusLogic
import BusState

/// What a dispatch is going to do: names resolved, payloads checked. Its storage serves all dispatches.
final class DispatchPlan {
    /// One action as it was asked for, for events and the log.
    struct Action {
        /// Its steps, one per state type it reaches.
        let steps: Range<Int>
        /// For an action to every type that declares it: the payload as it was sent.
        let payloadForEveryType: JSONObject?
    }

    /// One action on one store, or on all stores of one type.
    struct Step {
        unowned(unsafe) let type: TypeEntry
        let action: Int
        /// With defaults filled in.
        let payload: JSONObject
        /// The store; -1 for all of the type.
        let store: Int32
    }

    let actions = Stack<Action>()
    let steps = Stack<Step>()

    @inline(__always)
    func clear() {
        if actions.isEmpty && steps.isEmpty { return }
        actions.clear()
        steps.clear()
    }
}

/// A store as the commit being made touches it.
struct Touch {
    let store: Int32
    /// What the store's size was before.
    let size: Int32
    /// Its journal records.
    var records: Range<Int>
    /// Where the last of its further records stand, if a batch reached it again; else -1.
    var further: Int32 = -1
}

/// Records of a store that a batch reached again.
struct FurtherRecords {
    let touch: Int32
    let records: Range<Int>
    /// Where those before them stand; -1 when they are the first.
    let before: Int32
}
