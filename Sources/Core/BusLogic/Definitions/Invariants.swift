import BusJSON

/// What a type says of all its states beyond their schema: conditions, and why what would break one is refused.
///
/// States satisfy them at any time, so after an action only those are looked at that read a member which it wrote.
struct Invariants: Sendable {
    struct Entry: Sendable {
        let condition: ExpressionNode
        /// The reason, a text or an expression that gives one.
        let otherwise: ExpressionNode
        let reads: UInt64
    }

    /// Why a state is none.
    enum Breach: Error {
        /// A condition does not hold: the reason, and the same where it does not depend on the state.
        case broken(reason: String, constant: String?)
        case failed(EvaluationFailure)
    }

    let entries: [Entry]

    var isEmpty: Bool { entries.isEmpty }

    /// Throws where a state breaks one that reads what writes meant by these bits.
    func check(_ written: UInt64, _ evaluation: inout Evaluation) throws(Breach) {
        for entry in entries where entry.reads & written != 0 {
            let reason: String
            do throws(EvaluationFailure) {
                if try entry.condition.truth(&evaluation) { continue }
                reason = try evaluation.text(of: try entry.otherwise.value(&evaluation))
            } catch {
                throw .failed(error)
            }
            throw .broken(reason: reason, constant: entry.otherwise.constant?.string)
        }
    }
}
