import BusJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Everything that can go wrong between a program and the bus, as one error: refusals of the daemon,
/// and failures on the way to it.
///
/// `code` is for programs; `message` tells people what to do, in one sentence. Both kinds share one set of codes, which
/// newer daemons may extend, so a switch over it needs a default.
public struct BusError: Error, Sendable, Equatable {
    /// The kind of failure. The protocol's codes, and those that arise on this side.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    public let code: Code
    /// One sentence that says what to do.
    public let message: String
    /// The error's further members as the daemon sent them; empty for errors of the client.
    public let details: JSONObject

    public init(_ code: Code, _ message: String, details: JSONObject = [:]) {
        self.code = code
        self.message = message
        self.details = details
    }

    /// Whether the bus keeps no action log: what needs one is not there later either.
    package var meansNoLog: Bool { code == .unavailable && details["log"] == false }

    /// Reads the `error` member of a reply.
    public init(reply error: JSON?) {
        var details = error?.object ?? [:]
        let code = details["code"]?.string
        let message = details["message"]?.string
        details["code"] = nil
        details["message"] = nil
        self.init(
            Code(rawValue: code ?? Code.unexpectedReply.rawValue),
            message ?? "The bus refused the request without saying why.", details: details)
    }
}

extension BusError {
    /// Whether a keyed request that is refused so may have been committed when it was sent before: the bus has not looked for its
    /// key, or can't remember it. A conflict over `ifRevision`, which names the store's revision, is certain.
    package var saysNothingOfKey: Bool {
        [.conflict, .forbidden, .unknownType, .tooLarge, .limit, .unavailable].contains(code)
            && details["revision"] == nil
    }
}

/// Printed, also by a program that such an error ends, it is its message.
extension BusError: CustomStringConvertible, LocalizedError {
    public var description: String { message }
    public var errorDescription: String? { message }
}

extension BusError.Code {
    // Codes of the protocol.
    public static let parseError = Self(rawValue: "parse_error")
    public static let invalidRequest = Self(rawValue: "invalid_request")
    public static let unknownOperation = Self(rawValue: "unknown_op")
    public static let unknownType = Self(rawValue: "unknown_type")
    public static let unknownStore = Self(rawValue: "unknown_store")
    public static let unknownAction = Self(rawValue: "unknown_action")
    public static let unknownTimer = Self(rawValue: "unknown_timer")
    public static let unknownClient = Self(rawValue: "unknown_client")
    public static let invalidPayload = Self(rawValue: "invalid_payload")
    public static let rejected = Self(rawValue: "rejected")
    public static let conflict = Self(rawValue: "conflict")
    public static let gone = Self(rawValue: "gone")
    public static let exists = Self(rawValue: "exists")
    public static let forbidden = Self(rawValue: "forbidden")
    public static let unauthorized = Self(rawValue: "unauthorized")
    public static let tooLarge = Self(rawValue: "too_large")
    public static let limit = Self(rawValue: "limit")
    public static let unavailable = Self(rawValue: "unavailable")
    public static let `internal` = Self(rawValue: "internal")

    // Codes of the client.
    /// The text is not an address of a bus.
    public static let invalidAddress = Self(rawValue: "invalid_address")
    /// A file that the options name is missing or wrong.
    public static let invalidOptions = Self(rawValue: "invalid_options")
    /// The bus at the address can't prove that it is the one.
    public static let untrusted = Self(rawValue: "untrusted")
    /// Nothing answers at the address.
    public static let unreachable = Self(rawValue: "unreachable")
    /// The time allowed has passed.
    public static let timedOut = Self(rawValue: "timed_out")
    /// The connection has ended; after a `goodbye`, `details` holds its `code` as `reason`.
    public static let closed = Self(rawValue: "closed")
    /// An event before this one is missing: the mirror must be subscribed again.
    public static let gap = Self(rawValue: "gap")
    /// The task that waited was cancelled.
    public static let cancelled = Self(rawValue: "cancelled")
    /// The connection was lost, and whether the request was committed can't be known: look, then decide. `details`
    /// holds the bus's error as `original`, if it sent one.
    public static let outcomeUnknown = Self(rawValue: "outcome_unknown")
    /// A state on the bus can't be read as the Swift type; `details` may hold it as `state`.
    public static let unfitState = Self(rawValue: "unfit_state")
    /// What came does not follow the protocol.
    public static let unexpectedReply = Self(rawValue: "unexpected_reply")
}
