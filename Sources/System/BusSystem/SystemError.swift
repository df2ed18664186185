import Glibc

/// A system call that failed, with the kernel's reason.
package struct SystemError: Error, Equatable, CustomStringConvertible {
    /// What was tried: "bind".
    package let call: String
    /// The kernel's `errno`.
    package let code: Int32

    package init(_ call: String, code: Int32 = errno) {
        self.call = call
        self.code = code
    }

    /// The kernel's words: "Permission denied".
    package var reason: String { systemReason(code) }
    package var description: String { "\(call): \(reason)" }
}

/// The system's words for an error number.
package func systemReason(_ code: Int32 = errno) -> String { String(cString: strerror(code)) }
