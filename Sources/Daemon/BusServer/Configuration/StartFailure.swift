/// Why the daemon does not start: all that is wrong, as far as it can be found at once, and the exit code.
package struct StartFailure: Error, Equatable, CustomStringConvertible {
    /// Exit codes of sysexits(3).
    package enum Code: Int32, Sendable {
        /// An address is in use, by another fluxbusd or by somebody else: try again later.
        case inUse = 75
        /// The system refused something that the configuration can't be blamed for.
        case system = 71
        /// The action log was looked through, and is not what it should be.
        case damaged = 65
        /// The action log can't be read or written.
        case log = 74
        /// The configuration or a definition is wrong.
        case configuration = 78
    }

    package let code: Code
    /// Each one sentence that says what to do, headed by where it stands: `FILE:LINE:COLUMN: message`.
    package let messages: [String]

    package init(_ code: Code, _ messages: [String]) {
        self.code = code
        self.messages = messages
    }

    package init(_ code: Code, _ message: String) { self.init(code, [message]) }

    package var description: String { messages.joined(separator: "\n") }
}
