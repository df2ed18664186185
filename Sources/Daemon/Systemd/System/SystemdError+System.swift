import Glibc

/// Failures of the kernel as errors of this library: the call, the kernel's words, and advice where there is some.
extension SystemdError {
    /// A call that failed just now; `advice` is a whole sentence.
    static func failed(_ call: String, _ number: Int32 = errno, advice: String = "") -> SystemdError {
        let reason = String(cString: strerror(number))
        let sentence = "\(call) failed: \(reason)."
        return SystemdError(
            .system, advice.isEmpty ? sentence : "\(sentence) \(advice)", systemCode: number)
    }
}
