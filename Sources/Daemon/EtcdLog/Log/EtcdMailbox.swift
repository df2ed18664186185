import BusCluster
import Synchronization

/// What passes between the owner and the thread: calls one way, events the other.
final class EtcdMailbox: Sendable {
    enum Call: Sendable {
        case read(place: Int, cluster: String?, reading: Int)
        case join(String, [UInt8])
        case report([UInt8])
        case leave
        case pass
        case resume(String, incarnation: Int, lease: Int)
        case end(String, incarnation: Int)
        case propose(ProposalName, [UInt8])
        case barrier(Int)
        case listMembers
        case trim(through: Int)
        case close
    }

    private struct Contents {
        var calls: [Call] = []
        var events: ArraySlice<(event: OrderedLogEvent, reading: Int?)> = []
        /// Bytes of the entries that wait.
        var waiting = 0
        /// The latest reading: events of earlier ones are nobody's.
        var reading = 0
    }

    private let bell: @Sendable () -> Void
    private let contents = Mutex(Contents())

    init(bell: @escaping @Sendable () -> Void) { self.bell = bell }

    // MARK: - The owner's side

    func call(_ call: Call) { contents.withLock { $0.calls.append(call) } }

    /// Begins another reading; what came of earlier ones is dropped.
    func beginReading(behind place: Int, of cluster: String?) {
        contents.withLock { contents in
            contents.reading += 1
            contents.events.removeAll { $0.reading != nil }
            contents.waiting = 0
            contents.calls.append(.read(place: place, cluster: cluster, reading: contents.reading))
        }
    }

    /// - Returns: The events, and whether room was made in a full mailbox.
    func take() -> (events: [OrderedLogEvent], madeRoom: Bool) {
        let (events, madeRoom, isMore) = contents.withLock { contents in
            let wasFull = contents.waiting >= EtcdLimits.waiting
            var events: [OrderedLogEvent] = []
            var bytes = 0
            while let next = contents.events.first, events.count < EtcdLimits.takenEntries,
                bytes < EtcdLimits.takenBytes
            {
                contents.events.removeFirst()
                bytes += Self.size(next.event)
                events.append(next.event)
            }
            contents.waiting -= bytes
            // A slice keeps its first elements' room; an empty one gives it back.
            if contents.events.isEmpty { contents.events = [] }
            return (events, wasFull && contents.waiting < EtcdLimits.waiting, !contents.events.isEmpty)
        }
        if isMore { bell() }
        return (events, madeRoom)
    }

    // MARK: - The thread's side

    func takeCalls() -> [Call] {
        contents.withLock { contents in
            defer { contents.calls.removeAll(keepingCapacity: true) }
            return contents.calls
        }
    }

    /// - Parameter reading: That of which the event is; nil: of none.
    func put(_ event: OrderedLogEvent, of reading: Int? = nil) {
        let isHeard = contents.withLock { contents in
            guard reading == nil || reading == contents.reading else { return false }
            contents.events.append((event, reading))
            contents.waiting += Self.size(event)
            return true
        }
        if isHeard { bell() }
    }

    var isFull: Bool { contents.withLock { $0.waiting >= EtcdLimits.waiting } }

    private static func size(_ event: OrderedLogEvent) -> Int {
        guard case .entry(let entry) = event else { return 0 }
        switch entry.content {
        case .proposal(_, let content): return 128 + content.count
        case .joined(_, let report), .reported(_, _, let report): return 128 + report.count
        case .ended: return 128
        }
    }
}
