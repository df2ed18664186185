import BusJSON

/// What operators on texts share.
extension Evaluation {
    /// The text of an operand. Null is empty; numbers and booleans look as `cat` writes them; arrays and objects are refused.
    mutating func operandText(_ value: JSON, for operation: String) throws(EvaluationFailure) -> String {
        switch value {
        case .string(let text): return text
        case .array, .object:
            throw .invalidArguments(operation: operation, reason: "needs a text and was given \(value.kind)")
        default:
            var text = ""
            try append(value, to: &text)
            return text
        }
    }

    /// The byte offset of the next `part` in `text`, from `start` on; nil if there is none. `part` must not be empty. Every 64
    /// compared bytes count as an operation.
    mutating func offset(
        of part: String, in text: String, from start: Int
    ) throws(EvaluationFailure) -> Int? {
        let haystack = text.utf8Span.span
        let needle = part.utf8Span.span
        guard start + needle.count <= haystack.count else { return nil }
        var compared = 0
        for offset in start...(haystack.count - needle.count) {
            var length = 0
            while length < needle.count, haystack[offset + length] == needle[length] { length += 1 }
            if length == needle.count { return offset }
            compared += length + 1
            if compared >= 64 {
                try spend(compared >> 6)
                compared &= 63
            }
        }
        return nil
    }
}

extension String {
    /// The text in a range of bytes, whose bounds must not lie inside a Unicode scalar.
    func bytes(_ range: Range<Int>) -> Substring {
        let bytes = utf8
        let start = bytes.index(bytes.startIndex, offsetBy: range.lowerBound)
        return self[start..<bytes.index(start, offsetBy: range.count)]
    }
}
