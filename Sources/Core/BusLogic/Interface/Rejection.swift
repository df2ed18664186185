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

    package init(message: String, store: String, action: String, path: String? = nil) {
        self.message = message
        self.store = store
        self.action = action
        self.path = path
    }
}
