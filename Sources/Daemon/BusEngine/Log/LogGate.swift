import BusJSON
import BusMachine

/// What was committed and is not on disk yet, and the connections whose output waits for it.
///
/// Batches of commits go to disk, one at a time; the next is open meanwhile. Nothing that reveals a commit is sent
/// before that commit is durable. Without a log every commit counts as durable.
final class LogGate {
    private let connections: Connections

    /// Whether there is a log, and nothing is sent before it is written.
    @exclusivity(unchecked) private(set) var isOn = false
    @exclusivity(unchecked) private var open = CommitBatch()
    @exclusivity(unchecked) private var inFlight: CommitBatch?
    /// The batches written last, for subscriptions that are about to catch up.
    @exclusivity(unchecked) private var written: [CommitBatch] = []
    /// The last revision that is on disk.
    @exclusivity(unchecked) private(set) var durableRevision = 0
    /// Connections that are not read because too much waits for the disk.
    @exclusivity(unchecked) private var waiting: [Connection] = []
    /// Why nothing can be committed now; nil while everything can.
    @exclusivity(unchecked) private(set) var unavailableReason: String?

    /// How much the open batch may hold while another is being written; then nothing more is read.
    private static let openLimit = 32 << 20
    /// How many commits it may hold: equal ones take no room in the log, but each may take some elsewhere.
    private static let openCommits = 1 << 18

    init(_ connections: Connections) { self.connections = connections }

    /// From now on commits are collected, and output that reveals them waits until they are written.
    func begin(at revision: Int) {
        isOn = true
        durableRevision = revision
        open.begin(after: revision)
        for case let connection? in connections.all {
            connection.outbox.release(through: connection.outbox.total)
        }
    }

    /// Whether every commit is on disk, or need not be.
    var isDurable: Bool { !isOn || (inFlight == nil && open.isEmpty) }

    /// Whether too much waits for the disk to accept more.
    @inline(__always)
    var isFull: Bool {
        isOn && (open.size > Self.openLimit || open.last - open.before >= Self.openCommits)
    }

    // MARK: Commits

    /// Appends the commit that a state machine is making. `key`: the key of its request; `details`:
    /// what it is besides its actions.
    @inline(__always)
    func append(
        _ machine: StateMachine, by principal: Principal, actions: Bool, key: KeyedRequest?,
        _ details: CommitDetails?
    ) {
        open.add(at: machine.time, alone: key != nil || details != nil) { line in
            machine.appendEntry(to: line, by: principal, actions: actions, key: key, details)
        }
    }

    /// Appends a note: the will of a session.
    func appendWill(of session: Session, _ machine: StateMachine) {
        guard isOn else { return }
        open.addNote(at: machine.time) { machine.appendWillNote(of: session, to: $0) }
    }

    /// Appends a note: the end of a session without a commit.
    func appendEnd(of session: SessionID, _ machine: StateMachine) {
        guard isOn else { return }
        open.addNote(at: machine.time) { StateMachine.appendEndNote(of: session, to: $0) }
    }

    /// Appends an entry of the log that several machines share, which the commits before it were made from.
    func appendShared(_ entry: [UInt8], at place: Int, _ machine: StateMachine) {
        guard isOn else { return }
        open.add(shared: entry, at: place, machine.time)
    }

    /// A session ends in the open batch; if that is lost, the session has still to be ended.
    func noteEnd(of session: Session) { if isOn { open.ends.append(session) } }

    // MARK: Output

    /// Output written for a connection is sent when everything it could reveal is on disk.
    @inline(__always)
    func hold(_ connection: Connection) {
        if isDurable {
            connection.outbox.release(through: connection.outbox.total)
        } else if !connection.isHeld {
            connection.isHeld = true
            open.connections.append(connection)
        }
    }

    // MARK: Batches

    /// The next batch to write, if there is one and none is being written. Report the result with
    /// `confirm`, or `suspend` and `fail`.
    func seal() -> SealedBatch? {
        guard isOn, inFlight == nil, !open.isEmpty else { return nil }
        let batch = open
        batch.close()
        for connection in batch.connections {
            connection.isHeld = false
            connection.sealed = connection.outbox.total
        }
        inFlight = batch
        open = spareBatch() ?? CommitBatch()
        open.begin(after: batch.last)
        return SealedBatch(
            entries: batch.entries, first: batch.before + 1, last: batch.last, time: batch.time,
            shared: batch.shared)
    }

    /// The batch that was sealed is on disk. Returns the connections that waited for room and may continue.
    func confirm() -> [Connection] {
        guard let batch = inFlight else { preconditionFailure("No batch is being written.") }
        inFlight = nil
        durableRevision = batch.last
        for connection in batch.connections {
            connection.outbox.release(through: connection.sealed)
            connections.markReady(connection)
        }
        batch.connections.removeAll(keepingCapacity: true)
        written.append(batch)
        if open.isEmpty { releaseOpen() }
        return waiting.isEmpty || isFull ? [] : takeWaiting().filter(connections.holds)
    }

    private func takeWaiting() -> [Connection] {
        for connection in waiting { connection.waitsForLog = false }
        defer { waiting = [] }
        return waiting
    }

    /// The oldest of the written batches, for reuse; some are kept for subscriptions that catch up.
    private func spareBatch() -> CommitBatch? {
        let size = written.reduce(0) { $0 + $1.size }
        guard written.count > 8 || size > Self.openLimit / 8, !written.isEmpty else { return nil }
        return written.removeFirst()
    }

    /// Nothing was committed while the disk was busy, so output written meanwhile needs no further batch.
    private func releaseOpen() {
        for connection in open.connections {
            connection.isHeld = false
            connection.outbox.release(through: connection.outbox.total)
            connections.markReady(connection)
        }
        open.connections.removeAll(keepingCapacity: true)
    }

    /// The batch that was sealed could not be written: nothing can be committed until `resume`.
    func suspend(_ reason: String) { unavailableReason = reason }

    /// After `suspend`: everything after `revision` is rolled back. Returns the sessions that had ended after it.
    func fail(at revision: Int) -> [Session] {
        precondition(unavailableReason != nil, "Commits are suspended before the bus is rewound.")
        let ended = (inFlight?.ends ?? []) + open.ends
        inFlight = nil
        open.begin(after: revision)
        open.connections = []
        _ = takeWaiting()
        durableRevision = revision
        return ended
    }

    /// The log accepts commits again; false if it did all the time.
    func resume() -> Bool {
        defer { unavailableReason = nil }
        return unavailableReason != nil
    }

    // MARK: Waiting

    /// Blocks a connection; it is not read before there is room again.
    func wait(_ connection: Connection) {
        connection.isBlocked = true
        if isFull, !connection.waitsForLog {
            connection.waitsForLog = true
            waiting.append(connection)
        }
    }

    /// An unacknowledged dispatch must get an answer if its commit can't be written; also one that was sent again.
    func noteUnacknowledged(_ connection: Connection, committedAt revision: Int, id: UnsafeRawBufferPointer) {
        guard isOn, revision > durableRevision else { return }
        connections.takeShared(connection)
        // Durable ones are removed each time the list has doubled, because a slow disk lets it grow long.
        if connection.unacknowledged.count >= connection.unacknowledgedRoom {
            let durable = durableRevision
            connection.unacknowledged.removeAll { $0.revision <= durable }
            connection.unacknowledgedRoom = max(64, 2 * connection.unacknowledged.count)
        }
        connection.unacknowledged.append(
            UnacknowledgedDispatch(place: connection.outbox.total, revision: revision, id: Array(id)))
    }

    // MARK: Entries in memory

    /// Passes the entries of the batch in which the commit after a revision is, the revision before its first commit, and its
    /// last one. Returns false, without a call, if that commit is no longer in memory.
    func withEntries(
        after revision: Int, _ body: (UnsafeRawBufferPointer, _ before: Int, _ last: Int) -> Void
    ) -> Bool {
        let batch =
            written.first { $0.last > revision }
            ?? inFlight.flatMap { $0.last > revision ? $0 : nil } ?? open
        guard batch.before <= revision, batch.last > revision else { return false }
        if batch === open { open.close() }
        body(batch.entries.bytes, batch.before, batch.last)
        return true
    }
}
