import BusJSON
import BusState

/// The computed values of a type: pure functions of the state, published as members of it.
///
/// After an action only those are worked out again that read a member which the action wrote, directly or
/// through another computed value. One that fails, or costs more than its budget, is null.
struct ComputedValues: Sendable {
    struct Entry: Sendable {
        let name: String
        let path: StatePath
        let expression: ExpressionNode
        /// Which of the watched members it reads.
        let reads: UInt64
        /// What its own change means to the others; 0 if none reads it.
        let bit: UInt64
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
    /// Set by any write: those that read everything wait for it.
    private static let anything = UInt64(1) << 63

    /// Takes computed values in the order of their dependencies. `shape` has all members of a state.
    init(_ ordered: [(name: String, expression: ExpressionNode, reads: StateReads)], shape: JSONObject) {
        let read = Set(ordered.flatMap(\.reads.names)).sorted(by: UTF8Order.precedes)
        let bits = read.enumerated().map { (name: $1, bit: UInt64(1) << UInt64(min($0, 62))) }
        func mask(_ names: Set<String>) -> UInt64 {
            bits.reduce(0) { names.contains($1.name) ? $0 | $1.bit : $0 }
        }
        watched = bits
        entries = ordered.map { value in
            Entry(
                name: value.name,
                path: StatePath([value.name], hint: shape.position(of: value.name).index),
                expression: value.expression,
                reads: value.reads.everything ? Self.anything : mask(value.reads.names),
                bit: mask([value.name]))
        }
    }

    var isEmpty: Bool { entries.isEmpty }

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

    /// Brings a state's computed values up to date with the writes noted since `mark`.
    func refresh(
        _ draft: inout Draft, since mark: Int, in context: CommitContext
    ) throws(CommitBudgetFailure) {
        var written = writtenBits(draft.journal, since: mark)
        for entry in entries where entry.reads & written != 0 {
            let allowance = Budget.smaller(.ofComputed, context.budget)
            var evaluation = Evaluation(budget: allowance)
            evaluation.state = draft.current
            let value = Self.value(of: entry, in: &evaluation)
            // Letting go of the state lets the write happen in place.
            evaluation.state = JSONObject()
            context.charge(allowance, left: evaluation)
            if value == nil, evaluation.overdrewLess(than: .ofComputed, allowance) {
                throw CommitBudgetFailure(name: entry.name)
            }
            if draft.current[entry.name] == value ?? .null { continue }
            do throws(WriteFailure) {
                try draft.set(entry.path, to: value ?? .null)
            } catch {
                preconditionFailure("A member of a state can always be set.")
            }
            written |= entry.bit
        }
    }

    private func writtenBits(_ journal: Journal, since mark: Int) -> UInt64 {
        var bits = Self.anything
        for index in mark..<journal.count {
            let name = journal.records[index].path[0]
            for candidate in watched where UTF8Order.equal(candidate.name, name) { bits |= candidate.bit }
        }
        return bits
    }

    /// The value of a computed member; nil when it fails.
    private static func value(of entry: Entry, in evaluation: inout Evaluation) -> JSON? {
        do throws(EvaluationFailure) {
            // What looks at the whole state must not find its own last value there.
            if entry.reads == anything { evaluation.state[entry.name] = nil }
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
