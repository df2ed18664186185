import BusLog
import TestSupport

/// A batch or replica that outlives the call that gave it.
struct Batch: Equatable {
    let place: Int
    let entries: [UInt8]

    init(_ place: Int, _ entries: [UInt8]) {
        self.place = place
        self.entries = entries
    }

    init(_ place: Int, _ entries: String) { self.init(place, Array(entries.utf8)) }
}

extension LogFile {
    /// Appends a batch, with a group of one commit unless it has no text.
    func append(_ batch: Batch, with text: String = "") throws(LogFailure) {
        let first = lastRevision + 1
        let (last, text) = (text.isEmpty ? first - 1 : first, Array(text.utf8))
        let outcome = text.withUnsafeBytes { text in
            batch.entries.withUnsafeBytes { entries in
                Result { () throws(LogFailure) in
                    try append(
                        text, first: first, last: last, time: batch.place, shared: (batch.place, entries))
                }
            }
        }
        try outcome.get()
    }

    func addReplicaPart(_ bytes: [UInt8]) throws(LogFailure) {
        let outcome = bytes.withUnsafeBytes { bytes in
            Result { () throws(LogFailure) in try addReplicaPart(bytes) }
        }
        try outcome.get()
    }

    /// Writes a whole replica.
    func replica(_ place: Int, parts: Int = 3, size: Int = 1000) throws(LogFailure) {
        try beginReplica(place: place)
        for part in 0..<parts { try addReplicaPart(Self.part(part, of: place, size)) }
        try endReplica()
    }

    static func part(_ number: Int, of place: Int, _ size: Int = 1000) -> [UInt8] {
        var generator = SeededGenerator(seed: UInt64(place * 1000 + number))
        return (0..<size).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }
}

extension LogReader {
    func batches(behind place: Int = 0, through last: Int = .max) throws(LogFailure) -> [Batch] {
        var batches: [Batch] = []
        try forEachSharedBatch(behind: place, through: last) { place, entries throws(LogFailure) in
            batches.append(Batch(place, Array(entries)))
        }
        return batches
    }

    func replica(_ place: Int) throws(LogFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        try forEachReplicaPart(of: place) { part throws(LogFailure) in bytes += Array(part) }
        return bytes
    }
}

extension Scratch {
    /// A log that is a copy, opened, with its run begun.
    func openCopy(_ sync: SyncMode = .always) throws(LogFailure) -> LogFile {
        let file = try open(sync)
        try file.becomeCopy(ofBus: "home", member: "kitchen")
        try file.begin(epoch: "e")
        return file
    }

    func count(_ table: String) throws -> Int? {
        try Int(query("SELECT count(*) FROM \(table)").dropLast())
    }
}
