import BusJSON
import BusLogic
import BusProtocol
import BusState
import Dispatch

/// A state type whose only action does not return until it is let: what a mistake in a compiled type may do to the commit
/// queue.
final class WedgingType: StateType {
    let entered = DispatchSemaphore(value: 0)
    let released = DispatchSemaphore(value: 0)

    let name = "wedge"
    let definition: JSON = ["type": "wedge", "initial": [:], "actions": ["hang": [:]]]
    let initial = JSONObject()
    let waitFor: [String] = []
    let actionNames = ["hang"]

    func accept(_ payload: JSONObject, for action: Int) throws(PayloadFailure) -> JSONObject { payload }

    func commit(
        _ action: Int, payload: JSONObject, to draft: inout Draft, in context: CommitContext
    ) throws(Rejection) -> Bool {
        entered.signal()
        released.wait()
        return true
    }

    func state(
        _ members: JSONObject, from origin: StateOrigin, spending budget: inout Budget
    ) throws(PayloadFailure) -> JSONObject {
        members
    }
}
