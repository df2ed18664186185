import BusEngine
import BusJSON
import BusProtocol
import BusSystem

/// Members that fetch a snapshot of this one's replica, part by part. It is made when one asks for the first part, and is as large as
/// the bus: each has it until its last part, and none after a time without a question. It belongs to the bus queue.
struct JoiningMembers {
    typealias Answer = Result<[UInt8], ClusterRefusal>

    /// Those that have asked for the first part of the one that is being made.
    private var waiting: [ClusterQuery] = []
    private var taking: [ConnectionID: ReplicaSnapshots.Made] = [:]
    /// Where the oldest stands that was asked for lately. The shared log has to keep what comes behind it: who has the snapshot goes
    /// on from there. Nil: none was.
    private(set) var place: Int?
    /// When the last question came, or the last snapshot was made, in monotonic milliseconds.
    private var asked = 0

    /// Bytes of the replica in one reply: with what surrounds them they fit into a line of the least length.
    private static let partSize = 24 << 10
    /// How long snapshots, and the log behind them, are kept after the last question, in milliseconds: a member that has fetched all
    /// parts still has to restore them before it reads the log.
    private static let patience = 60_000

    /// Begins to make one, or waits for the one that is being made.
    ///
    /// - Parameter place: Up to here the copy has everything.
    mutating func ask(_ query: ClusterQuery, through place: Int, _ snapshots: ReplicaSnapshots, now: Int) {
        asked = now
        if waiting.isEmpty {
            self.place = min(self.place ?? .max, place)
            snapshots.make(through: place)
        }
        waiting.append(query)
    }

    /// The answers that can be given now.
    mutating func answers(from snapshots: ReplicaSnapshots, now: Int) -> [(ClusterQuery, Answer)] {
        guard !waiting.isEmpty, let result = snapshots.takeMade() else { return [] }
        let queries = waiting
        (waiting, asked) = ([], now)
        var answers: [(ClusterQuery, Answer)] = []
        for query in queries {
            switch result {
            case .success(let snapshot):
                taking[query.connection] = snapshot
                answers.append((query, part(from: 0, query, now: now)))
            case .failure(let refusal): answers.append((query, .failure(refusal)))
            }
        }
        return answers
    }

    mutating func part(from offset: Int, _ query: ClusterQuery, now: Int) -> Answer {
        guard let snapshot = taking[query.connection], 0..<snapshot.bytes.count ~= offset else {
            return .failure(ClusterRefusal("There is no such part; begin again with offset 0."))
        }
        asked = now
        let end = min(snapshot.bytes.count, offset + Self.partSize)
        if end == snapshot.bytes.count { taking[query.connection] = nil }
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

    /// Forgets those of which nothing was heard for long.
    mutating func expire(now: Int) {
        guard place != nil, waiting.isEmpty, now - asked >= Self.patience else { return }
        (taking, place) = ([:], nil)
    }
}
