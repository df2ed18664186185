import BusJSON
import BusSource

/// Conditions: `when`, and `if` of a requirement. One whose outcome is known has been written for something else.
extension DefinitionLoader {
    func loadCondition(
        _ source: LocatedValue, in scope: ExpressionScope, _ compiler: inout ExpressionCompiler
    ) throws(SourceError) -> ExpressionNode {
        let before = mistakes.count
        let condition = try compiler.compile(expression: source, isCondition: true, in: scope)
        // What was said about a part of it explains more.
        if mistakes.count == before, let doubt = Self.doubt(about: condition, source, compiler) {
            mistakes.doubt(doubt.message, at: doubt.place)
        }
        return condition
    }

    private static func doubt(
        about condition: ExpressionNode, _ source: LocatedValue, _ compiler: ExpressionCompiler
    ) -> SourceError? {
        let review = compiler.review
        if case .object(let object) = source.content, object.count == 1,
            ["literal", "preserve"].contains(object.members[0].key)
        {
            return nil
        }
        if condition is ArrayNode {
            return source.failure(
                "A list is always true, whatever is in it; write { and: [ … ] } if all of these have to hold."
            )
        }
        if condition is ObjectNode {
            return source.failure(
                "An object of several members is always true; write { and: [{ … }, { … }] } if all of these have "
                    + "to hold.")
        }
        guard let constant = condition.constant else { return nil }
        let outcome = constant.isTruthy ? "true" : "false"
        if let text = review?.texts.last(where: { isName($0.text, review) && isInside($0.place, source) }) {
            let read = review?.payload?.member(text.text) != nil ? "payload" : "state"
            return SourceError(
                "\(text.text) is only a text here, so the condition is always \(outcome); "
                    + "write { var: \(read).\(text.text) } to read it.", at: text.place)
        }
        return source.failure(
            "This condition is always \(outcome); let it read the state or the payload, or leave it out. "
                + "Write { literal: \(outcome) } if it is meant.")
    }

    private static func isName(_ text: String, _ review: ExpressionReview?) -> Bool {
        review?.payload?.member(text) != nil || review?.names?.contains { UTF8Order.equal($0, text) } == true
    }

    /// Whether a place is one of a value's; places come in the order of the text.
    private static func isInside(_ place: Place, _ source: LocatedValue) -> Bool {
        (source.place.line, source.place.column) <= (place.line, place.column)
    }
}
