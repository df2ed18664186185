import BusJSON
import BusLogic
import BusProtocol

/// A commit pays for what it makes views evaluate before it is made: once views are brought up to date, nothing can be refused
/// any more.
///
/// The price is found by evaluating the same expressions in advance, so the few that most commits need are free. They still count as
/// work of the client that caused them: see `operationsBeside`. Not paid for are views of views, whose changes are not known yet;
/// starts and new definitions, which are the operator's; the first commit of a bus, which puts its views together; and the
/// computed values of views, which count as work all the same.
extension StateMachine {
    /// Takes from the budget of a dispatch what views will evaluate of the stores that it writes and creates.
    @inline(never)
    func payForViews(_ budget: inout Budget) throws(RequestError) {
        let table = viewTable
        if rules < BusLimits.rulesOfPrices { return }
        let stores = writeSet.count + (plan.needsCare ? plan.storeSteps.count : 0)
        if stores * table.expressions <= limits.evaluations { return }
        let batch = plan.needsCare ? appliedStores() : nil
        if batch == nil, undoLog.writesOnly(to: table.unread) { return }
        gatherChanges(batch.map { CommitDetails($0) }, table)
        try payForChanges(table, &budget)
    }

    /// Takes what views will evaluate of a new state of a store, or of the state of a new store. Throws if that is more than a
    /// commit may spend that has already spent some.
    package func payForViews(
        of state: JSONObject, in store: Int32? = nil, of type: TypeEntry, spent operations: Int = 0
    ) throws(RequestError) {
        if rules < BusLimits.rulesOfPrices || type.viewReaders == nil { return }
        var budget = commitBudget
        budget.operations -= operations
        // No view has a row for a store of this number.
        viewTable.changes.append(
            SourceChange(store: store ?? .max, type: type.index, kind: .replaced(state)))
        try counting(budget) { (left) throws(RequestError) in try payForChanges(viewTable, &left) }
    }

    private func payForChanges(_ table: ViewTable, _ budget: inout Budget) throws(RequestError) {
        defer {
            table.changes.clear()
            table.masks.clear()
        }
        var expressions = 0
        for index in table.changes.indices {
            forEachReader(of: table.changes[index], table) { reader, _ in expressions += reader.expressions }
        }
        if expressions <= limits.evaluations { return }
        for index in table.changes.indices {
            let change = table.changes[index]
            withState(after: change) { state in
                forEachReader(of: change, table) {
                    $0.pay(for: change.store, state, changed: $1, from: &budget)
                }
            }
            guard budget.operations < 0 else { continue }
            let advice =
                table.changes.count > 1
                ? "change fewer stores in one dispatch" : "keep less in this store, or have them do less"
            throw RequestError(
                .rejected,
                "The commit's budget is used up by the views that read what it changes; \(advice).")
        }
    }

    /// Calls with each reader that a change may have evaluate something, and with what the change means to that reader.
    @inline(__always)
    private func forEachReader(
        of change: SourceChange, _ table: ViewTable, _ body: (SourceReader, UInt64) -> Void
    ) {
        for (column, place) in types[Int(change.type)].viewReaders!.places.enumerated() {
            let mask = table.mask(of: change, at: column)
            if mask != 0 { body(table.readers[place], mask) }
        }
    }
}
