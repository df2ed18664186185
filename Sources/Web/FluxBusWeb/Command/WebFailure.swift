import Glibc

/// Why the web server does not start, with the exit code: those of `fluxbusd`.
package struct WebFailure: Error, CustomStringConvertible {
    package enum Code: Int32, Sendable {
        /// The system refuses something for which nobody here is to blame.
        case system = 71
        /// An address is in use: try again later.
        case inUse = 75
        /// What was asked for can't be, or a file is wrong.
        case configuration = 78
    }

    package let code: Code
    /// One sentence that says what to do.
    package let description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    /// The system's words for what failed last.
    package static func reason(_ code: Int32 = errno) -> String { String(cString: strerror(code)) }
}
