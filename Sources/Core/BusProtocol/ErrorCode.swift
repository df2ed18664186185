/// The error codes of the wire.
package enum ErrorCode: String, CaseIterable, Sendable {
    case parseError = "parse_error"
    case invalidRequest = "invalid_request"
    case unknownOp = "unknown_op"
    case unknownType = "unknown_type"
    case unknownStore = "unknown_store"
    case unknownAction = "unknown_action"
    case unknownTimer = "unknown_timer"
    case unknownClient = "unknown_client"
    case invalidPayload = "invalid_payload"
    case rejected
    case conflict
    case gone
    case exists
    case forbidden
    case unauthorized
    case tooLarge = "too_large"
    case limit
    case unavailable
    case `internal`
}
