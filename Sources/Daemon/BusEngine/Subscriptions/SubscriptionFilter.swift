import BusProtocol

/// All that makes two subscriptions alike: the stores, the selection and the format.
struct SubscriptionFilter: Hashable {
    enum Format: String, CaseIterable { case merge, patch, state }

    let pattern: AddressPattern
    /// The selection, each token as its bytes: as strings, tokens with different bytes could be equal.
    let pointers: [[[UInt8]]]?
    let format: Format
    let cause: Bool
    let actions: Bool

    /// Action subscriptions carry no state, so format, selection and cause are ignored.
    init(pattern: AddressPattern, pointers: [[String]]?, format: Format, cause: Bool, actions: Bool) {
        self.pattern = pattern
        self.pointers = actions ? nil : pointers?.map { $0.map { Array($0.utf8) } }
        self.format = actions ? .merge : format
        self.cause = actions ? false : cause
        self.actions = actions
    }

    /// What a group with this filter counts as in memory, before any store is in it.
    var memory: Int {
        (pointers ?? []).reduce(DaemonLimits.groupBytes) { sum, tokens in
            tokens.reduce(sum + 64) { $0 + 128 + 3 * $1.count }
        }
    }
}
