import BusJSON

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Reads the records of a snapshot or a hand-over, one after the other, and checks that they are complete.
package struct RecordReader {
    private let bytes: UnsafeRawBufferPointer
    private var place = 0
    private var count = 0

    /// States may nest as deeply as the limits allow, and a record adds a level or two.
    private static let depthLimit = 1024

    package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// The first record, which must have a known form.
    package mutating func bus() throws(TransferFailure) -> TransferRecord {
        guard let first = try next(), first.kind == "bus" else {
            throw TransferFailure("The state that was handed over does not begin as one; start without it.")
        }
        let form = try first.integer("form")
        guard 1...StateTransfer.form ~= form else {
            throw TransferFailure(
                "The state that was handed over has form \(form), and this daemon knows forms up to \(StateTransfer.form); "
                    + "start the version that made it, or start without it.")
        }
        return first
    }

    /// The next record; nil after the last one.
    package mutating func next() throws(TransferFailure) -> TransferRecord? {
        guard place < bytes.count, let base = bytes.baseAddress,
            let newline = memchr(base + place, 10, bytes.count - place)
        else { throw torn }
        let end = UnsafeRawPointer(newline) - base
        let start = place
        let line = UnsafeRawBufferPointer(rebasing: bytes[place..<end])
        guard let members = (try? JSON(parsing: line, depthLimit: Self.depthLimit))?.object else {
            throw torn
        }
        place = end + 1
        let record = TransferRecord(members: members, data: try data(of: members))
        if record.kind == "end" {
            let digest = DeduplicationTable.digest(of: UnsafeRawBufferPointer(rebasing: bytes[..<start]))
            guard members["records"]?.int == count, place == bytes.count,
                members["digest"]?.string == StateTransfer.text(of: digest)
            else { throw torn }
            return nil
        }
        count += 1
        return record
    }

    /// The bytes that follow a record's line.
    private mutating func data(of members: JSONObject) throws(TransferFailure) -> UnsafeRawBufferPointer {
        guard let length = members["bytes"]?.int else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        guard length >= 0, length <= bytes.count - place else { throw torn }
        defer { place += length }
        return UnsafeRawBufferPointer(rebasing: bytes[place..<place + length])
    }

    private var torn: TransferFailure {
        TransferFailure("The state that was handed over is damaged at byte \(place); start without it.")
    }
}

/// One record: its members, and the bytes that belong to it.
package struct TransferRecord {
    package let members: JSONObject
    /// Valid as long as the whole hand-over.
    package let data: UnsafeRawBufferPointer

    package var kind: String { members["kind"]?.string ?? "" }

    /// A count: never negative, and never so large that a sum of some could overflow.
    package func integer(_ name: String) throws(TransferFailure) -> Int {
        let value = try anyInteger(name)
        guard 0...(1 << 53) ~= value else { throw missing(name) }
        return value
    }

    package func anyInteger(_ name: String) throws(TransferFailure) -> Int {
        guard let value = members[name]?.int else { throw missing(name) }
        return value
    }

    package func string(_ name: String) throws(TransferFailure) -> String {
        guard let value = members[name]?.string else { throw missing(name) }
        return value
    }

    package func object(_ name: String) throws(TransferFailure) -> JSONObject {
        guard let value = members[name]?.object else { throw missing(name) }
        return value
    }

    package func flag(_ name: String) -> Bool { members[name]?.bool ?? false }

    package func missing(_ name: String) -> TransferFailure {
        TransferFailure(
            "A \(kind) of the state that was handed over has no fitting \(name); start without it.")
    }
}

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
