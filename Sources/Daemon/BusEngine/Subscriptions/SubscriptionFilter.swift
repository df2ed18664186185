import BusLogic
import BusMachine
import BusProtocol
import BusState

/// All that makes two subscriptions alike: the stores, the selection and the format.
struct SubscriptionFilter: Hashable {
    enum Format: String, CaseIterable { case merge, patch, state }

    let pattern: AddressPattern
    /// Which of the stores are wanted, by what they are like; nil: all.
    let chosen: StoreFilter?
    /// The selection, each token as its bytes: as strings, tokens with different bytes could be equal.
    let pointers: [[[UInt8]]]?
    let format: Format
    var cause: Bool
    let actions: Bool
    /// Whose view of the stores it is, where the access rules do not show all that the pattern matches; else nil. Who has
    /// the same roles sees the same.
    var view: Grants?

    /// Action subscriptions carry no state, so format, selection and cause are ignored.
    init(
        pattern: AddressPattern, where chosen: StoreFilter?, pointers: [[String]]?, format: Format,
        cause: Bool, actions: Bool
    ) {
        self.pattern = pattern
        self.chosen = chosen
        self.pointers = actions ? nil : pointers?.map { $0.map { Array($0.utf8) } }
        self.format = actions ? .merge : format
        self.cause = actions ? false : cause
        self.actions = actions
    }

    /// What of a wanted subscription is delivered under the access rules.
    func granted(to grants: Grants?) -> SubscriptionFilter {
        guard let grants else { return self }
        var filter = self
        if filter.cause, !grants.knowsEverything { filter.cause = false }
        // Actions that are not shown count in no batch, so even who is shown all of a pattern has a view of them.
        let isWhole = actions ? grants.knowsEverything : grants.showsAll(of: pattern)
        if !isWhole { filter.view = grants }
        return filter
    }

    /// The selection, as tokens.
    var selected: [[String]]? {
        pointers?.map { $0.map { String(decoding: $0, as: UTF8.self) } }
    }

    /// Whether the access rules show a store to its subscribers.
    func shows(_ name: String, ofType type: String) -> Bool {
        guard let view else { return true }
        return actions ? view.knowsHistory(of: name, ofType: type) : view.shows(name, ofType: type)
    }

    /// The parts of a store that its subscribers see and want; nil: all of it.
    func selection(of name: String, ofType type: String) -> Selection? {
        guard let view, case .parts(let parts) = view.visibility(of: name, ofType: type) else {
            return selected.map { Selection($0) }
        }
        return selected.map { Selection($0).intersection(parts) } ?? parts
    }

    /// What a group with this filter counts as in memory, before any store is in it.
    var memory: Int {
        let expression = chosen?.memory ?? 0
        return (pointers ?? []).reduce(DaemonLimits.groupBytes + expression) { sum, tokens in
            tokens.reduce(sum + 64) { $0 + 128 + 3 * $1.count }
        }
    }
}
