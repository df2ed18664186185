import BusJSON
import BusLogic
import BusProtocol
import BusState

/// Carrying out a plan on the states, all of it or nothing.
extension Engine {
    /// Carries out the plan and gives how many stores saw it. Everything stays open to be taken back until
    /// `publish`; after an error everything has been taken back.
    func perform(by connection: Connection?) throws(RequestError) -> Int {
        let context = context!
        context.time = Double(now) / 1000
        context.revision = revision + 1
        context.uid = connection?.uid
        context.budget = Budget(operations: Limits.commitOperations, bytes: Limits.commitBytes)
        let before = stateBytes
        do throws(RequestError) {
            if plan.actions.count == 1, plan.steps.count == 1 {
                try perform(plan.steps.elements.baseAddress!, in: context)
            } else {
                try performBatch(in: context)
            }
            guard stateBytes <= before || accountedMemory <= limits.memory else {
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

    private func performBatch(in context: CommitContext) throws(RequestError) {
        let several = plan.actions.count > 1
        for (index, action) in plan.actions.elements.enumerated() {
            for step in action.steps {
                do throws(RequestError) {
                    try perform(plan.steps.elements.baseAddress! + step, in: context)
                } catch {
                    throw several ? error.with("index", .int(index)) : error
                }
            }
        }
    }

    private func perform(
        _ step: UnsafePointer<DispatchPlan.Step>, in context: CommitContext
    ) throws(RequestError) {
        let result = Unmanaged.passUnretained(step.pointee.type)._withUnsafeGuaranteedRef { entry in
            Result { () throws(RequestError) in try self.perform(step, of: entry, in: context) }
        }
        try result.get()
    }

    @inline(__always)
    private func perform(
        _ step: UnsafePointer<DispatchPlan.Step>, of entry: TypeEntry, in context: CommitContext
    ) throws(RequestError) {
        // What is the same for all stores is taken up once: counting references is most of a small commit.
        let type = entry.type
        let action = step.pointee.action
        if step.pointee.store >= 0 {
            let record = stores.pointer(step.pointee.store)
            var draft = Draft(&record.pointee.state, size: 0, journal: journal)
            return try perform(
                type, action, step.pointee.payload, on: step.pointee.store, &draft, journal, context)
        }
        // A commit neither makes stores nor drops any, so each is looked up where it stands.
        let count = entry.members.count
        var place = 0
        while place < count, entry.members[place] < 0 { place += 1 }
        if place == count { return }
        var draft = Draft(
            &stores.pointer(entry.members[place]).pointee.state, size: 0, journal: journal)
        while place < count {
            let index = entry.members[place]
            place += 1
            if index < 0 { continue }
            try perform(type, action, step.pointee.payload, on: index, &draft, journal, context)
        }
    }

    @inline(__always)
    private func perform(
        _ type: any StateType, _ action: Int, _ payload: JSONObject, on index: Int32, _ draft: inout Draft,
        _ journal: Journal, _ context: CommitContext
    ) throws(RequestError) {
        let record = stores.pointer(index)
        let mark = journal.count
        context.store = Int(index)
        draft.turn(to: &record.pointee.state, size: Int(record.pointee.size))
        do throws(Rejection) {
            _ = try type.commit(action, payload: payload, to: &draft, in: context)
        } catch {
            noteTouch(index, record, mark..<journal.count)
            throw RequestError(.rejected, error.message).with("store", .string(error.store))
                .with("action", .string(error.action)).with("path", error.path.map(JSON.string))
        }
        noteTouch(index, record, mark..<journal.count)
        context.budget.operations &-=
            Limits.operationsPerStore &+ Limits.operationsPerWrite &* (journal.count &- mark) &+ draft.work
        context.budget.bytes &-= 16 &* draft.copied
        if context.budget.operations < 0 || context.budget.bytes < 0 { throw budgetUsedUp(action, index) }
        stateBytes += draft.size - Int(record.pointee.size)
        record.pointee.size = Int32(truncatingIfNeeded: draft.size)
        if draft.size > limits.effectiveState {
            throw RequestError(
                .tooLarge,
                "\(address(of: Int(index))) would grow past the state limit of \(limits.effectiveState) bytes; keep less in it."
            ).with("store", .string(address(of: Int(index))))
        }
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
            gatherSeveral(touch, state.pointee.state)
        }
    }

    private func gatherSeveral(_ touch: Touch, _ state: JSONObject) {
        var ranges = [touch.records]
        var further = Int(touch.further)
        while further >= 0 {
            ranges.append(furtherRecords[further].records)
            further = Int(furtherRecords[further].before)
        }
        DeltaBuilder.append(ranges, of: journal, state: state, to: entries)
    }

    /// The reply to a dry run: what would have changed. Everything is taken back.
    func answerDryRun(_ connection: Connection, _ matched: Int) throws(RequestError) {
        let changes = ByteWriter()
        let states = ByteWriter()
        var changed = 0
        for index in touches.indices where changes.count + states.count <= limits.line {
            let touch = touches[index]
            gatherEntries(ofTouch: index)
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
