import BusEngine
import BusJSON
import BusProtocol
import BusSystem

/// Members that fetch a snapshot of this one's replica, part by part. A snapshot is made when one asks for the first part, and is as
/// large as the bus: each has it until its last part, until its connection ends, or until it has asked for nothing for a time. It
/// belongs to the bus queue.
struct JoiningMembers {
    typealias Answer = Result<[UInt8], ClusterRefusal>

    private struct Joiner {
        let snapshot: ReplicaSnapshots.Made
        /// When it asked last, in monotonic milliseconds.
        var asked: Int
    }

    /// Those that wait for the first part, and up to where the copy had everything when they asked. What they get reaches as far: a
    /// member takes what is missing in it for lost.
    private var waiting: [(query: ClusterQuery, place: Int)] = []
    /// Where the snapshot stands that is being made; nil: none is.
    private var making: Int?
    /// By the serial numbers of their connections.
    private var joiners: [Int: Joiner] = [:]
    /// The places of snapshots that were fetched, with the time: before it reads the log, a member restores what it has fetched.
    private var fetched: [Int: Int] = [:]

    /// So many snapshots there are at most. Whoever asks then waits until one has been fetched; all who wait get the next one.
    private static let mostSnapshots = 2
    /// In bytes. Larger ones would make one turn of the bus long, smaller ones a fetch over a long way.
    private static let largestPart = 256 << 10
    /// Of a reply, beside the data.
    private static let overhead = 80
    /// How long a snapshot is kept for one that asks for nothing, and the log behind one that was fetched, in milliseconds.
    private static let patience = 60_000

    /// The shared log has to keep what comes behind this place: who has a snapshot goes on from there. Nil: nobody has one.
    var place: Int? {
        (joiners.values.map(\.snapshot.place) + fetched.keys + [making].compactMap { $0 }).min()
    }

    /// - Parameter place: Up to here the copy has everything.
    mutating func ask(_ query: ClusterQuery, through place: Int) {
        // It begins again.
        joiners[query.client] = nil
        waiting.append((query, place))
    }

    /// The first parts that can be given now. Begins to make another snapshot, if one is needed.
    ///
    /// - Parameter place: Up to here the copy has everything.
    mutating func answers(
        from snapshots: ReplicaSnapshots, through place: Int, now: Int,
        _ isAwaited: (ClusterQuery) -> Bool
    ) -> [(ClusterQuery, Answer)] {
        waiting.removeAll { !isAwaited($0.query) }
        var answers: [(ClusterQuery, Answer)] = []
        if let made = making, let result = snapshots.takeMade() {
            making = nil
            answers += give(result, through: made, now: now)
        }
        guard let wanted = waiting.last?.place, making == nil else { return answers }
        if let current = joiners.values.first(where: { $0.snapshot.place >= wanted })?.snapshot {
            return answers + give(.success(current), through: current.place, now: now)
        }
        if Set(joiners.values.map(\.snapshot.place)).count < Self.mostSnapshots {
            making = place
            snapshots.make(through: place)
        }
        return answers
    }

    /// Those that wait for no more than this have it.
    private mutating func give(
        _ result: Result<ReplicaSnapshots.Made, ClusterRefusal>, through place: Int, now: Int
    ) -> [(ClusterQuery, Answer)] {
        let queries = waiting.filter { $0.place <= place }.map(\.query)
        waiting.removeAll { $0.place <= place }
        return queries.map { query in
            switch result {
            case .success(let snapshot):
                joiners[query.client] = Joiner(snapshot: snapshot, asked: now)
                return (query, part(from: 0, query, now: now))
            case .failure(let refusal): return (query, .failure(refusal))
            }
        }
    }

    mutating func part(from offset: Int, _ query: ClusterQuery, now: Int) -> Answer {
        guard let snapshot = joiners[query.client]?.snapshot, 0..<snapshot.bytes.count ~= offset else {
            return .failure(ClusterRefusal("There is no such part; begin again with offset 0."))
        }
        let size = min(Self.largestPart, Base64.bytes(in: query.room - Self.overhead))
        let end = min(snapshot.bytes.count, offset + size)
        if end == snapshot.bytes.count {
            joiners[query.client] = nil
            fetched[snapshot.place] = now
        } else {
            joiners[query.client]?.asked = now
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

    /// Forgets those that are gone, and those of which nothing was heard for long.
    mutating func expire(now: Int, _ isOpen: (Int) -> Bool) {
        joiners = joiners.filter { isOpen($0.key) && now - $0.value.asked < Self.patience }
        fetched = fetched.filter { now - $0.value < Self.patience }
    }
}
