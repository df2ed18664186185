import BusJSON

/// The types of payload members.
package enum PayloadType: String, CaseIterable, Sendable {
    case any, boolean, integer, number, string, array, object

    package func admits(_ value: JSON) -> Bool {
        switch (self, value) {
        case (.any, _), (.boolean, .bool), (.integer, .int), (.number, .int), (.number, .double),
            (.string, .string), (.array, .array), (.object, .object):
            true
        default: false
        }
    }

    /// The type with its article, for messages.
    package var phrase: String {
        switch self {
        case .any: "any value"
        case .integer: "an integer"
        case .array: "an array"
        case .object: "an object"
        default: "a \(rawValue)"
        }
    }

    package static let words = allCases.map(\.rawValue)
}

/// Why a payload (or the state of a create) does not fit its schema; `message` is one sentence that says what
/// to do and names the member.
package struct PayloadFailure: Error, Sendable {
    package let message: String

    package init(_ message: String) { self.message = message }
}
