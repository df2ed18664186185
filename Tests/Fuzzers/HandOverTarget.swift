import BusJSON
import TestSupport

/// What one daemon hands to the next, and the snapshots of a log, which have the same form: refused, or a bus that works.
enum HandOverTarget: FuzzTarget {
    static let name = "HandOver"

    static func seeds() throws -> [[UInt8]] {
        let logged = try MemoryBus.withEveryEntry()
        guard let log = logged.written else { return [] }
        log.takeSnapshot(try logged.past(at: logged.engine.durableRevision))
        return
            ([try MemoryBus.withEveryRecord().handedOver()]
            + log.snapshotBytes.values.sorted { $0.count < $1.count })
            .map { Array($0[..<end(of: $0)]) }
    }

    /// As they are, bytes end at their digest. With the end that belongs to them they are read.
    static func run(_ bytes: UnsafeRawBufferPointer) -> Bool {
        _ = FuzzedBus.takeOver(bytes)
        return FuzzedBus.sealed(bytes, records: records(in: Array(bytes))).withUnsafeBytes {
            FuzzedBus.takeOver($0)
        }
    }

    /// Where the last record begins.
    private static func end(of bytes: [UInt8]) -> Int { (bytes.dropLast().lastIndex(of: 10) ?? -1) + 1 }

    /// How many there are, as far as they can be read.
    private static func records(in bytes: [UInt8]) -> Int {
        var count = 0
        var rest = bytes[...]
        while let newline = rest.firstIndex(of: 10),
            let record = try? JSON(parsing: Array(rest[..<newline]), depthLimit: 1024)
        {
            count += 1
            rest = rest[(newline + 1)...].dropFirst(max(0, record["bytes"]?.int ?? 0))
        }
        return count
    }
}
