/// Why a mutation refused an action: a `require` that was false, a write that could not be done, arithmetic
/// out of range, or the budget. Nothing has changed then.
package struct Rejection: Error, Sendable {
    /// One sentence that names the store, the action and the reason.
    package let message: String
    /// The store's address.
    package let store: String
    package let action: String
    /// The dotted path of the write that failed, if one did.
    package let path: String?
    /// What may be said to somebody who may not read the state, behind `refused ACTION: `.
    package let kind: Kind

    /// What kind of reason there was: nothing of it depends on the state.
    package enum Kind: Sendable {
        /// `require` was not met; the text that the type gives for that, where it is a constant.
        case requirement(String?)
        /// An expression could not be evaluated.
        case expression
        /// A write was not possible.
        case write
        /// The state would not be what its schema says.
        case schema
        /// The state would break an invariant; the text that the type gives for that, where it is a constant.
        case invariant(String?)
        /// A timer could not be set.
        case timer
        /// The commit's budget is used up.
        case budget
        /// The mutation of a type in code failed.
        case code

        package var text: String {
            switch self {
            case .requirement(let text): text ?? "what it requires does not hold"
            case .expression: "an expression of it can't be evaluated"
            case .write: "a write of it is not possible"
            case .schema: "the state would not be what its type says"
            case .invariant(let text): text ?? "an invariant of its type would not hold"
            case .timer: "a timer of it can't be set"
            case .budget: "the commit's budget is used up"
            case .code: "its mutation failed"
            }
        }
    }

    package init(
        message: String, store: String, action: String, path: String? = nil, kind: Kind = .code
    ) {
        self.kind = kind
        self.message = message
        self.store = store
        self.action = action
        self.path = path
    }
}
