import BusJSON

/// What expressions may read besides state and payload, the same for all stores of a commit but for `store`,
/// and the budget they spend. The engine keeps one and fills it anew for each commit.
///
/// Its members are read and written whole and by one serial owner, so the run-time check for overlapping
/// accesses, which costs as much as a small mutation, is left out.
package final class CommitContext {
    /// The commit's time, in seconds since 1970.
    @exclusivity(unchecked) package var time: Double = 0
    /// The revision the commit will have.
    @exclusivity(unchecked) package var revision = 0
    /// The client's user id, where the kernel told it.
    @exclusivity(unchecked) package var uid: Int?
    /// The store that is being committed to, as the reader knows it.
    @exclusivity(unchecked) package var store = 0

    /// What is left of the commit's budget; each store takes at most `storeBudget` of it.
    @exclusivity(unchecked) package var budget: Budget
    /// What one store may spend in one action.
    package let storeBudget: Budget

    /// Answers questions about stores.
    package unowned let reader: any StoreReader

    package init(reader: any StoreReader, budget: Budget, storeBudget: Budget) {
        self.reader = reader
        self.budget = budget
        self.storeBudget = storeBudget
    }
}

/// How much work expressions may do: every evaluated operation counts one, every produced string or array
/// counts its bytes (an array element or object member counts 16).
package struct Budget: Sendable {
    package var operations: Int
    package var bytes: Int

    package init(operations: Int, bytes: Int) {
        self.operations = operations
        self.bytes = bytes
    }
}

/// What a mutation may ask about stores: its own address, and states of types it waits for.
package protocol StoreReader: AnyObject {
    /// The address of a store.
    func address(of store: Int) -> String
    /// The state of the store at an address as it stands now; nil when there is none.
    func state(at address: String) -> JSONObject?
    /// The addresses of a type's stores, ascending.
    func addresses(ofType type: String) -> [String]
}
