/// Why a Swift value could not become JSON, or JSON not become the Swift value: what is wrong, and where.
///
/// ```swift
/// do {
///     let counter = try json.decoded(as: Counter.self)
/// } catch let error as JSONCodingError {
///     error.path         // ["items", "3", "count"]
///     error.description  // items.3.count: an integer is needed, not a string.
/// }
/// ```
public struct JSONCodingError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The keys and indices that lead to the value; empty for the whole.
    public let path: [String]
    /// What is wrong with it, as a sentence.
    public let reason: String

    public init(path: [String], reason: String) {
        self.path = path
        self.reason = reason
    }

    public var description: String {
        path.isEmpty ? reason : "\(path.joined(separator: ".")): \(reason)"
    }

    /// The standard library's error in this form; nil for any other error, which stays what it is.
    init?(_ error: any Error) {
        switch error {
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
            DecodingError.dataCorrupted(let context):
            self.init(context.codingPath, context.debugDescription)
        case DecodingError.keyNotFound(let key, let context):
            self.init(context.codingPath + [key], "it is missing; add it.")
        case EncodingError.invalidValue(_, let context):
            self.init(context.codingPath, context.debugDescription)
        default: return nil
        }
    }

    private init(_ path: [any CodingKey], _ reason: String) {
        let end = reason.last.map { ".!?".contains($0) } == true ? "" : "."
        self.init(path: path.map(\.stringValue), reason: reason + end)
    }
}
