/// Follows the braces around expressions in a text: `items.{payload.id}.done`. In a brace, those in quotes are text.
struct BraceScanner {
    /// How many braces are open.
    private(set) var depth = 0
    private var quote: Unicode.Scalar?
    private var isEscaped = false
    private var last: Unicode.Scalar?
    private var isRaw = false

    /// Takes the next scalar of the text; true if it is a brace that opens or closes.
    mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        defer { last = scalar }
        if let open = quote {
            if scalar == open, !isEscaped { quote = nil }
            isEscaped = scalar == "\\" && !isEscaped && !isRaw
            return false
        }
        switch scalar {
        case "{": depth += 1
        case "}": depth -= 1
        case "\"" where depth > 0, "'" where depth > 0:
            // A raw text has no escapes.
            isRaw = last == "r" || last == "R"
            (quote, isEscaped) = (scalar, false)
            return false
        default: return false
        }
        return true
    }
}
