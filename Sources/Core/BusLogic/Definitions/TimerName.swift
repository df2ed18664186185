import BusJSON
import BusProtocol

/// The name of a timer in an action: known, or with expressions in braces: `expire-{payload.who}`.
enum TimerName: Sendable {
    case fixed(String)
    case template(String, [Part])

    enum Part: Sendable {
        case text(String)
        /// A string or an integer, and the text of its expression.
        case value(ExpressionNode, String)
    }

    /// As the definition has it.
    var text: String {
        switch self {
        case .fixed(let name): name
        case .template(let text, _): text
        }
    }

    /// The name with the values of its expressions in it.
    func resolved(_ evaluation: inout Evaluation) throws(TimerRefusal) -> String {
        guard case .template(_, let parts) = self else { return text }
        var name = ""
        for part in parts { name += try Self.text(of: part, &evaluation) }
        guard Names.isTimerName(name) else {
            throw TimerRefusal(
                "`\(name.shortened(to: 80))` can't be the name of a timer; \(Names.timerNameRule)")
        }
        return name
    }

    private static func text(
        of part: Part, _ evaluation: inout Evaluation
    ) throws(TimerRefusal) -> String {
        switch part {
        case .text(let text): return text
        case .value(let expression, let source):
            do throws(EvaluationFailure) {
                switch try expression.value(&evaluation) {
                case .string(let text):
                    try evaluation.produce(text.utf8.count)
                    return text
                case .int(let number): return String(number)
                case let other:
                    throw EvaluationFailure.failed(
                        "\(source) is \(other.phrase), and a timer's name takes a string or an integer")
                }
            } catch {
                throw TimerRefusal("\(error)")
            }
        }
    }

    /// The parts of a name outside and inside of braces, with the column at which each begins; nil where a brace has no other.
    static func parts(of text: String) -> [(text: String, column: Int, isExpression: Bool)]? {
        var parts: [(text: String, column: Int, isExpression: Bool)] = []
        var part = ""
        var start = 1
        var braces = BraceScanner()
        for (offset, scalar) in text.unicodeScalars.enumerated() {
            if braces.take(scalar) {
                if braces.depth < 0 { return nil }
                if braces.depth == (scalar == "{" ? 1 : 0) {
                    if !part.isEmpty || scalar == "}" { parts.append((part, start, scalar == "}")) }
                    (part, start) = ("", offset + 2)
                    continue
                }
            }
            part.unicodeScalars.append(scalar)
        }
        if braces.depth > 0 { return nil }
        if !part.isEmpty { parts.append((part, start, false)) }
        return parts
    }
}
