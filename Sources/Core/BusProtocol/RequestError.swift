import BusJSON

/// Why a request was not executed, as in its reply.
package struct RequestError: Error, Sendable {
    package let code: ErrorCode
    /// One sentence that says what to do.
    package let message: String
    /// Further members of the error object: `store`, `action`, `path`, `member`, `index`.
    package private(set) var details: [(name: String, value: JSON)] = []

    /// At most one: the error as somebody is told it who may not read the store that its `store` names; none where it
    /// says nothing of states.
    private var alternatives: [RequestError] = []

    package init(_ code: ErrorCode, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The same error with a further member.
    package func with(_ name: String, _ value: JSON?) -> RequestError {
        guard let value else { return self }
        var error = self
        error.details.append((name, value))
        error.alternatives = alternatives.map { $0.with(name, value) }
        return error
    }

    /// The same error, of which nothing but `other` is told to somebody who may not read the store.
    package func withheld(by other: RequestError) -> RequestError {
        var error = self
        error.alternatives = [other]
        return error
    }

    /// What somebody is told who may not read the store; nil: the same.
    package var withoutState: RequestError? { alternatives.first }

    /// The same error of an element of `actions`: it has its index, and `member` is what the line has there.
    package func at(_ index: Int) -> RequestError {
        var error = with("index", .int(index))
        for place in error.details.indices where error.details[place].name == "member" {
            guard case .string(let member) = error.details[place].value, !member.hasPrefix("actions[") else {
                continue
            }
            error.details[place].value = .string("actions[\(index)].\(member)")
        }
        error.alternatives = alternatives.map { $0.at(index) }
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

    /// A request, or one of its `actions`, that names its target by both of `type` and `store`, or by neither.
    package static func target(isGivenTwice: Bool, of element: String? = nil) -> RequestError {
        let start = element.map { $0 + ": " } ?? ""
        let prefix = element.map { $0 + "." } ?? ""
        return isGivenTwice
            ? .invalid(prefix + "type", "\(start)Give either `type` or `store`, not both.")
            : .invalid(prefix + "store", "\(start)Give a `type` or a `store`.")
    }
}
