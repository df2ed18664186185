import FluxBus

/// How a command ends, for scripts and units. The numbers are a contract (those from 64 on are sysexits).
package enum CommandStatus: Int32, Sendable, CaseIterable {
    case success = 0
    /// `unknown_store`, `unknown_timer`, `unknown_client`, `exists`, `conflict`, or a condition that is false.
    case no = 1
    /// The command line is wrong.
    case usage = 64
    /// The bus, or this command, refuses the data: `rejected`, `invalid_…`, unknown names, `parse_error`, `too_large`.
    case refused = 65
    /// Nothing answers, or the connection ended.
    case unreachable = 69
    case `internal` = 70
    /// `unavailable`, `limit`, or the time allowed has passed: try again later.
    case temporary = 75
    /// `forbidden`, `unauthorized`, or the bus can't prove that it is the one.
    case forbidden = 77

    /// The status for an error of the bus. A code that this version does not know counts as internal.
    package init(_ code: BusError.Code) {
        self =
            switch code {
            case .unknownStore, .unknownTimer, BusError.Code(rawValue: "unknown_client"), .exists, .conflict:
                .no
            case .invalidAddress, .invalidOptions: .usage
            case .rejected, .invalidPayload, .invalidRequest, .unknownType, .unknownAction, .unknownOperation,
                .parseError, .tooLarge:
                .refused
            case .unreachable, .closed: .unreachable
            case .timedOut, .unavailable, .limit: .temporary
            case .forbidden, .unauthorized, .untrusted: .forbidden
            default: .internal
            }
    }

    /// The worse of two results: the higher number.
    package func worse(_ other: CommandStatus) -> CommandStatus { rawValue >= other.rawValue ? self : other }
}
