import BusJSON
import BusState

/// The computed values of a type: pure functions of the state, published as members of it.
///
/// After an action only those are worked out again that read a member which the action wrote, directly or
/// through another computed value. One that fails, or costs more than its budget, is null.
struct ComputedValues: Sendable {
    private final class Entry: Sendable {
        let name: String
        let path: StatePath
        let hint: Int
        let expression: ExpressionNode
        /// Which of the watched members it reads.
        let reads: UInt64
        /// What its own change means to the others; 0 if none reads it.
        let bit: UInt64

        init(_ name: String, hint: Int, _ expression: ExpressionNode, reads: UInt64, bit: UInt64) {
            self.name = name
            path = StatePath([name], hint: hint, isOfType: true)
            self.hint = hint
            self.expression = expression
            self.reads = reads
            self.bit = bit
        }

        /// Whether it looks at the whole state.
        var readsAll: Bool { reads == WatchedMembers.anything }

        @inline(__always)
        func scalar(
            on state: UnsafePointer<JSONObject>, _ evaluation: inout Evaluation
        ) throws(EvaluationFailure) -> Scalar {
            evaluation.state = state
            return try expression.scalar(&evaluation)
        }

        /// Whether the state has this value already.
        @inline(__always)
        func holds(
            _ value: Scalar, _ evaluation: borrowing Evaluation, in state: UnsafePointer<JSONObject>
        ) -> Bool {
            guard let place = state.place(of: name, hint: hint) else { return false }
            return evaluation.isSame(value, as: place)
        }
    }

    /// The whole commit has no budget left; that rejects it.
    struct CommitBudgetFailure: Error {
        let name: String
    }

    /// In an order in which each reads only those before it.
    private let entries: [Entry]
    /// The members that any of them reads, or anything else that follows writes.
    private let watched: WatchedMembers
    /// What all of them together read.
    private let allReads: UInt64
    /// What others read that follow writes: invariants, and the timers of the type.
    let otherReads: UInt64

    /// Takes computed values in the order of their dependencies. `shape` has all members of a state; `others` is what
    /// else is read after a write.
    init(
        _ ordered: [(name: String, expression: ExpressionNode, reads: StateReads)],
        others: [StateReads] = [], shape: JSONObject
    ) {
        let watched = WatchedMembers(ordered.flatMap(\.reads.names) + others.flatMap(\.names))
        self.watched = watched
        entries = ordered.map { value in
            Entry(
                value.name, hint: shape.position(of: value.name).index, value.expression,
                reads: watched.mask(value.reads), bit: watched.mask(StateReads([value.name])))
        }
        allReads = entries.reduce(0) { $0 | $1.reads }
        otherReads = others.reduce(0) { $0 | watched.mask($1) }
    }

    /// What of the writes concerns somebody who reads these.
    func mask(_ reads: StateReads) -> UInt64 { watched.mask(reads) }

    /// What writes that mean these bits mean with all computed values that they may change.
    func reach(of written: UInt64) -> UInt64 {
        entries.reduce(written) { $1.reads & $0 == 0 ? $0 : $0 | $1.bit }
    }

    /// Whether anything has to be done after a write.
    func areWatched(by written: UInt64) -> Bool { (allReads | otherReads) & written != 0 }

    func contains(_ name: String) -> Bool { entries.contains { UTF8Order.equal($0.name, name) } }

    /// A state with its computed values. `budget` is what all of them together may spend.
    func added(to plain: JSONObject, spending budget: inout Budget) throws(CommitBudgetFailure) -> JSONObject
    {
        var state = plain
        for entry in entries {
            let allowance = Budget.smaller(.ofComputed, budget)
            var evaluation = Evaluation(budget: allowance)
            var value = Scalar.null
            let isEvaluated = Self.evaluate(entry, on: &state, &evaluation, into: &value)
            budget = evaluation.rest(of: budget, after: allowance)
            if !isEvaluated, evaluation.overdrewLess(than: .ofComputed, allowance) {
                throw CommitBudgetFailure(name: entry.name)
            }
            state[entry.name] = evaluation.take(value)
        }
        return state
    }

    /// What a change of a member means to the computed values.
    func bits(of name: String) -> UInt64 { watched.bits(of: name) }

    /// Whether any computed value reads what was written.
    @inline(__always)
    func areRead(by written: UInt64) -> Bool { allReads & written != 0 }

    /// Brings a state's computed values up to date with writes that meant these bits, and adds those of the values that differ.
    func refresh(
        _ draft: inout Draft, written: inout UInt64, in context: CommitContext
    ) throws(CommitBudgetFailure) {
        var available = context.budget
        defer { context.budget = available }
        for index in entries.indices {
            // The type holds its computed values, so none is counted as taken up.
            let isLeft = Unmanaged.passUnretained(entries[index])._withUnsafeGuaranteedRef { entry in
                entry.reads & written == 0
                    || Self.refresh(entry, of: &draft, &written, &context.evaluation.pointee, &available)
            }
            if !isLeft { throw CommitBudgetFailure(name: entries[index].name) }
        }
    }

    /// Brings one value up to date; false where the commit has not enough budget left for it.
    @inline(__always)
    private static func refresh(
        _ entry: Entry, of draft: inout Draft, _ written: inout UInt64, _ evaluation: inout Evaluation,
        _ available: inout Budget
    ) -> Bool {
        let allowance = Budget.smaller(.ofComputed, available)
        evaluation.begin(allowance, on: draft.state)
        var value = Scalar.null
        let isEvaluated = evaluate(entry, on: draft.state, &evaluation, into: &value)
        available = evaluation.rest(of: available, after: allowance)
        if !isEvaluated, evaluation.overdrewLess(than: .ofComputed, allowance) { return false }
        if entry.holds(value, evaluation, in: draft.state) { return true }
        do throws(WriteFailure) { try draft.set(entry.path, to: evaluation.take(value)) } catch {
            preconditionFailure("A member of a state can always be set.")
        }
        written |= entry.bit
        return true
    }

    /// Works out a computed value; null, and false, when it fails.
    private static func evaluate(
        _ entry: Entry, on state: UnsafePointer<JSONObject>, _ evaluation: inout Evaluation,
        into value: inout Scalar
    ) -> Bool {
        do throws(EvaluationFailure) {
            value =
                try entry.readsAll
                ? evaluateOnAll(entry, state, &evaluation) : entry.scalar(on: state, &evaluation)
        } catch {
            return false
        }
        guard case .held = value, !evaluation.held.nests(atMost: Evaluation.deepestValue - 1) else {
            return true
        }
        value = .null
        return false
    }

    /// What looks at the whole state must not find its own last value there.
    @inline(never)
    private static func evaluateOnAll(
        _ entry: Entry, _ state: UnsafePointer<JSONObject>, _ evaluation: inout Evaluation
    ) throws(EvaluationFailure) -> Scalar {
        var others = state.pointee
        others[entry.name] = nil
        return try withUnsafePointer(to: others) { (others) throws(EvaluationFailure) in
            try entry.scalar(on: others, &evaluation)
        }
    }
}

extension Evaluation {
    /// Evaluates something on a state alone, and gives what came of it with what is left of the budget.
    static func run<Value, Failure: Error>(
        on state: JSONObject, _ budget: Budget, _ body: (inout Evaluation) throws(Failure) -> Value
    ) -> (Result<Value, Failure>, Evaluation) {
        var evaluation = Evaluation(budget: budget)
        let result = withUnsafePointer(to: state) { state in
            evaluation.state = state
            return Result { () throws(Failure) in try body(&evaluation) }
        }
        return (result, evaluation)
    }

    /// Whether the budget ran out, and only because `allowance` was smaller than `full`.
    func overdrewLess(than full: Budget, _ allowance: Budget) -> Bool {
        operations < 0 && allowance.operations < full.operations || bytes < 0 && allowance.bytes < full.bytes
            || reading < 0
    }
}
