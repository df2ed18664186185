import BusJSON
import BusLogic
import BusProtocol
import BusState

/// Carrying out a plan on the states, all of it or nothing.
extension Engine {
    /// Carries out the plan and gives how many stores saw it. Everything stays open to be taken back until
    /// `publish`; after an error everything has been taken back. `most`: the operations that it may spend, if fewer than every
    /// commit may.
    func perform(by connection: Connection?, spending most: Int = .max) throws(RequestError) -> Int {
        let operations = min(limits.commit, most)
        let facts = context.facts
        facts.pointee.time = Double(now) / 1000
        facts.pointee.revision = revision + 1
        facts.pointee.uid = connection?.uid
        facts.pointee.budget.operations = operations
        facts.pointee.budget.bytes = Limits.commitBytes
        let before = stateBytes
        do throws(RequestError) {
            defer { noteCommitWork(operations &- facts.pointee.budget.operations) }
            if plan.actions.count == 1, plan.steps.count == 1 {
                try perform(plan.steps.elements.baseAddress!, facts)
            } else {
                try performBatch(facts)
            }
            guard stateBytes <= before || memoryInUse <= limits.memory else {
                throw RequestError(
                    .limit, "The bus holds \(limits.memory) bytes, its memory limit; drop what is not needed."
                )
            }
        } catch {
            takeBack()
            throw error
        }
        return touches.count
    }

    /// What reaches so many stores that its budget can't do is not begun.
    func requireBudget(_ operations: Int) throws(RequestError) {
        var reached = 0
        // In place: a copy of a step would count references.
        let steps = plan.steps.elements
        for index in steps.indices {
            let step = steps.baseAddress! + index
            reached &+=
                step.pointee.store >= 0
                ? 1 : Unmanaged.passUnretained(step.pointee.type)._withUnsafeGuaranteedRef { $0.count }
            if reached &* Limits.operationsPerStore <= operations { continue }
            let bound = operations == limits.commit ? "limits.commit is" : "a will has"
            throw RequestError(
                .rejected,
                "The dispatch reaches more stores than one commit may: \(bound) \(operations) operations, \(Limits.operationsPerStore) for each store and more for what is written; dispatch to fewer at a time."
            ).with("action", .string(step.pointee.type.actionName(step.pointee.action)))
        }
    }

    private func performBatch(_ facts: CommitContext.Place) throws(RequestError) {
        let several = plan.actions.count > 1
        for (index, action) in plan.actions.elements.enumerated() {
            for step in action.steps {
                do throws(RequestError) {
                    try perform(plan.steps.elements.baseAddress! + step, facts)
                } catch {
                    throw several ? error.with("index", .int(index)) : error
                }
            }
        }
    }

    private func perform(
        _ step: UnsafePointer<DispatchPlan.Step>, _ facts: CommitContext.Place
    ) throws(RequestError) {
        let result = Unmanaged.passUnretained(step.pointee.type)._withUnsafeGuaranteedRef { entry in
            Result { () throws(RequestError) in try self.perform(step, of: entry, facts) }
        }
        try result.get()
    }

    @inline(__always)
    private func perform(
        _ step: UnsafePointer<DispatchPlan.Step>, of entry: TypeEntry, _ facts: CommitContext.Place
    ) throws(RequestError) {
        guard let plain = entry.plainWrites(of: step.pointee.action) else {
            return try perform(step, nil, of: entry, facts)
        }
        let result = plain._withUnsafeGuaranteedRef { plain in
            defer { plain.letGo() }
            let writes = plain.take(step.pointer(to: \.payload)!) ? PlannedWrites(plain) : nil
            return Result { () throws(RequestError) in
                try self.perform(step, writes, of: entry, facts)
            }
        }
        try result.get()
    }

    /// Carries out a step on its store or on all stores of the type. `writes` are what it writes to each, if that is
    /// the same for all.
    @inline(__always)
    private func perform(
        _ step: UnsafePointer<DispatchPlan.Step>, _ writes: PlannedWrites?, of entry: TypeEntry,
        _ facts: CommitContext.Place
    ) throws(RequestError) {
        if step.pointee.store >= 0 { return try perform(step, writes, on: step.pointee.store, facts) }
        // A commit neither makes stores nor drops any, so each is looked up where it stands.
        for place in 0..<entry.members.count where entry.members[place] >= 0 {
            try perform(step, writes, on: entry.members[place], facts)
        }
    }

    /// Carries out a step on one store: the writes that are the same for all, if there are any and they work out,
    /// else what the type makes of its state.
    @inline(__always)
    private func perform(
        _ step: UnsafePointer<DispatchPlan.Step>, _ writes: PlannedWrites?, on index: Int32,
        _ facts: CommitContext.Place
    ) throws(RequestError) {
        let record = stores.pointer(index)
        let mark = journal.records.count
        var draft = Draft(&record.pointee.state, size: Int(record.pointee.size), journal: journal)
        if let writes, writes.operations <= facts.pointee.budget.operations, draft.carryOut(writes.list) {
            facts.pointee.budget.operations &-= writes.operations
        } else {
            try commit(step, on: index, to: &draft)
        }
        if record.pointee.touch >= 0 { facts.pointee.budget.operations &-= Limits.operationsPerReturn }
        noteTouch(index, record, mark..<journal.records.count)
        facts.pointee.budget.operations &-=
            Limits.operationsPerStore &+ Limits.operationsPerWrite &* (journal.records.count &- mark)
            &+ draft.work
        facts.pointee.budget.bytes &-= 16 &* draft.copied
        guard facts.pointee.budget.operations >= 0, facts.pointee.budget.bytes >= 0 else {
            throw budgetUsedUp(step.pointee.action, index)
        }
        stateBytes += draft.size - Int(record.pointee.size)
        record.pointee.size = Int32(truncatingIfNeeded: draft.size)
        if draft.size > limits.effectiveState { throw tooLarge(index) }
    }

    /// Asks the type to commit to one store.
    private func commit(
        _ step: UnsafePointer<DispatchPlan.Step>, on index: Int32, to draft: inout Draft
    ) throws(RequestError) {
        let mark = journal.records.count
        context.facts.pointee.store = Int(index)
        do throws(Rejection) {
            _ = try step.pointee.type.type.commit(
                step.pointee.action, payload: step.pointee.payload, to: &draft, in: context!)
        } catch {
            noteTouch(index, stores.pointer(index), mark..<journal.records.count)
            throw RequestError(.rejected, error.message).with("store", .string(error.store))
                .with("action", .string(error.action)).with("path", error.path.map(JSON.string))
        }
    }

    private func tooLarge(_ index: Int32) -> RequestError {
        let (store, limit) = (address(of: Int(index)), limits.effectiveState)
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

    /// Remembers which records of the journal belong to which store.
    @inline(__always)
    private func noteTouch(
        _ index: Int32, _ record: UnsafeMutablePointer<StoreRecord>, _ records: Range<Int>
    ) {
        let known = record.pointee.touch
        if known < 0 {
            record.pointee.touch = Int32(truncatingIfNeeded: touches.count)
            touches.append(Touch(store: index, size: record.pointee.size, records: records))
        } else if !records.isEmpty {
            if touches[Int(known)].records.isEmpty {
                touches[Int(known)].records = records
            } else {
                furtherRecords.append(
                    FurtherRecords(touch: known, records: records, before: touches[Int(known)].further))
                touches[Int(known)].further = Int32(truncatingIfNeeded: furtherRecords.count - 1)
            }
        }
    }

    /// Takes back everything since the last publication.
    func takeBack() {
        for further in furtherRecords.elements.reversed() {
            let record = stores.pointer(touches[Int(further.touch)].store)
            journal.undo(further.records, in: &record.pointee.state)
        }
        for touch in touches.elements {
            let record = stores.pointer(touch.store)
            journal.undo(touch.records, in: &record.pointee.state)
            stateBytes += Int(touch.size) - Int(record.pointee.size)
            record.pointee.size = touch.size
            record.pointee.touch = -1
        }
        forgetTouches()
    }

    func forgetTouches() {
        if touches.count > Limits.usualTouches { noteLargeCommit() }
        touches.clear()
        furtherRecords.clear()
        journal.clear()
    }

    /// The delta entries of one touched store, left in `entries`.
    @inline(__always)
    func gatherEntries(ofTouch index: Int) {
        entries.clear()
        let touch = touches[index]
        if touch.records.isEmpty { return }
        let state = stores.pointer(touch.store)
        if touch.records.count == 1, touch.further < 0 {
            DeltaBuilder.appendOnly(journal.record(touch.records.lowerBound), &state.pointee.state, entries)
        } else {
            gatherSeveral(touch, &state.pointee.state)
        }
    }

    private func gatherSeveral(_ touch: Touch, _ state: UnsafePointer<JSONObject>) {
        if touch.further < 0, DeltaBuilder.appendMembers(touch.records, of: journal, state, to: entries) {
            return
        }
        var ranges = [touch.records]
        var further = Int(touch.further)
        while further >= 0 {
            ranges.append(furtherRecords[further].records)
            further = Int(furtherRecords[further].before)
        }
        DeltaBuilder.append(ranges, of: journal, state: state.pointee, to: entries)
    }

    /// The reply to a dry run: what would have changed. Everything is taken back.
    func answerDryRun(_ connection: Connection, _ matched: Int) throws(RequestError) {
        let changes = ByteWriter()
        let states = ByteWriter()
        var changed = 0
        for index in touches.indices where changes.count + states.count <= limits.line {
            let touch = touches[index]
            gatherEntries(ofTouch: index)
            work += Work.dryRunStore
            if entries.isEmpty { continue }
            changed += 1
            let state = stores.pointer(touch.store).pointee.state
            let mark = changes.count
            if mark > 0 { changes.append(UInt8(ascii: ",")) }
            changes.append(quoted: address(of: Int(touch.store)))
            changes.append(UInt8(ascii: ":"))
            if !ChangeEncoder.appendMerge(entries.elements[...], of: state, to: changes) {
                changes.truncate(to: mark)
                if !states.isEmpty { states.append(UInt8(ascii: ",")) }
                states.append(quoted: address(of: Int(touch.store)))
                states.append(UInt8(ascii: ":"))
                states.append(jsonObject: state)
            }
        }
        takeBack()
        try answerWithinLine(connection) { writer in
            self.appendRevision(writer)
            writer.append(",\"matched\":")
            writer.append(decimal: matched)
            writer.append(",\"changed\":")
            writer.append(decimal: changed)
            writer.append(",\"changes\":{")
            writer.append(changes.bytes)
            writer.append("}")
            if !states.isEmpty {
                writer.append(",\"states\":{")
                writer.append(states.bytes)
                writer.append("}")
            }
            return self.fits(writer)
        }
    }
}

/// What a step writes to each of its stores, while it is carried out.
private struct PlannedWrites {
    let list: UnsafeBufferPointer<PlannedWrite>
    /// How many operations their values take for each store.
    let operations: Int

    @inline(__always)
    init(_ plain: PlainWrites) {
        list = UnsafeBufferPointer(plain.writes)
        operations = plain.operations
    }
}
