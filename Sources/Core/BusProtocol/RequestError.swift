import BusJSON

/// Why a request was not executed, as in its reply.
package struct RequestError: Error, Sendable {
    package let code: ErrorCode
    /// One sentence that says what to do.
    package let message: String
    /// Further members of the error object: `store`, `action`, `path`, `member`, `index`.
    package private(set) var details: [(name: String, value: JSON)] = []

    package init(_ code: ErrorCode, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The same error with a further member.
    package func with(_ name: String, _ value: JSON?) -> RequestError {
        guard let value else { return self }
        var error = self
        error.details.append((name, value))
        return error
    }

    /// The same error of an element of `actions`: it has its index, and `member` is what the line has there.
    package func at(_ index: Int) -> RequestError {
        var error = with("index", .int(index))
        for place in error.details.indices where error.details[place].name == "member" {
            guard case .string(let member) = error.details[place].value, !member.hasPrefix("actions[") else {
                continue
            }
            error.details[place].value = .string("actions[\(index)].\(member)")
        }
        return error
    }

    /// The text of a further member.
    package func detail(_ name: String) -> String? {
        details.first { UTF8Order.equal($0.name, name) }?.value.string
    }

    /// A malformed, missing or unknown member of the request, by name.
    package static func invalid(_ member: String, _ message: String) -> RequestError {
        RequestError(.invalidRequest, message).with("member", .string(member))
    }
}
