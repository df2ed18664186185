import BusJSON

/// When a dispatch is to be carried out.
public enum DispatchTime: Sendable, Equatable {
    /// After a length of time, which begins when the bus reads the request.
    case after(Duration)
    /// At a time, in seconds since 1970.
    case at(Double)

    /// The member of a dispatch for it.
    var member: (name: String, value: JSON) {
        switch self {
        case .after(let duration):
            let (seconds, attoseconds) = duration.components
            return (
                "in",
                attoseconds == 0 ? .int(Int(seconds)) : .double(Double(seconds) + Double(attoseconds) / 1e18)
            )
        case .at(let seconds): return ("at", .double(seconds))
        }
    }
}

/// The reply to a dispatch that comes later.
public struct ScheduledDispatch: Sendable, Equatable {
    /// The revision of the commit that set the timer.
    public let revision: Int
    /// The name under which it waits.
    public let timer: String
    /// When it is due, in seconds since 1970.
    public let due: Double
    /// True when it had been scheduled before and the answer was lost; it was not scheduled again.
    public let isDuplicate: Bool

    init(_ reply: JSONObject) throws(BusError) {
        guard let timer = reply["timer"]?.string, let due = reply["due"]?.double else {
            throw BusError(.unexpectedReply, "The bus answered a dispatch for later without its timer.")
        }
        revision = try Bus.revision(of: reply)
        self.timer = timer
        self.due = due
        isDuplicate = reply["duplicate"]?.bool ?? false
    }
}

/// An action that waits for its time.
public struct PendingTimer: Sendable, Equatable {
    /// The store it belongs to, or the type whose stores it will reach.
    public let target: DispatchTarget
    public let name: String
    /// In seconds since 1970.
    public let due: Double
    /// After how many seconds it is due again, and so on; nil: it is due once.
    public let every: Double?
    public let action: String
    public let payload: JSONObject
    /// Who asked for it.
    public let by: JSONObject

    init?(_ json: JSON) {
        guard let name = json["timer"]?.string, let due = json["due"]?.double,
            let action = json["action"]?.string
        else { return nil }
        switch (json["store"]?.string, json["type"]?.string) {
        case (let store?, _): target = .store(store)
        case (nil, "*"): target = .everything
        case (nil, let type?): target = .type(type)
        default: return nil
        }
        self.name = name
        self.due = due
        self.action = action
        payload = json["payload"]?.object ?? [:]
        by = json["by"]?.object ?? [:]
        every = json["every"]?.double
    }
}
