import BusJSON

/// One line of `dispatch -` on its way to the bus.
struct RequestLine {
    /// The bytes to send, without the line's end.
    let bytes: [UInt8]
    /// False when the bus answers only if it refuses.
    let isAcknowledged: Bool

    /// Completes a line without `op` to a dispatch. A line that is no object is sent unchanged.
    init(_ line: [UInt8], withoutAcknowledgement: Bool) {
        guard let object = try? JSON(parsing: line, depthLimit: 256).object,
            let brace = line.firstIndex(of: 0x7b)
        else {
            bytes = line
            isAcknowledged = true
            return
        }
        var added = ""
        let isDispatch = object["op"].map { $0 == "dispatch" } ?? true
        if object["op"] == nil { added += "\"op\":\"dispatch\"" }
        let addsAck = isDispatch && withoutAcknowledgement && object["ack"] == nil
        if addsAck { added += (added.isEmpty ? "" : ",") + "\"ack\":false" }
        isAcknowledged = !addsAck && (object["ack"] != .bool(false) || !isDispatch)
        if added.isEmpty {
            bytes = line
        } else {
            let separator = object.isEmpty ? "" : ","
            bytes = Array(line[...brace]) + Array((added + separator).utf8) + Array(line[(brace + 1)...])
        }
    }
}
