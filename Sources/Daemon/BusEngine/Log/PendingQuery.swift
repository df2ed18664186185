/// An answer that a connection waits for.
struct PendingQuery {
    let number: Int
    /// The request's `id`, as it stood there.
    let id: [UInt8]
    let purpose: Purpose

    /// Nothing comes of it but what its connection is told.
    var isRead: Bool {
        switch purpose {
        case .reply, .actions: true
        case .revert, .reload: false
        }
    }

    enum Purpose {
        case reply
        case revert(store: String, to: Int, expected: Int?)
        case actions(Subscription)
        case reload
    }
}
