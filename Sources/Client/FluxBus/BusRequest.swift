import BusJSON

/// One request in the making: its `op` and its members, in the order in which they are to be written.
public struct BusRequest: Sendable {
    public let op: String
    public private(set) var members: [(name: String, value: JSON)]

    /// Adds the members that have a value; a nil one is left out.
    public init(_ op: String, _ members: KeyValuePairs<String, JSON?> = [:]) {
        self.op = op
        self.members = []
        for (name, value) in members { set(name, value) }
    }

    package init(_ op: String, object: JSONObject) {
        self.init(op)
        for member in object.members { set(member.key, member.value) }
    }

    /// Adds a member; nil adds nothing.
    public mutating func set(_ name: String, _ value: JSON?) {
        if let value { members.append((name, value)) }
    }

    /// Writes the request as one line, `\n` included.
    package func write(to writer: ByteWriter, id: Int? = nil) {
        writeOpen(to: writer, id: id)
        writer.append("}\n")
    }

    /// Writes the line up to where further members can follow.
    func writeOpen(to writer: ByteWriter, id: Int?) {
        writer.append("{\"op\":", quoted: op)
        if let id {
            writer.append(",\"id\":", decimal: id)
        }
        for member in members {
            writer.append(UInt8(ascii: ","))
            writer.append(quoted: member.name)
            writer.append(UInt8(ascii: ":"))
            writer.append(json: member.value)
        }
    }

    /// The member of that name; the first, if it was set twice.
    public subscript(name: String) -> JSON? { members.first { $0.name == name }?.value }
}

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
    package static func goodbye(_ event: JSONObject) -> BusError {
        let reason = event["code"]?.string ?? "closed"
        let message = event["message"]?.string ?? "The bus ended the connection (\(reason))."
        return BusError(.closed, message, details: ["reason": .string(reason)])
    }
}
