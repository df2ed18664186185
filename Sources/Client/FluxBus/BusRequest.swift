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
        writer.append("{\"op\":")
        writer.append(quoted: op)
        if let id {
            writer.append(",\"id\":")
            writer.append(decimal: id)
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
