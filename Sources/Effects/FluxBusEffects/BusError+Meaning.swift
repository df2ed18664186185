import FluxBus

extension BusError {
    /// Whether the bus does not have the past that it was asked for: the type or the log does not keep it, or there is no log.
    var meansNoPast: Bool { code == .conflict || code == .gone || meansNoLog }

    /// Whether there is no past of it at all: its type keeps none, or there is no log.
    var meansNeverPast: Bool { code == .gone && details["keep"] != "all" || meansNoLog }

    /// Whether there is a past of it, which begins later than that: no later attempt finds more.
    var meansTooEarly: Bool { details["oldest"] != nil }

    /// Its message, for a sentence that goes on or ends elsewhere.
    var clause: String { message.hasSuffix(".") ? String(message.dropLast()) : message }

    /// Whether a dispatch with a key may have been committed, or may yet be.
    var leavesOutcomeOpen: Bool {
        switch code {
        case .timedOut, .closed, .outcomeUnknown, .conflict, .internal: true
        case .unavailable: details["outcome"] == "unknown"
        default: false
        }
    }
}
