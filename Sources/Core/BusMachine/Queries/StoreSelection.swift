import BusLogic
import BusProtocol
import BusState

/// What a `get` or `stores` requests.
package struct StoreSelection: Sendable {
    package enum Answer: Sendable {
        /// States, or the selected parts of them.
        case states(Selection?)
        /// Addresses and revisions.
        case list
    }

    package let answer: Answer
    package let pattern: AddressPattern
    /// Only stores after this address.
    package let after: String?
    package let limit: Int
    /// The one store that must exist.
    package let required: String?
    /// What of it the client may see; nil: everything.
    package let view: StoreView?
    /// Which of the stores are meant; nil: all.
    package let filter: StoreFilter?

    package init(
        _ answer: Answer, of pattern: AddressPattern, after: String?, limit: Int, required: String? = nil,
        view: StoreView?, where filter: StoreFilter?
    ) {
        self.view = view
        self.filter = filter
        self.answer = answer
        self.pattern = pattern
        self.after = after
        self.limit = limit
        self.required = required
    }
}

extension AddressPattern {
    /// The one address it names; nil when it has wildcards.
    package var literalAddress: String? {
        guard type.isLiteral, name.isLiteral else { return nil }
        return text
    }
}
