import BusJSON

/// One line from the bus: a reply to a request, or an event, which is what has a member `event`.
public enum BusMessage: Sendable {
    case reply(JSONObject)
    case event(name: String, JSONObject)

    /// How deep a line from the bus may nest: well above the 64 levels of a state that the daemon allows by
    /// default, and bounded, because reading recurses.
    static let depthLimit = 256

    public init(parsing line: [UInt8]) throws(BusError) {
        let parsed = line.withUnsafeBytes { bytes in
            Result { () throws(BusError) in try BusMessage(parsing: bytes) }
        }
        self = try parsed.get()
    }

    /// Parses a line in place.
    init(parsing line: UnsafeRawBufferPointer) throws(BusError) {
        let object: JSONObject?
        do throws(JSONError) {
            object = try JSON(parsing: line, depthLimit: Self.depthLimit).object
        } catch {
            throw BusError(.unexpectedReply, "The other end does not speak the bus's protocol: \(error).")
        }
        guard let object else {
            throw BusError(
                .unexpectedReply,
                "The other end does not speak the bus's protocol: a line is not a JSON object."
            )
        }
        self = if let name = object["event"]?.string { .event(name: name, object) } else { .reply(object) }
    }

    /// The error that a `goodbye` event announces.
    static func goodbye(_ event: JSONObject) -> BusError {
        let reason = event["code"]?.string ?? "closed"
        let message = event["message"]?.string ?? "The bus ended the connection (\(reason))."
        return BusError(.closed, message, details: ["reason": .string(reason)])
    }
}
