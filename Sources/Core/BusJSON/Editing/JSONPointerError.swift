/// Why a text is not a JSON Pointer.
public enum JSONPointerError: Error, Equatable, Sendable {
    case missingSlash
    case invalidEscape
}

extension JSONPointerError: CustomStringConvertible {
    /// One sentence that says what is wrong.
    public var description: String {
        switch self {
        case .missingSlash: "a JSON Pointer is empty or starts with /"
        case .invalidEscape:
            "in a JSON Pointer a ~ is written ~0 and a / within a key ~1; no other ~ may stand there"
        }
    }
}
