import BusEngine
import BusJSON
import BusProtocol

/// Members that take this one's replica, each part by part. It is made when one asks for the first part, and let go once all who
/// waited for it have had the last part: it is as large as the bus. It belongs to the bus queue.
struct JoiningMembers {
    typealias Answer = Result<[UInt8], ClusterRefusal>

    /// Those that have asked for the first part of the one that is being made.
    private var waiting: [ClusterQuery] = []
    private var made: ReplicaSnapshots.Made?
    /// How many are to have its last part.
    private var takers = 0

    /// Bytes of the replica in one reply: with what surrounds them they fit into a line of the least length.
    private static let partSize = 24 << 10

    var isWaiting: Bool { !waiting.isEmpty }

    /// Nil: the answer comes once the replica is made.
    mutating func ask(_ query: ClusterQuery, from offset: Int, _ snapshots: ReplicaSnapshots) -> Answer? {
        if offset != 0 { return part(from: offset) }
        if waiting.isEmpty { snapshots.make() }
        waiting.append(query)
        return nil
    }

    /// The answers that can be given now.
    mutating func answers(from snapshots: ReplicaSnapshots) -> [(ClusterQuery, Answer)] {
        guard let result = snapshots.takeMade() else { return [] }
        let queries = waiting
        waiting = []
        switch result {
        case .success(let snapshot):
            (made, takers) = (snapshot, queries.count)
            var answers: [(ClusterQuery, Answer)] = []
            for query in queries { answers.append((query, part(from: 0))) }
            return answers
        case .failure(let failure):
            return queries.map { ($0, .failure(ClusterRefusal(failure.message))) }
        }
    }

    private mutating func part(from offset: Int) -> Answer {
        guard let snapshot = made, 0..<snapshot.bytes.count ~= offset else {
            return .failure(ClusterRefusal("There is no such part; begin again with offset 0."))
        }
        let end = min(snapshot.bytes.count, offset + Self.partSize)
        if end == snapshot.bytes.count {
            takers -= 1
            if takers <= 0 { made = nil }
        }
        let writer = ByteWriter()
        writer.append(",\"place\":", decimal: snapshot.place)
        writer.append(",\"bytes\":", decimal: snapshot.bytes.count)
        writer.append(",\"data\":\"")
        snapshot.bytes.withUnsafeBytes { all in
            Base64.append(UnsafeRawBufferPointer(rebasing: all[offset..<end]), to: writer)
        }
        writer.append(UInt8(ascii: "\""))
        return .success(Array(writer.bytes))
    }
}
