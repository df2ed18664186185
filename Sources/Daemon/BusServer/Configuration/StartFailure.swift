/// Why the daemon does not start: all errors that can be found at once, and the exit code.
package struct StartFailure: Error, Equatable, CustomStringConvertible {
    /// Exit codes of sysexits(3).
    package enum Code: Int32, Sendable {
        /// An address is in use, by another fluxbusd or by another program: try again later.
        case inUse = 75
        /// This member of a bus has to begin again, with another copy or another history: its next start does.
        case beginsAgain = 69
        /// The system refused something for which the configuration is not to blame.
        case system = 71
        /// The action log was verified, and is damaged.
        case damaged = 65
        /// This member of a bus has made something else of the shared log than the others.
        case diverged = 70
        /// The action log can't be read or written.
        case log = 74
        /// The configuration or a definition is wrong.
        case configuration = 78
    }

    package let code: Code
    /// Each is one sentence that says what to do, after its place: `FILE:LINE:COLUMN: message`.
    package let messages: [String]

    package init(_ code: Code, _ messages: [String]) {
        self.code = code
        self.messages = messages
    }

    package init(_ code: Code, _ message: String) { self.init(code, [message]) }

    package var description: String { messages.joined(separator: "\n") }
}
