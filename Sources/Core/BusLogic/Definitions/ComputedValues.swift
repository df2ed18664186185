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
        let expression: ExpressionNode
        /// Which of the watched members it reads.
        let reads: UInt64
        /// What its own change means to the others; 0 if none reads it.
        let bit: UInt64

        init(_ name: String, hint: Int, _ expression: ExpressionNode, reads: UInt64, bit: UInt64) {
            self.name = name
            path = StatePath([name], hint: hint, isOfType: true)
            self.expression = expression
            self.reads = reads
            self.bit = bit
        }

        /// Whether the state has this value already.
        func holds(_ value: JSON, in state: JSONObject) -> Bool {
            guard let index = state.index(of: name, hint: path.hint) else { return false }
            return state.members[index].value == value
        }
    }

    /// The whole commit has no budget left; that rejects it.
    struct CommitBudgetFailure: Error {
        let name: String
    }

    /// In an order in which each reads only those before it.
    private let entries: [Entry]
    /// The members that any of them reads, each with a bit. Beyond 63 several share one, and then some are
    /// worked out in vain.
    private let watched: [(name: String, bit: UInt64)]
    /// What all of them together read.
    private let allReads: UInt64
    /// Set by any write: those that read everything wait for it.
    private static let anything = UInt64(1) << 63

    /// Takes computed values in the order of their dependencies. `shape` has all members of a state.
    init(_ ordered: [(name: String, expression: ExpressionNode, reads: StateReads)], shape: JSONObject) {
        var read: [String] = []
        for name in ordered.flatMap(\.reads.names).sorted(by: UTF8Order.precedes) {
            if read.last.map({ UTF8Order.equal($0, name) }) != true { read.append(name) }
        }
        let bits = read.enumerated().map { (name: $1, bit: UInt64(1) << UInt64(min($0, 62))) }
        func mask(_ names: [String]) -> UInt64 {
            let reads = names.reduce(into: StateReads()) { $0.insert($1) }
            return bits.reduce(0) { reads.contains($1.name) ? $0 | $1.bit : $0 }
        }
        watched = bits
        entries = ordered.map { value in
            Entry(
                value.name, hint: shape.position(of: value.name).index, value.expression,
                reads: value.reads.everything ? Self.anything : mask(value.reads.names),
                bit: mask([value.name]))
        }
        allReads = entries.reduce(0) { $0 | $1.reads }
    }

    func contains(_ name: String) -> Bool { entries.contains { UTF8Order.equal($0.name, name) } }

    /// A state with its computed values.
    func added(to plain: JSONObject) -> JSONObject {
        var state = plain
        for entry in entries {
            var evaluation = Evaluation(budget: .ofComputed)
            evaluation.state = state
            state[entry.name] = Self.value(of: entry, in: &evaluation) ?? .null
        }
        return state
    }

    /// What a change of a member means to the computed values.
    func bits(of name: String) -> UInt64 {
        watched.reduce(Self.anything) { UTF8Order.equal($1.name, name) ? $0 | $1.bit : $0 }
    }

    /// Whether any computed value reads what was written.
    @inline(__always)
    func areRead(by written: UInt64) -> Bool { allReads & written != 0 }

    /// Brings a state's computed values up to date with writes that meant these bits.
    func refresh(
        _ draft: inout Draft, written: UInt64, in context: CommitContext
    ) throws(CommitBudgetFailure) {
        var written = written
        var available = context.budget
        defer { context.budget = available }
        var evaluation = Evaluation(budget: .ofComputed)
        for index in entries.indices where entries[index].reads & written != 0 {
            let entry = entries[index]
            let allowance = Budget.smaller(.ofComputed, available)
            evaluation.operations = allowance.operations
            evaluation.bytes = allowance.bytes
            evaluation.state = draft.current
            let value = Self.value(of: entry, in: &evaluation)
            available = evaluation.rest(of: available, after: allowance)
            if value == nil, evaluation.overdrewLess(than: .ofComputed, allowance) {
                throw CommitBudgetFailure(name: entry.name)
            }
            let isSame = entry.holds(value ?? .null, in: evaluation.state)
            // Letting go of the state lets the write happen in place.
            evaluation.state = JSONObject()
            if isSame { continue }
            do throws(WriteFailure) {
                try draft.set(entry.path, to: value ?? .null)
            } catch {
                preconditionFailure("A member of a state can always be set.")
            }
            written |= entry.bit
        }
    }

    /// The value of a computed member; nil when it fails.
    private static func value(of entry: Entry, in evaluation: inout Evaluation) -> JSON? {
        do throws(EvaluationFailure) {
            // What looks at the whole state must not find its own last value there.
            let whole = evaluation.state
            if entry.reads == anything { evaluation.state[entry.name] = nil }
            defer { evaluation.state = whole }
            let value = try entry.expression.value(&evaluation)
            return value.nests(atMost: Evaluation.deepestValue - 1) ? value : nil
        } catch {
            return nil
        }
    }
}

extension Evaluation {
    /// Whether the budget ran out, and only because `allowance` was smaller than `full`.
    fileprivate func overdrewLess(than full: Budget, _ allowance: Budget) -> Bool {
        operations < 0 && allowance.operations < full.operations || bytes < 0 && allowance.bytes < full.bytes
    }
}
