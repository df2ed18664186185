import BusJSON
import BusLogic
import BusProtocol
import BusState

/// Applies a plan to the states, all of it or nothing.
extension StateMachine {
    /// Applies the plan and returns how many stores it matched. Everything can be rolled back until it is committed;
    /// after an error everything has been. `most`: the operations that it may spend, if fewer than every commit may.
    package func apply(by principal: Principal, spending most: Int = .max) throws(RequestError) -> Int {
        let operations = min(limits.commit, most)
        applying = .passUnretained(principal)
        if hasReturned { plan.forgetReturned() }
        let facts = context.facts
        facts.pointee.time = Double(time) / 1000
        facts.pointee.revision = revision + 1
        facts.pointee.uid = principal.uid
        facts.pointee.budget.operations = operations
        facts.pointee.budget.bytes = BusLimits.commitBytes
        let mostRead = mostRead
        facts.pointee.budget.reading = mostRead
        let before = stateBytes
        do throws(RequestError) {
            defer {
                if facts.pointee.keepsPrior { context.forgetPrior() }
                operationsSpent =
                    operations &- facts.pointee.budget.operations
                    &+ (mostRead &- facts.pointee.budget.reading) / BusLimits.bytesPerOperation
            }
            if plan.needsCare {
                try applyWithCare(facts)
            } else if plan.actions.count == 1, plan.steps.count == 1 {
                do throws(RequestError) {
                    try apply(plan.steps.elements.baseAddress!, facts)
                } catch {
                    throw error.with(indexOf: plan.actions[0])
                }
            } else {
                try applyBatch(facts)
            }
            if facts.pointee.hasTurning { try settleTimers(by: principal) }
            if place.pointee.isWatched { try payForViews(&facts.pointee.budget) }
            if stateBytes > before, stateMemory > limits.memory { throw memoryUsedUp }
        } catch {
            rollback()
            throw error
        }
        return writeSet.count
    }

    /// What one commit may spend.
    var commitBudget: Budget {
        Budget(
            operations: limits.commit, bytes: BusLimits.commitBytes, reading: mostRead,
            hasPrices: rules >= BusLimits.rulesOfPrices)
    }

    /// The bytes of long texts and keys that one commit may read; any number where the rules by which an entry was made did
    /// not count them.
    private var mostRead: Int { rules < BusLimits.rulesOfReading ? .max : limits.reading }

    /// What the computed values of a store that a client creates may spend together.
    var creationBudget: Budget {
        rules < BusLimits.rulesOfReading ? Budget.unlimited : commitBudget
    }

    /// Lets something spend from a budget beside that of applying, and counts what it takes.
    func counting<Value, Failure: Error>(
        _ budget: Budget, _ body: (inout Budget) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        var left = budget
        defer { operationsBeside &+= budget.operations(spentLeaving: left) }
        return try body(&left)
    }

    /// The error for states that would grow beyond their memory limit.
    var memoryUsedUp: RequestError {
        RequestError(
            .limit, "The bus holds \(limits.memory) bytes, its memory limit; drop what is not needed.")
    }

    private func applyBatch(_ facts: CommitContext.Place) throws(RequestError) {
        for index in 0..<plan.actions.count {
            if facts.pointee.keepsPrior { context.forgetPrior() }
            for step in plan.actions[index].steps {
                do throws(RequestError) {
                    try apply(plan.steps.elements.baseAddress! + step, facts)
                } catch {
                    throw error.with(indexOf: plan.actions[index])
                }
            }
        }
    }

    /// Applies the plan, each step to each store only where it is meant, and where access rules and its client allow it.
    private func applyWithCare(_ facts: CommitContext.Place) throws(RequestError) {
        try compileBudget(plan.guardBytes, &facts.pointee.budget)
        var (guards, choices) = (plan.guards[...], plan.choices[...])
        let meta = choices.isEmpty ? JSON.null : metaOfCommit
        for (number, action) in plan.actions.elements.enumerated() {
            try applyStoreSteps(before: number, facts)
            if facts.pointee.keepsPrior { context.forgetPrior() }
            for place in action.steps {
                let step = UnsafePointer(plan.steps.elements.baseAddress! + place)
                let allowing = plan.conditions.isEmpty ? [] : plan.conditions[place]
                let wanted = guards.first?.step == place ? guards.removeFirst().condition : nil
                let filter = choices.first?.step == place ? choices.removeFirst().filter : nil
                do throws(RequestError) {
                    if step.pointee.store >= 0 {
                        try requirePresent(step.pointee.store)
                        try apply(step, to: step.pointee.store, where: allowing, wanted, facts)
                    } else {
                        for store in members(of: step.pointee.type, for: filter) where store >= 0 {
                            if let filter, try !matches(store, filter, meta, &facts.pointee.budget) {
                                continue
                            }
                            try apply(step, to: store, where: allowing, wanted, facts)
                        }
                    }
                } catch {
                    throw error.with(indexOf: action)
                }
            }
        }
        try applyStoreSteps(before: .max, facts)
    }

    /// The stores of a type among which those are that a filter means. Its indexes know the states before the commit.
    package func members(of type: TypeEntry, for filter: StoreFilter?) -> ContiguousArray<Int32> {
        // It would be evaluated for every store, and a constant spends no operations.
        if let filter, filter.expression.neverHolds { return [] }
        guard writeSet.isEmpty, plan.storeStepsDone == 0, let (_, found) = type.lookUp(filter) else {
            return type.members
        }
        let stores = stores
        return ContiguousArray(
            found.all.sorted { stores.pointer($0).pointee.place < stores.pointer($1).pointee.place })
    }

    /// The access rules are asked first, so that a client that may not dispatch learns nothing by its condition.
    private func apply(
        _ step: UnsafePointer<DispatchPlan.Step>, to store: Int32, where allowing: [Expression],
        _ wanted: JSON?, _ facts: CommitContext.Place
    ) throws(RequestError) {
        if !allowing.isEmpty { try requireOne(of: allowing, step.pointee, store, &facts.pointee.budget) }
        if let wanted {
            try require(wanted, of: store, seenBy: plan.guardian, &facts.pointee.budget)
        }
        try apply(step, nil, to: store, facts)
    }

    private func apply(
        _ step: UnsafePointer<DispatchPlan.Step>, _ facts: CommitContext.Place
    ) throws(RequestError) {
        let result = Unmanaged.passUnretained(step.pointee.type)._withUnsafeGuaranteedRef { entry in
            Result { () throws(RequestError) in try self.apply(step, of: entry, facts) }
        }
        try result.get()
    }

    @inline(__always)
    private func apply(
        _ step: UnsafePointer<DispatchPlan.Step>, of entry: TypeEntry, _ facts: CommitContext.Place
    ) throws(RequestError) {
        guard let plain = entry.precomputedWrites(of: step.pointee.action) else {
            return try apply(step, nil, of: entry, facts)
        }
        let result = plain._withUnsafeGuaranteedRef { plain in
            defer { plain.letGo() }
            let writes = plain.take(step.pointer(to: \.payload)!) ? StepWrites(plain) : nil
            return Result { () throws(RequestError) in
                try self.apply(step, writes, of: entry, facts)
            }
        }
        try result.get()
    }

    /// Applies a step to its store or to all stores of the type. `writes` are what it writes to each,
    /// if that is the same for all.
    @inline(__always)
    private func apply(
        _ step: UnsafePointer<DispatchPlan.Step>, _ writes: StepWrites?, of entry: TypeEntry,
        _ facts: CommitContext.Place
    ) throws(RequestError) {
        if step.pointee.store >= 0 { return try apply(step, writes, to: step.pointee.store, facts) }
        // Applying neither creates nor drops stores, so each member is looked up in place.
        for place in 0..<entry.members.count where entry.members[place] >= 0 {
            try apply(step, writes, to: entry.members[place], facts)
        }
    }

    /// Applies a step to one store: the precomputed writes, if there are any and they apply, else the
    /// type's mutation of its state.
    @inline(__always)
    private func apply(
        _ step: UnsafePointer<DispatchPlan.Step>, _ writes: StepWrites?, to index: Int32,
        _ facts: CommitContext.Place
    ) throws(RequestError) {
        let record = stores.pointer(index)
        let mark = undoLog.records.count
        var draft = Draft(&record.pointee.state, size: Int(record.pointee.size), undoLog: undoLog)
        if let writes, writes.operations <= facts.pointee.budget.operations, draft.carryOut(writes.list) {
            facts.pointee.budget.operations &-= writes.operations
        } else {
            do throws(RequestError) {
                try mutate(step, index, &draft)
            } catch {
                // What it wrote before it failed is rolled back, too.
                noteWrite(index, record, mark..<undoLog.records.count)
                throw error
            }
        }
        if record.pointee.write >= 0 { facts.pointee.budget.operations &-= BusLimits.operationsPerReturn }
        noteWrite(index, record, mark..<undoLog.records.count)
        facts.pointee.budget.operations &-=
            BusLimits.operationsPerStore &+ BusLimits.operationsPerWrite &* (undoLog.records.count &- mark)
            &+ draft.work &+ (rules >= BusLimits.rulesOfPrices ? draft.moved >> 6 : 0)
            &+ Unmanaged.passUnretained(step.pointee.type)._withUnsafeGuaranteedRef { $0.viewOperations }
        facts.pointee.budget.bytes &-= 16 &* draft.copied
        guard facts.pointee.budget.operations >= 0, facts.pointee.budget.bytes >= 0 else {
            throw withholding(budgetUsedUp(step.pointee.action, index), of: step, Rejection.Kind.budget.text)
        }
        stateBytes &+= draft.size &- Int(record.pointee.size)
        record.pointee.size = Int32(truncatingIfNeeded: draft.size)
        if draft.size > limits.state {
            throw withholding(tooLarge(index), of: step, "the state would grow past its limit")
        }
    }

    /// Lets the type mutate one store.
    private func mutate(
        _ step: UnsafePointer<DispatchPlan.Step>, _ index: Int32, _ draft: inout Draft
    ) throws(RequestError) {
        context.facts.pointee.store = Int(index)
        if stores.pointer(index).pointee.timers >= 0 { renewLease(of: index) }
        if step.pointee.type.readsItself { context.keep(draft.current, of: Int(index)) }
        let result = Unmanaged.passUnretained(context)._withUnsafeGuaranteedRef { context in
            Result { () throws(Rejection) in
                try step.pointee.type.type.commit(
                    step.pointee.action, payload: step.pointee.payload, to: &draft, in: context)
            }
        }
        if case .failure(let error) = result {
            throw withholding(
                RequestError(.rejected, error.message).with("store", .string(error.store))
                    .with("action", .string(error.action)).with("path", error.path.map(JSON.string)),
                of: step, error.kind.text)
        }
        if let value = context.facts.pointee.result { try keep(value, of: step, index) }
    }

    /// Keeps what a step returns of one store.
    @inline(never)
    private func keep(
        _ value: JSON, of step: UnsafePointer<DispatchPlan.Step>, _ index: Int32
    ) throws(RequestError) {
        context.facts.pointee.result = nil
        let store = address(of: Int(index))
        let first = UnsafePointer(plan.steps.elements.baseAddress!)
        plan.note(
            .init(step: step - first, address: store, value: value), value.encodedSize + store.utf8.count + 4)
        guard plan.returnedBytes > limits.state else { return }
        let action = step.pointee.type.actionName(step.pointee.action)
        throw withholding(
            RequestError(
                .rejected,
                "\(store) refused \(action): what the dispatch returns is longer than \(limits.state) bytes; return less, or dispatch to fewer stores at a time."
            ).with("store", .string(store)).with("action", .string(action)), of: step,
            "what the dispatch returns is too long")
    }

    /// The refusal of a step by one of its stores. Who may not read the store is told of its state only what kind of reason
    /// there was; where the step is about all stores of a type, not which one it was either.
    private func withholding(
        _ error: RequestError, of step: UnsafePointer<DispatchPlan.Step>, _ reason: String
    ) -> RequestError {
        let store = step.pointee.store >= 0 ? address(of: Int(step.pointee.store)) : nil
        let action = step.pointee.type.actionName(step.pointee.action)
        let end = reason.last.map { ".!?".contains($0) } == true ? "" : "."
        let target = store ?? "A store of \(step.pointee.type.name)"
        return error.withheld(
            by: RequestError(error.code, "\(target) refused \(action): \(reason)\(end)")
                .with("store", store.map(JSON.string)).with("action", .string(action)))
    }

    private func tooLarge(_ index: Int32) -> RequestError {
        let (store, limit) = (address(of: Int(index)), limits.state)
        return RequestError(
            .tooLarge, "\(store) would grow past the state limit of \(limit) bytes; keep less in it."
        ).with("store", .string(store))
    }

    private func budgetUsedUp(_ action: Int, _ index: Int32) -> RequestError {
        let type = types[Int(stores.pointer(index).pointee.type)]
        let (store, action) = (address(of: Int(index)), type.actionName(action))
        return RequestError(
            .rejected, "\(store) refused \(action): the commit's budget is used up; do less in one dispatch."
        ).with("store", .string(store)).with("action", .string(action))
    }

    /// Records which undo records belong to which store.
    @inline(__always)
    func noteWrite(
        _ index: Int32, _ record: UnsafeMutablePointer<StoreRecord>, _ records: Range<Int>
    ) {
        let known = record.pointee.write
        if known < 0 {
            record.pointee.write = Int32(truncatingIfNeeded: writeSet.count)
            writeSet.append(StoreWrite(store: index, size: record.pointee.size, records: records))
        } else if !records.isEmpty {
            if writeSet[Int(known)].records.isEmpty {
                writeSet[Int(known)].records = records
            } else {
                furtherRecords.append(
                    FurtherRecords(write: known, records: records, before: writeSet[Int(known)].further))
                writeSet[Int(known)].further = Int32(truncatingIfNeeded: furtherRecords.count - 1)
            }
        }
    }

    /// Rolls back everything that was applied and not committed.
    package func rollback() {
        for further in furtherRecords.elements.reversed() {
            let record = stores.pointer(writeSet[Int(further.write)].store)
            undoLog.undo(further.records, in: &record.pointee.state)
        }
        for write in writeSet.elements {
            let record = stores.pointer(write.store)
            undoLog.undo(write.records, in: &record.pointee.state)
            stateBytes += Int(write.size) - Int(record.pointee.size)
            record.pointee.size = write.size
            record.pointee.write = -1
        }
        forgetWrites()
        if !timerUndo.isEmpty { rollBackTimers() }
        if plan.needsCare { rollBackStoreSteps() }
        if context.facts.pointee.hasTurning { forgetTurning() }
    }

    @inline(__always)
    func forgetWrites() {
        if writeSet.count > BusLimits.usualWrites { largeWriteSets += 1 }
        writeSet.clear()
        furtherRecords.clear()
        undoLog.clear()
    }

    /// Releases the storage that only large commits needed.
    package func trimStorage() {
        writeSet.relax()
        furtherRecords.relax()
        undoLog.relax()
        entries.relax()
    }
}

extension RequestError {
    /// The error of an action, with its index if it is one of a batch.
    package func with(indexOf action: DispatchPlan.Action) -> RequestError {
        action.index < 0 ? self : at(Int(action.index))
    }
}

/// What a step writes to each of its stores, while it is applied.
private struct StepWrites {
    let list: UnsafeBufferPointer<PrecomputedWrite>
    /// How many operations their values take for each store.
    let operations: Int

    @inline(__always)
    init(_ plain: PrecomputedWrites) {
        list = UnsafeBufferPointer(plain.writes)
        operations = plain.operations
    }
}
