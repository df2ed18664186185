import BusJSON

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Reads the records of a hand-over, one after the other, and sees whether they are whole.
struct HandOverRecords {
    private let bytes: UnsafeRawBufferPointer
    private var place = 0
    private var count = 0

    /// States may nest as deeply as the limits allow, and a record adds a level or two.
    private static let depthLimit = 1024

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// The first record, which must be of a form that is known.
    mutating func bus() throws(HandOverFailure) -> HandOverRecord {
        guard let first = try next(), first.kind == "bus" else {
            throw HandOverFailure("The state that was handed over does not begin as one; start without it.")
        }
        let form = try first.integer("form")
        guard form == HandOver.form else {
            throw HandOverFailure(
                "The state that was handed over has form \(form), and this daemon knows form \(HandOver.form); "
                    + "start the version that made it, or start without it.")
        }
        return first
    }

    /// The first record alone.
    static func first(of bytes: UnsafeRawBufferPointer) throws(HandOverFailure) -> HandOverRecord {
        var records = HandOverRecords(bytes)
        return try records.bus()
    }

    /// The next record; nil behind the last one.
    mutating func next() throws(HandOverFailure) -> HandOverRecord? {
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
        let record = HandOverRecord(members: members, data: try data(of: members))
        if record.kind == "end" {
            let digest = KeyMemory.digest(of: UnsafeRawBufferPointer(rebasing: bytes[..<start]))
            guard members["records"]?.int == count, place == bytes.count,
                members["digest"]?.string == HandOver.text(of: digest)
            else { throw torn }
            return nil
        }
        count += 1
        return record
    }

    /// The bytes that follow a record's line.
    private mutating func data(of members: JSONObject) throws(HandOverFailure) -> UnsafeRawBufferPointer {
        guard let length = members["bytes"]?.int else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        guard length >= 0, length <= bytes.count - place else { throw torn }
        defer { place += length }
        return UnsafeRawBufferPointer(rebasing: bytes[place..<place + length])
    }

    private var torn: HandOverFailure {
        HandOverFailure("The state that was handed over is damaged at byte \(place); start without it.")
    }
}

/// One record: its members, and the bytes that belong to it.
struct HandOverRecord {
    let members: JSONObject
    /// Lives as long as the whole hand-over.
    let data: UnsafeRawBufferPointer

    var kind: String { members["kind"]?.string ?? "" }

    /// A number of anything: never negative, and never so large that a sum of some could overflow.
    func integer(_ name: String) throws(HandOverFailure) -> Int {
        let value = try anyInteger(name)
        guard 0...(1 << 53) ~= value else { throw missing(name) }
        return value
    }

    func anyInteger(_ name: String) throws(HandOverFailure) -> Int {
        guard let value = members[name]?.int else { throw missing(name) }
        return value
    }

    func string(_ name: String) throws(HandOverFailure) -> String {
        guard let value = members[name]?.string else { throw missing(name) }
        return value
    }

    func object(_ name: String) throws(HandOverFailure) -> JSONObject {
        guard let value = members[name]?.object else { throw missing(name) }
        return value
    }

    func flag(_ name: String) -> Bool { members[name]?.bool ?? false }

    func missing(_ name: String) -> HandOverFailure {
        HandOverFailure(
            "A \(kind) of the state that was handed over has no fitting \(name); start without it.")
    }
}
