import TestSupport

/// The entries of a log: refused, or carried out to states that come back from their snapshot.
enum LogTarget: FuzzTarget {
    static let name = "Log"

    static func seeds() throws -> [[UInt8]] {
        guard let log = try MemoryBus.withEveryEntry().written else { return [] }
        // The whole log, and its beginnings: entries like the one before are read in another way.
        return log.groups.indices.map { Array(log.groups[...$0].map(\.entries).joined(separator: [10])) }
    }

    /// Also without its end, which a crash may have cut off anywhere.
    static func run(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let seed = bytes.reduce(0) { (sum: UInt64, byte) in (sum ^ UInt64(byte)) &* 0x100_0000_01b3 }
        var random = SeededGenerator(seed: seed)
        let beginning = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
        _ = beginning.withUnsafeBytes { FuzzedBus.replay($0) }
        return FuzzedBus.replay(bytes)
    }
}
