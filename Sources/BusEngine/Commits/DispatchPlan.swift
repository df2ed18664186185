import BusJSON
import BusLogic
import BusState

/// What a dispatch is going to do: names resolved, payloads checked. Its storage serves all dispatches.
final class DispatchPlan {
    /// One action as it was asked for, for events and the log.
    struct Action {
        let target: Target
        let name: String
        /// With defaults filled in.
        let payload: JSONObject
        /// Its steps, one per state type it reaches.
        let steps: Range<Int>
    }

    enum Target {
        case everyType
        case type(String)
        case store(String)
    }

    /// One action on one store, or on all stores of one type.
    struct Step {
        let type: TypeEntry
        let action: Int
        let payload: JSONObject
        /// The store; -1 for all of the type.
        let store: Int32
    }

    let actions = Stack<Action>()
    let steps = Stack<Step>()

    func clear() {
        actions.clear()
        steps.clear()
    }
}

/// A store as the commit being made touches it.
struct Touch {
    let store: Int32
    /// What the store's size was before.
    let size: Int32
    /// Its journal records, per action: the first range, and further ones of a batch.
    var records: Range<Int>
    var further: [Range<Int>] = []
}
