import BusJSON
import BusLogic
import BusProtocol

/// Stores that a batch creates and drops, at their places among its actions.
///
/// They are planned first: a store that is created has a record, and addresses are as they will be, so that later elements are
/// planned with them. Then `endPlanning` gives all addresses back. Where the plan is applied, each step happens again in its
/// place. `rollback` takes back what was applied, and `releaseStores` the records.
extension StateMachine {
    // MARK: Planning

    /// Plans the creation of a store. Throws where its address is taken.
    package func planCreation(
        _ parts: AddressParts, of entry: TypeEntry, _ state: JSONObject, lease: Int?, isEphemeral: Bool,
        by creator: Principal, _ element: Int
    ) {
        let store = makeRecord(parts.name, of: entry, state, creator: creator.number)
        plan.storeSteps.append(
            .init(
                store: store, isCreation: true, actions: plan.actions.count, element: element, state: state,
                lease: lease, isEphemeral: isEphemeral))
        plan.storeStepsDone += 1
    }

    /// Plans the drop of a store that is as its client wants it, as far as somebody with these grants sees it.
    package func planDrop(
        of store: Int32, where wanted: Precondition, seenBy grants: Grants?, _ element: Int
    ) throws(RequestError) {
        try require(wanted.revision, of: store, seenBy: grants)
        if let condition = wanted.condition { try plan.count(condition, seenBy: grants) }
        stores.hide(store)
        plan.storeSteps.append(
            .init(
                store: store, isCreation: false, actions: plan.actions.count, element: element,
                condition: wanted.condition))
        plan.storeStepsDone += 1
    }

    /// Plans the drop of all stores of a type for which an expression holds when the plan is applied; with `creator` all must be
    /// of that identity. Later elements of the batch are planned as if these stores stayed.
    package func planDrop(
        of entry: TypeEntry, where filter: JSON, createdBy creator: Int32?, _ element: Int
    ) throws(RequestError) {
        try plan.count(filter, as: .where)
        let chosen = DispatchPlan.ChosenStores(
            type: entry, filter: try self.filter(filter), creator: creator)
        plan.storeSteps.append(
            .init(
                store: -1, isCreation: false, actions: plan.actions.count, element: element, chosen: chosen))
        plan.storeStepsDone += 1
    }

    /// Notes that an element leaves a store as it is: no drop by value before it may take that store.
    package func planKeeping(of store: Int32, _ element: Int) {
        // By earlier rules, such a drop takes it all the same.
        if rules >= BusLimits.rulesOfCopies { plan.keep(store, element) }
    }

    /// Ends planning, whether or not it succeeded: addresses are as before the batch.
    package func endPlanning() {
        for step in plan.storeSteps[..<plan.storeStepsDone].reversed() where step.chosen == nil {
            if step.isCreation { stores.hide(step.store) } else { stores.reveal(step.store) }
        }
        plan.storeStepsDone = 0
    }

    /// Frees the records of stores that were planned, if the plan is neither applied nor committed.
    package func releaseStores() {
        precondition(plan.storeStepsDone == 0, "What was applied is rolled back first.")
        for step in plan.storeSteps where step.isCreation { stores.free(step.store) }
        plan.storeSteps = []
    }

    // MARK: Applying

    /// Creates and drops what comes before an action of the plan.
    func applyStoreSteps(before action: Int, _ facts: CommitContext.Place) throws(RequestError) {
        while plan.storeStepsDone < plan.storeSteps.count,
            plan.storeSteps[plan.storeStepsDone].actions <= action
        {
            let step = plan.storeSteps[plan.storeStepsDone]
            do throws(RequestError) {
                if let chosen = step.chosen { try choose(chosen, facts) } else { try apply(step, facts) }
            } catch {
                throw step.element < 0 ? error : error.at(step.element)
            }
            if step.chosen != nil, !plan.kept.isEmpty { try requireKept(by: step) }
        }
    }

    /// Puts drops of the stores that are meant now in the place of a drop by value, to be applied next.
    private func choose(
        _ chosen: DispatchPlan.ChosenStores, _ facts: CommitContext.Place
    ) throws(RequestError) {
        let (place, meta) = (plan.storeStepsDone, metaOfCommit)
        let step = plan.storeSteps[place]
        var drops: [DispatchPlan.StoreStep] = []
        for store in members(of: chosen.type, for: chosen.filter) where store >= 0 {
            guard try matches(store, chosen.filter, meta, &facts.pointee.budget) else { continue }
            guard chosen.creator == nil || stores.pointer(store).pointee.creator == chosen.creator else {
                throw notOwned(store)
            }
            guard drops.count < BusLimits.chosenDrops else {
                throw RequestError(
                    .limit,
                    "`where` means more than \(BusLimits.chosenDrops) stores of \(chosen.type.name), as many as one commit may drop; have it mean fewer, for example by `store`, and repeat it."
                )
            }
            drops.append(step.dropping(store))
        }
        plan.storeSteps.replaceSubrange(place...place, with: drops)
    }

    /// Throws if the drops that have replaced a step take a store that a later element leaves as it is.
    private func requireKept(by step: DispatchPlan.StoreStep) throws(RequestError) {
        var lost: (store: Int32, element: Int)?
        for drop in plan.storeSteps[plan.storeStepsDone...].prefix(while: { $0.element == step.element }) {
            guard let element = plan.kept[drop.store]?.first(where: { $0 > step.element }) else { continue }
            if element < lost?.element ?? .max { lost = (drop.store, element) }
        }
        guard let lost else { return }
        throw RequestError(
            .exists,
            "\(address(of: Int(lost.store))) exists already, and a `drop` with `where` earlier in this batch removes it; drop it by its name, or create it in a request of its own."
        ).at(lost.element)
    }

    /// Throws where an earlier element has dropped a store by value, which no later one was planned with.
    func requirePresent(_ store: Int32) throws(RequestError) {
        let record = stores.pointer(store)
        let members = types[Int(record.pointee.type)].members
        guard members[Int(record.pointee.place)] != store else { return }
        throw absence(of: address(of: Int(store)))
    }

    private func apply(
        _ step: DispatchPlan.StoreStep, _ facts: CommitContext.Place
    ) throws(RequestError) {
        if !step.isCreation { try requirePresent(step.store) }
        if let condition = step.condition {
            try require(condition, of: step.store, seenBy: plan.guardian, &facts.pointee.budget)
        }
        facts.pointee.budget.operations &-= BusLimits.operationsPerStore &+ BusLimits.operationsPerWrite
        guard facts.pointee.budget.operations >= 0 else {
            throw RequestError(
                .rejected, "The commit's budget is used up; do less in one dispatch.")
        }
        let record = stores.pointer(step.store)
        let entry = types[Int(record.pointee.type)]
        if step.isCreation {
            stores.reveal(step.store)
            entry.enlist(step.store)
            stateBytes += Int(record.pointee.size)
            if let length = step.lease { lease(step.store, for: length) }
            // With which timers it begins shows when all of the batch is applied.
            if !entry.type.ownTimers.isEmpty {
                context.turning[Int(step.store)] = 0
                facts.pointee.hasTurning = true
            }
        } else {
            stores.hide(step.store)
            entry.delist(step.store)
            // It needs no timers any more, whatever earlier elements have made of it.
            if facts.pointee.hasTurning { context.turning[Int(step.store)] = nil }
        }
        plan.storeStepsDone += 1
    }

    /// Takes back what was created and dropped, after what was written.
    func rollBackStoreSteps() {
        for step in plan.storeSteps[..<plan.storeStepsDone].reversed() {
            let record = stores.pointer(step.store)
            let entry = types[Int(record.pointee.type)]
            if step.isCreation {
                if record.pointee.timers >= 0 { removeTimers(of: step.store) }
                stateBytes -= Int(record.pointee.size)
                entry.undoEnlisting()
                stores.hide(step.store)
            } else {
                entry.relist(step.store)
                stores.reveal(step.store)
            }
        }
        plan.storeStepsDone = 0
    }

    // MARK: Committing

    /// The stores that the applied plan has created and dropped; nil if there are none.
    package func appliedStores() -> BatchStores? {
        if plan.storeSteps.isEmpty { return nil }
        var batch = BatchStores(steps: plan.storeSteps)
        let created = Set(batch.steps.lazy.filter(\.isCreation).map(\.store))
        let dropped = Set(batch.steps.lazy.filter { !$0.isCreation }.map(\.store))
        batch.created = batch.steps.filter { $0.isCreation && !dropped.contains($0.store) }.map(\.store)
        batch.passing = batch.steps.filter { $0.isCreation && dropped.contains($0.store) }.map(\.store)
        let addresses = Set(batch.created.map { Array(address(of: Int($0)).utf8) })
        for step in batch.steps where !step.isCreation && !created.contains(step.store) {
            if addresses.contains(Array(address(of: Int(step.store)).utf8)) {
                batch.replaced.append(step.store)
            } else {
                batch.dropped.append(step.store)
            }
        }
        return batch
    }

    /// How many addresses the applied plan has reached.
    package func matched(with batch: BatchStores?) -> Int {
        guard let batch else { return writeSet.count }
        return writeSet.count + addresses(of: batch) { _ in true }
            - Set(batch.steps.map(\.store)).count { stores.pointer($0).pointee.write >= 0 }
    }

    /// How many addresses of stores that a batch creates or drops somebody sees, and how many of these differ.
    package func seen(_ batch: BatchStores, by grants: Grants) -> (matched: Int, changed: Int) {
        func shows(_ store: Int32) -> Bool {
            if case .nothing = visibility(of: store, to: grants) { return false }
            return true
        }
        return (addresses(of: batch, where: shows), (batch.created + batch.dropped).count(where: shows))
    }

    /// How many different addresses those stores have that a batch creates or drops.
    func addresses(of batch: BatchStores, where isWanted: (Int32) -> Bool) -> Int {
        Set(batch.steps.lazy.map(\.store).filter(isWanted).map { Array(self.address(of: Int($0)).utf8) })
            .count
    }

    /// Gives the stores that are created for a session to it.
    package func give(_ batch: BatchStores, to session: () -> Session) {
        let staying = Set(batch.created)
        for step in batch.steps where step.isEphemeral && staying.contains(step.store) {
            give(step.store, to: session())
        }
    }

    /// The stores of a batch that is being committed stand in lists from now on.
    func list(_ batch: BatchStores) {
        for store in batch.created { types[Int(stores.pointer(store).pointee.type)].list(store) }
        plan.storeStepsDone = 0
    }

    /// The records of dropped stores go, behind all that is told of them.
    func remove(_ batch: BatchStores) {
        for store in batch.dropped {
            let record = stores.pointer(store)
            dropLog.note(.init(revision: revision, type: record.pointee.type, name: record.pointee.name))
        }
        for store in batch.dropped + batch.replaced { removeHidden(store) }
        for store in batch.passing {
            let record = stores.pointer(store)
            if record.pointee.timers >= 0 { removeTimers(of: store) }
            stateBytes -= Int(record.pointee.size)
            types[Int(record.pointee.type)].compact()
            stores.free(store)
            nameChanges += 1
        }
        plan.storeSteps = []
    }
}

/// The stores that a batch has created and dropped.
package struct BatchStores {
    let steps: [DispatchPlan.StoreStep]
    /// Stores that are new, in the order in which they were made.
    package internal(set) var created: [Int32] = []
    /// Stores that are no more, and those of them at whose address there is a new one.
    package internal(set) var dropped: [Int32] = []
    package internal(set) var replaced: [Int32] = []
    /// Stores of before whose records go.
    package var removed: [Int32] { dropped + replaced }
    /// Stores that it has both created and dropped.
    package internal(set) var passing: [Int32] = []
}
