import BusJSON
import BusProtocol

/// `duration`: how many seconds a length of time is that is written as people do, such as `5m`.
final class DurationNode: ExpressionNode, @unchecked Sendable {
    let operand: ExpressionNode

    init(_ operand: ExpressionNode) { self.operand = operand }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        switch try operand.value(&evaluation) {
        case .int(let seconds): return .int(seconds)
        case .double(let seconds): return .double(seconds)
        case .string(let text):
            try evaluation.spend(text.utf8.count >> 4)
            guard let milliseconds = DurationText.milliseconds(text) else {
                let reason = "needs a length of time such as 500ms, 30s, 5m, 1h30m, 7d or 2w"
                throw .invalidArguments(operation: "duration", reason: reason)
            }
            let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
            return rest == 0 ? .int(seconds) : .double(Double(milliseconds) / 1000)
        case let other:
            let reason = "needs a text or seconds and was given \(other.kind)"
            throw .invalidArguments(operation: "duration", reason: reason)
        }
    }
}

/// `format`: a time in seconds since 1970 as ISO 8601 writes it, in UTC.
final class FormatNode: ExpressionNode, @unchecked Sendable {
    let operand: ExpressionNode
    let precision: CalendarTime.Precision

    init(_ operand: ExpressionNode, precision: CalendarTime.Precision) {
        self.operand = operand
        self.precision = precision
    }

    override func value(_ evaluation: inout Evaluation) throws(EvaluationFailure) -> JSON {
        try evaluation.spend()
        let value = try operand.value(&evaluation)
        let time: CalendarTime?
        switch try evaluation.number(value, as: \.scalarNumber) {
        case nil: throw .notNumber(operation: "format", kind: value.kind)
        case .int(let seconds): time = CalendarTime(seconds: seconds)
        case .double(let seconds): time = CalendarTime(seconds: seconds)
        }
        guard let text = time?.text(precision) else { throw .overflow(operation: "format") }
        try evaluation.produce(text.utf8.count)
        return .string(text)
    }
}
