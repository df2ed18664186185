import BusJSON

/// Writes the records of a snapshot or a hand-over, one after the other.
package final class RecordWriter {
    private let writer = ByteWriter(capacity: 1 << 16)
    private var count = 0

    package init() {}

    /// Writes one record; `fill` receives a function that adds a member. `data` follows the line.
    package func record(
        _ kind: String, data: UnsafeRawBufferPointer? = nil, _ fill: ((String, JSON) -> Void) -> Void
    ) {
        writer.append("{\"kind\":", quoted: kind)
        fill { name, value in
            self.writer.append(UInt8(ascii: ","))
            self.writer.append(quoted: name)
            self.writer.append(UInt8(ascii: ":"))
            self.writer.append(json: value)
        }
        if let data {
            writer.append(",\"bytes\":", decimal: data.count)
        }
        writer.append("}\n")
        if let data { writer.append(data) }
        count += 1
    }

    /// Ends the records and returns them.
    package func finished() -> ByteWriter {
        StateTransfer.appendEnd(to: writer, records: count)
        return writer
    }
}
