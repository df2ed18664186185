/// Errors of this library, each with a message that says what to do.
public enum FluxError: Error, Equatable, Sendable, CustomStringConvertible {
    /// A mutation dispatched. The commit was rolled back and the inner dispatch refused.
    case dispatchInMutation(action: String)
    /// No reducer handled the action.
    case unhandledAction(action: String)
    /// Two reducers are for the same sub-state, or can't be told apart for certain.
    case duplicateReducer(first: String, second: String)
    /// A reducer's sub-state lies inside another one's.
    case nestedReducer(outer: String, inner: String)
    /// A lens looked for an element that is not there.
    case missingElement(lens: String)
    /// A relay is attached already.
    case relayAttached(state: String)
    /// The store was released before it committed the action.
    case storeGone(state: String)
    /// Handlers of one dispatch wait for each other.
    case waitCycle(outcome: String)
    /// A handler waits for a token that is not registered.
    case unknownToken(outcome: String)
    /// A recording has no such step.
    case unknownStep(step: Int, count: Int)
    /// A timer can't be set.
    case timerRefused(timer: String, reason: String)

    public var description: String {
        switch self {
        case .dispatchInMutation(let action):
            "The mutation of \(action) dispatched; let an action, a middleware or an observer dispatch instead."
        case .unhandledAction(let action):
            "No reducer handles \(action); add one that does, or don't dispatch it to this store."
        case .duplicateReducer(let first, let second):
            "\(first) and \(second) may be the same sub-state; let exactly one reducer change it."
        case .nestedReducer(let outer, let inner):
            "\(inner) lies inside \(outer), which has a reducer already; let one reducer change both."
        case .missingElement(let lens):
            "There is no element \(lens) in the state; dispatch only for elements that exist."
        case .relayAttached(let state):
            "A relay is attached to Store<\(state)> already; detach it before attaching another."
        case .storeGone(let state):
            "The Store<\(state)> went before the action was committed; keep the store until then."
        case .waitCycle(let outcome):
            "Handlers of \(outcome) wait for each other in a circle; let one of them wait for nobody."
        case .unknownToken(let outcome):
            "A handler of \(outcome) waits for a token that is not registered; wait only for registered ones."
        case .unknownStep(let step, let count):
            "The recording has \(count) steps, no step \(step); replay up to a step within 0...\(count)."
        case .timerRefused(let timer, let reason):
            "The timer \(timer) can't be set: \(reason)."
        }
    }
}
