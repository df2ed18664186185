import FluxBus

/// Why a command ends without success: the sentence for standard error, and the status for the caller.
package struct CommandFailure: Error, Equatable {
    package let status: CommandStatus
    package let message: String

    package init(_ status: CommandStatus, _ message: String) {
        self.status = status
        self.message = message
    }

    /// The bus's error, with advice for a command line.
    package init(_ error: BusError) {
        status = CommandStatus(error.code)
        message = CommandWords.sentence(error.message).endingSentence(with: Self.advice(for: error))
    }

    private static func advice(for error: BusError) -> String? {
        switch error.code {
        case .unreachable: "start fluxbusd, or name another bus with --address or $FLUXBUS_ADDRESS"
        case .timedOut: "try a longer --timeout"
        default: nil
        }
    }
}

extension String {
    /// This sentence with advice after a colon, as one sentence; unchanged without advice.
    func endingSentence(with advice: String?) -> String {
        guard let advice else { return self }
        let trunk = hasSuffix(".") ? String(dropLast()) : self
        return "\(trunk): \(advice)."
    }
}
