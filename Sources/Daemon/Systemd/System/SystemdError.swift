import BusSystem
import Glibc

/// Why a call between this process and systemd failed.
///
/// One type for the whole library: callers distinguish failures by `code`; the sentence says what to do
/// about it and is meant for a log.
///
/// ```swift
/// do { try journal.send(entry) } catch where error.code == .busy { left += 1 }
/// ```
public struct SystemdError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of failure. New ones may be added, so a `switch` needs a default.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        /// A variable that the service manager sets holds what no manager would write.
        public static let environment = Code(description: "environment")
        /// A name, of a socket or of a stored descriptor, can't be one.
        public static let name = Code(description: "name")
        /// The receiver's queue is full, and the caller did not want to wait.
        public static let busy = Code(description: "busy")
        /// The receiver did not answer in time.
        public static let timeout = Code(description: "timeout")
        /// More than a message, or a file, can hold.
        public static let tooLarge = Code(description: "too large")
        /// A descriptor is not of the requested kind.
        public static let descriptor = Code(description: "descriptor")
        /// The kernel refused a call; `systemCode` has its number.
        public static let system = Code(description: "system")
    }

    public let code: Code
    /// One sentence, with what to do.
    public let message: String
    /// The kernel's `errno` where there is one, else 0.
    public let systemCode: Int32

    package init(_ code: Code, _ message: String, systemCode: Int32 = 0) {
        self.code = code
        self.message = message
        self.systemCode = systemCode
    }

    public var description: String { message }
}

/// Failures of the kernel as errors of this library: the call, the kernel's words, and advice where there is some.
extension SystemdError {
    /// A call that failed just now; `advice` is a whole sentence.
    static func failed(_ call: String, _ number: Int32 = errno, advice: String = "") -> SystemdError {
        let sentence = "\(call) failed: \(systemReason(number))."
        return SystemdError(
            .system, advice.isEmpty ? sentence : "\(sentence) \(advice)", systemCode: number)
    }
}
