import BusJSON
import BusLogic
import BusSource

/// One test of a state type or of a view, as a file says it: stores and a time to begin with, dispatches, and what holds after
/// them.
package struct TypeTest: Sendable {
    /// A dispatch, or only time that passes.
    struct Step: Sendable {
        let place: Place
        /// How long passes before it, in milliseconds.
        var delay = 0
        /// What it is called in messages: the action.
        var action = ""
        /// The dispatch; nil where only time passes.
        var request: JSONObject?
    }

    /// A store other than the one that is tested.
    struct OtherStore: Sendable {
        let address: String
        let state: JSONObject
        let place: Place
    }

    /// What becomes of the last dispatch.
    enum Rejection: Sendable {
        case none
        case any(Place)
        /// The error's message has this text in it.
        case saying(String, Place)
    }

    package let name: String
    package let type: String
    package let place: Place
    let store: String
    /// The store is one of a view: the bus makes it of the others.
    let isOfView: Bool
    let given: LocatedObject?
    let others: [OtherStore]
    /// When it begins, in milliseconds since 1970.
    let time: Int
    let uid: Int
    let steps: [Step]
    let state: LocatedValue?
    let rejection: Rejection
    /// Where the test says that the state stays.
    let unchanged: Place?
    let result: LocatedValue?
}
