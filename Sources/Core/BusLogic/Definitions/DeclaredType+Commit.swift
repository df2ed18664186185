import BusJSON
import BusState

extension DeclaredType {
    package func precomputedWrites(of action: Int) -> PrecomputedWrites? {
        PrecomputedWrites(actions[action], computed)
    }

    package func commit(
        _ action: Int, payload: JSONObject, to draft: inout Draft, in context: CommitContext
    ) throws(Rejection) -> Bool {
        // The type holds its actions for good, so none is counted as taken up.
        let result = Unmanaged.passUnretained(actions[action])._withUnsafeGuaranteedRef { action in
            Result { () throws(Rejection) in try self.commit(action, payload, to: &draft, in: context) }
        }
        return try result.get()
    }

    @inline(__always)
    private func commit(
        _ action: DeclaredAction, _ payload: JSONObject, to draft: inout Draft, in context: CommitContext
    ) throws(Rejection) -> Bool {
        defer { context.values.clear() }
        let isMeant = withUnsafePointer(to: payload) { payload in
            Result { () throws(Rejection) in
                try self.findValues(of: action, payload, on: draft.state, in: context)
            }
        }
        guard try isMeant.get() else { return false }
        if action.mayTurnTimers { try noteTimers(of: action, on: draft.state, in: context) }
        if action.steps.isEmpty {
            if action.dynamic != nil { try carryOutPlanned(by: action, to: &draft, in: context) }
        } else {
            try carryOut(action, payload, to: &draft, in: context)
        }
        if let returns = action.returns {
            try evaluate(returns, of: action, payload, on: draft.state, in: context)
        }
        return true
    }

    /// Writes what was found, holds it against what states have to be, and brings computed values up to date.
    @inline(__always)
    private func carryOut(
        _ action: DeclaredAction, _ payload: JSONObject, to draft: inout Draft, in context: CommitContext
    ) throws(Rejection) {
        let isFollowed = action.isFollowed
        var written: UInt64 = 0
        var isBroken = false
        for index in action.steps.indices {
            if let direct = action.direct[index],
                carryOut(direct, context.values.elements.baseAddress! + index, to: &draft)
            {
                written |= direct.bits
                continue
            }
            let step = action.steps[index]
            let count = draft.noted
            let path = try write(step, context.values[index], payload, to: &draft, of: action, in: context)
            guard isFollowed, draft.noted > count else { continue }
            written |= step.bits ?? computed.bits(of: path.segments[0])
            if let check = step.check, !isBroken {
                isBroken = try breaks(
                    check, step, context.values[index], at: path, draft, of: action, in: context)
            }
        }
        if isFollowed { try finish(action, written, isBroken: isBroken, &draft, in: context) }
    }

    /// Holds the state against its schema where a write broke it, and brings computed values up to date.
    @inline(__always)
    private func finish(
        _ action: DeclaredAction, _ writes: UInt64, isBroken: Bool, _ draft: inout Draft,
        in context: CommitContext
    ) throws(Rejection) {
        var written = writes
        if isBroken { try requireMended(draft, by: action, in: context) }
        if computed.areRead(by: written) {
            do throws(ComputedValues.CommitBudgetFailure) {
                try computed.refresh(&draft, written: &written, in: context)
            } catch {
                throw rejection(
                    of: action, in: context, "the commit's budget is used up at \(error.name)", .budget)
            }
        }
        if computed.otherReads & written != 0, !invariants.isEmpty {
            try hold(written, on: draft.state, of: action, in: context)
        }
    }

    /// Holds the state after an action against the invariants that read what it wrote.
    @inline(never)
    private func hold(
        _ written: UInt64, on state: UnsafePointer<JSONObject>, of action: DeclaredAction,
        in context: CommitContext
    ) throws(Rejection) {
        let available = context.budget
        let allowance = Budget.smaller(context.storeBudget, available)
        let place = context.evaluation
        place.pointee.begin(allowance, on: state)
        do throws(Invariants.Breach) {
            try invariants.check(written, &place.pointee)
        } catch {
            switch error {
            case .broken(let reason, let constant):
                throw rejection(of: action, in: context, reason, .invariant(constant))
            case .failed(let failure):
                throw rejection(of: action, in: context, "in invariant, \(failure)", .expression)
            }
        }
        context.budget = place.pointee.rest(of: available, after: allowance)
    }

    /// Notes which of the type's timers hold for a store before the commit writes what they read.
    @inline(never)
    private func noteTimers(
        of action: DeclaredAction, on state: UnsafePointer<JSONObject>, in context: CommitContext
    ) throws(Rejection) {
        if context.turning[context.store] != nil { return }
        do throws(TimerRefusal) {
            context.turning[context.store] = try holding(
                on: state.pointee, spending: &context.facts.pointee.budget)
            context.facts.pointee.hasTurning = true
        } catch {
            throw rejection(of: action, in: context, error.reason, .budget)
        }
    }

    /// Applies the writes that were planned.
    @inline(never)
    private func carryOutPlanned(
        by action: DeclaredAction, to draft: inout Draft, in context: CommitContext
    ) throws(Rejection) {
        let planned = context.planned
        context.planned = []
        var written: UInt64 = 0
        var isBroken = false
        for write in planned {
            let step = write.step
            let count = draft.noted
            if step.fixed == nil { try check(step, goingTo: write.path, of: action, in: context) }
            try self.write(step, write.value, at: write.path, to: &draft, of: action, in: context)
            guard action.isFollowed, draft.noted > count else { continue }
            written |= step.bits ?? computed.bits(of: write.path.segments[0])
            if let check = step.check, !isBroken {
                isBroken = try breaks(
                    check, step, write.value, at: write.path, draft, of: action, in: context)
            }
        }
        if action.isFollowed { try finish(action, written, isBroken: isBroken, &draft, in: context) }
    }

    /// Works out what an action returns, and leaves it in the context.
    @inline(never)
    private func evaluate(
        _ returns: ExpressionNode, of action: DeclaredAction, _ payload: JSONObject,
        on state: UnsafePointer<JSONObject>, in context: CommitContext
    ) throws(Rejection) {
        let available = context.budget
        let allowance = Budget.smaller(context.storeBudget, available)
        let place = context.evaluation
        let result = withUnsafePointer(to: payload) { payload in
            Result { () throws(EvaluationFailure) in
                place.pointee.begin(allowance, on: state)
                place.pointee.payload = payload
                place.pointee.context = context
                let value = try returns.value(&place.pointee)
                guard value.nests(atMost: Evaluation.deepestValue - 1) else { throw .tooDeep }
                return value
            }
        }
        do throws(EvaluationFailure) {
            context.facts.pointee.result = try result.get()
        } catch {
            throw rejection(of: action, in: context, "in returns, \(error)", .expression)
        }
        context.budget = place.pointee.rest(of: available, after: allowance)
    }

    /// Finds what the action writes, in the context. False when the store is to be left alone.
    @inline(__always)
    private func findValues(
        of action: DeclaredAction, _ payload: UnsafePointer<JSONObject>,
        on state: UnsafePointer<JSONObject>, in context: CommitContext
    ) throws(Rejection) -> Bool {
        guard let operations = action.plainOperations, takes(operations, from: context) else {
            return try evaluate(action, payload, on: state, in: context)
        }
        for index in action.steps.indices {
            context.values.append(action.steps[index].value.plainValue(payload))
        }
        return true
    }

    /// Takes operations for one store from the commit's budget; false, and nothing taken, where they are not left.
    private func takes(_ operations: Int, from context: CommitContext) -> Bool {
        guard operations <= min(context.budget.operations, context.storeBudget.operations) else {
            return false
        }
        context.budget.operations &-= operations
        return true
    }

    /// Evaluates `when`, `require` and the values of all writes. False when the store is to be left alone,
    /// which comes first: what does not concern a store can't be refused by it.
    private func evaluate(
        _ action: DeclaredAction, _ payload: UnsafePointer<JSONObject>, on state: UnsafePointer<JSONObject>,
        in context: CommitContext
    ) throws(Rejection) -> Bool {
        let available = context.budget
        let allowance = Budget.smaller(context.storeBudget, available)
        let place = context.evaluation
        place.pointee.begin(allowance, on: state)
        place.pointee.payload = payload
        place.pointee.context = context

        for index in action.condition.indices {
            var holds = false
            do throws(EvaluationFailure) {
                holds = try action.condition[index].truth(&place.pointee)
            } catch {
                guard error.error != nil, !context.refusesFailedConditions else {
                    throw rejection(of: action, in: context, "in when, \(error)", .expression)
                }
            }
            guard holds else {
                context.budget = place.pointee.rest(of: available, after: allowance)
                return false
            }
        }
        // In the log, only those of whom it held what they require, and it has not what that was judged by.
        let isJudged = context.isReplaying && !action.redacted.isEmpty
        for index in action.requirements.indices where !isJudged {
            let reason: String
            do throws(EvaluationFailure) {
                if try action.conditions[index].truth(&place.pointee) { continue }
                let otherwise = try action.requirements[index].otherwise.value(&place.pointee)
                reason = try place.pointee.text(of: otherwise)
            } catch {
                throw rejection(of: action, in: context, "in require, \(error)", .expression)
            }
            let constant = action.requirements[index].constantText
            throw rejection(of: action, in: context, reason, .requirement(constant))
        }
        for index in action.steps.indices {
            do throws(EvaluationFailure) {
                let value = try action.values[index].scalar(&place.pointee)
                context.values.append(place.pointee.take(value))
            } catch {
                let step = action.steps[index]
                let path = step.path.text
                throw rejection(
                    of: action, in: context, "in \(step.kind) \(path), \(error)", .expression, path: path)
            }
        }
        if action.steps.isEmpty, let dynamic = action.dynamic {
            do throws(DynamicWrites.Failure) {
                context.planned = try dynamic.plan(&place.pointee)
            } catch {
                let reason = "in \(error.place), \(error.reason)"
                throw rejection(of: action, in: context, reason, .expression, path: error.path)
            }
        }
        if !action.timers.isEmpty, let reason = change(action.timers, &place.pointee, in: context) {
            throw rejection(of: action, in: context, reason, .timer)
        }
        context.budget = place.pointee.rest(of: available, after: allowance)
        return true
    }

    /// Applies one write. False, with nothing changed, where it fails and where it may change nothing or nest the state
    /// too deeply.
    @inline(__always)
    private func carryOut(
        _ write: DirectWrite, _ value: UnsafePointer<JSON>, to draft: inout Draft
    ) -> Bool {
        switch (write.kind, value.pointee) {
        case (.remove, _), (_, .array), (_, .object): false
        default: draft.carryOut(write.kind, write.path, value)
        }
    }

    /// Applies one write and gives the path it went to.
    private func write(
        _ step: WriteStep, _ value: JSON, _ payload: JSONObject, to draft: inout Draft,
        of action: DeclaredAction, in context: CommitContext
    ) throws(Rejection) -> StatePath {
        let path: StatePath
        switch step.path {
        case .fixed(let fixed): path = fixed
        case .template(let template):
            do throws(PathTemplate.Failure) {
                path = try template.resolve(payload)
            } catch {
                throw rejection(of: action, in: context, error.reason, .write, path: template.text)
            }
            try check(step, goingTo: path, of: action, in: context)
        }
        try write(step, value, at: path, to: &draft, of: action, in: context)
        return path
    }

    /// Refuses a path whose first segment no definition knows, where that is computed or no member of the state. Where it is
    /// known, this was checked when the definition was loaded.
    private func check(
        _ step: WriteStep, goingTo path: StatePath, of action: DeclaredAction, in context: CommitContext
    ) throws(Rejection) {
        if step.bits == nil, computed.contains(path.segments[0]) {
            let reason = "\(path) is computed and can't be written"
            throw rejection(of: action, in: context, reason, .write, path: path.description)
        }
        if !context.takesUnnamedMembers,
            let problem = step.check?.problem(with: step.kind, of: path.segments[0])
        {
            throw rejection(of: action, in: context, problem.sentence, .schema, path: path.description)
        }
    }

    @inline(__always)
    private func write(
        _ step: WriteStep, _ value: JSON, at path: StatePath, to draft: inout Draft,
        of action: DeclaredAction, in context: CommitContext
    ) throws(Rejection) {
        let adjusting = step.check?.adjusts == true ? step.check : nil
        let value = adjusting?.filled(value, step.kind, at: path) ?? value
        guard step.mayHold(value, at: path) else {
            let reason = "the value for \(path) is nested too deeply"
            throw rejection(of: action, in: context, reason, .write, path: path.description)
        }
        do throws(WriteFailure) {
            try draft.write(step.kind, path, value)
            try adjusting?.settle(step.kind, at: path, of: &draft)
        } catch {
            let place = error.path.joined(separator: ".")
            throw rejection(of: action, in: context, error.description, .write, path: place)
        }
        // The commit would be refused for it behind the last write.
        if draft.work | draft.moved != 0, context.hasPrices {
            let operations = draft.work &+ draft.moved >> 6
            guard operations > context.budget.operations else { return }
            // It was done, though in vain.
            context.budget.operations -= operations
            let reason = "the commit's budget is used up; do less in one dispatch"
            throw rejection(of: action, in: context, reason, .budget)
        }
    }

    /// Whether a write broke what states have to be, which a later write may mend; rejects what none can.
    @inline(never)
    private func breaks(
        _ check: WriteCheck, _ step: WriteStep, _ value: JSON, at path: StatePath, _ draft: borrowing Draft,
        of action: DeclaredAction, in context: CommitContext
    ) throws(Rejection) -> Bool {
        var looked = 0
        defer { context.budget.operations -= looked }
        let value = check.adjusts ? check.filled(value, step.kind, at: path) : value
        guard let problem = check.problem(after: step, at: path, of: value, in: draft, &looked) else {
            return false
        }
        if check.mayBeMended { return true }
        throw rejection(of: action, in: context, problem.sentence, .schema, path: problem.place)
    }

    /// Looks at the whole state, because a write broke it and others followed.
    @inline(never)
    private func requireMended(
        _ draft: borrowing Draft, by action: DeclaredAction, in context: CommitContext
    ) throws(Rejection) {
        var looked = 0
        defer { context.budget.operations -= looked }
        guard let problem = schema?.problem(of: draft.current, &looked) else { return }
        throw rejection(of: action, in: context, problem.sentence, .schema, path: problem.place)
    }

    @inline(never)
    private func rejection(
        of action: DeclaredAction, in context: CommitContext, _ reason: String, _ kind: Rejection.Kind,
        path: String? = nil
    ) -> Rejection {
        let store = context.reader.address(of: context.store)
        return Rejection(
            message: "\(store) refused \(action.name): \(reason.asSentence)", store: store,
            action: action.name,
            path: path, kind: kind)
    }
}

extension String {
    /// With what ends a sentence.
    package var asSentence: String { last.map { ".!?".contains($0) } == true ? self : self + "." }
}
