import BusJSON
import BusMachine

/// What was committed and is not on disk yet, and the connections whose output waits for it.
///
/// Batches of commits go to disk, one at a time; the next is open meanwhile. Nothing that reveals a commit is sent
/// before that commit is durable. Without a log every commit counts as durable.
final class LogGate {
    private let connections: Connections
    /// What programs read without the daemon, which has only what is durable.
    let maps: Maps

    /// Whether there is a log, and nothing is sent before it is written.
    @exclusivity(unchecked) private(set) var isOn = false
    @exclusivity(unchecked) private var open = CommitBatch()
    @exclusivity(unchecked) private var inFlight: CommitBatch?
    /// The batches written last, for subscriptions that are about to catch up.
    @exclusivity(unchecked) private var written: [CommitBatch] = []
    /// The last revision that is on disk, as far as it has to be.
    @exclusivity(unchecked) private(set) var durableRevision = 0
    /// The revision through which commits of which nothing is kept may have theirs: after a crash a start goes on behind it, so
    /// that none is used twice.
    @exclusivity(unchecked) private var reservedThrough = 0
    /// How many changes commits have made of which nothing is kept.
    @exclusivity(unchecked) private(set) var unkeptChanges = 0
    /// Counts batches: what somebody has in an earlier one than the open one no longer counts.
    @exclusivity(unchecked) private var number = 1
    /// How many users have something in the open batch.
    @exclusivity(unchecked) private var usersInBatch = 0
    /// Connections that are not read because too much waits for the disk.
    @exclusivity(unchecked) private var waiting: [Connection] = []
    /// Why nothing can be committed now; nil while everything can.
    @exclusivity(unchecked) private(set) var unavailableReason: String?
    /// Until then, output that reveals commits does not wait for the disk here.
    @exclusivity(unchecked) private var isShowing = false

    /// How much the open batch may hold while another is being written; then nothing more is read. Only lines that can't be
    /// divided come near it.
    private static let openLimit = 32 << 20
    /// How much of it one user may fill before its connections wait for the next, where no other user has anything in it: a
    /// disk takes this in a few milliseconds, and it is enough to keep one busy.
    private static let userBytes = 256 << 10
    /// How many commits: equal ones take no room in the log, but each may take some elsewhere. As many as are made while a
    /// slow disk syncs.
    private static let userCommits = 1 << 16
    /// A user may always have this much in it, however many users there are.
    private static let leastBytes = 16 << 10
    private static let leastCommits = 1 << 10
    /// One connection may fill one part in so many of what its user may: the user's others find room in the open batch.
    private static let connectionPart = 2
    /// How many revisions are reserved at once: a bus that commits 10,000 times a second reserves some every two minutes.
    package static let reservedAtOnce = 1 << 20
    /// How many written batches are kept for subscriptions that catch up, and how much they may hold.
    private static let writtenKept = (count: 8, bytes: 4 << 20)

    init(_ connections: Connections, _ maps: Maps) {
        self.connections = connections
        self.maps = maps
    }

    /// From now on commits are collected, and output that reveals them waits until they are written.
    func begin(at revision: Int) {
        isOn = true
        durableRevision = revision
        reservedThrough = revision
        open.begin(after: revision)
        for case let connection? in connections.all {
            connection.output.releaseAll()
        }
    }

    /// The last revision of the batches that are written.
    var writtenRevision: Int { (inFlight ?? open).before }

    /// Whether every commit is on disk, or need not be.
    var isDurable: Bool { !isOn || (inFlight == nil && open.isEmpty) }

    /// Whether every commit may be seen.
    @inline(__always)
    private var isShown: Bool { isDurable || isShowing }

    /// Whether too much waits for the disk to accept more.
    @inline(__always)
    var isFull: Bool { isOn && open.size > Self.openLimit }

    /// Whether a connection has to wait for the next batch: it, or its user, has filled its share of the open one.
    @inline(__always)
    func mustWait(_ connection: Connection) -> Bool {
        isOn && (isFull || connection.unwritten.filled == number || isShareFilled(of: connection.user))
    }

    @inline(__always)
    func isShareFilled(of user: User) -> Bool { user.batchShare.filled == number }

    // MARK: Shares

    /// How much was added to the open batch so far.
    @inline(__always)
    var mark: BatchMark { BatchMark(bytes: open.size, commits: open.commits) }

    /// Counts what was added since a mark for a connection, and for its user.
    @inline(__always)
    func charge(_ connection: Connection, since mark: BatchMark) {
        // A will that is left is no commit, and stands in the log.
        guard isOn, open.commits != mark.commits || open.size != mark.bytes else { return }
        let (bytes, commits) = charge(connection.user, since: mark)
        connection.unwritten.add(
            mark.added(self.mark), to: number,
            of: (bytes / Self.connectionPart, commits / Self.connectionPart))
    }

    /// Counts it for a user. Returns how many bytes and commits one may have in the open batch.
    @discardableResult
    func charge(_ user: User, since mark: BatchMark) -> (bytes: Int, commits: Int) {
        if user.batchShare.batch != number { usersInBatch += 1 }
        let users = max(1, usersInBatch)
        let most = (
            bytes: max(Self.leastBytes, Self.userBytes / users),
            commits: max(Self.leastCommits, Self.userCommits / users)
        )
        user.batchShare.add(mark.added(self.mark), to: number, of: most)
        return most
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

    /// The commit that a state machine is making has no entry, as the log keeps nothing of it. Only its revision may have to be
    /// reserved.
    @inline(never)
    func pass(_ machine: StateMachine) {
        let wasDurable = isDurable
        open.pass(through: machine.revision, at: machine.time)
        unkeptChanges += machine.sequence - machine.sequenceBefore
        if machine.revision > max(reservedThrough, inFlight?.reserved ?? 0, open.reserved ?? 0) {
            open.reserved = machine.revision + Self.reservedAtOnce
        } else if wasDurable {
            durableRevision = machine.revision
        }
    }

    /// Appends a note: the will of a session.
    func appendWill(of session: Session, _ machine: StateMachine) {
        guard isOn else { return }
        open.addNote(at: machine.time) { machine.appendWillNote(of: session, to: $0) }
    }

    /// Appends a note: the end of a session without a commit.
    func appendEnd(of session: SessionID, _ machine: StateMachine) {
        // A session that left nothing which is kept is not in the log.
        guard isOn, !machine.keepsLess || machine.session(session)?.isLogged != false else { return }
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
        if isShown {
            connection.output.releaseAll()
        } else if connection.unwritten.hold() {
            open.connections.append(connection)
        }
    }

    // MARK: Batches

    /// The next batch to write, if there is one and none is being written. Report the result with
    /// `confirm`, or `suspend` and `fail`.
    ///
    /// - Parameter whole: Also one of commits without entries alone, so that the log ends with the last revision.
    func seal(whole: Bool = false) -> SealedBatch? {
        guard isOn, inFlight == nil, !open.isEmpty || whole && open.last > open.before else { return nil }
        if !maps.isEmpty, !isShowing { maps.seal() }
        let batch = open
        batch.close()
        for connection in batch.connections {
            connection.unwritten.seal(at: connection.output.outbox.total)
        }
        inFlight = batch
        open = spareBatch() ?? CommitBatch()
        open.begin(after: batch.last)
        beginShares()
        return SealedBatch(
            entries: batch.entries, first: batch.before + 1, last: batch.last, commits: batch.commits,
            entryCount: batch.entryCount, reserved: batch.reserved, time: batch.time, shared: batch.shared)
    }

    private func beginShares() {
        number += 1
        usersInBatch = 0
    }

    /// The batch that was sealed is on disk.
    func confirm() {
        guard let batch = inFlight else { preconditionFailure("No batch is being written.") }
        inFlight = nil
        durableRevision = open.isEmpty ? open.last : batch.last
        reservedThrough = batch.reserved ?? reservedThrough
        for connection in batch.connections {
            connection.output.release(through: connection.unwritten.sealed)
            connections.markReady(connection)
        }
        batch.connections.removeAll(keepingCapacity: true)
        written.append(batch)
        if open.isEmpty { release(open) }
        maps.confirm()
    }

    /// Passes on what maps lack, if all that was committed may be seen.
    func updateMaps() { if !maps.isEmpty, isShown { maps.passOn() } }

    var hasNewsForMaps: Bool { !maps.isEmpty && isShown && maps.hasNews }

    /// Takes the connections that waited for room in a batch, after a new one was opened.
    func takeWaiting() -> [Connection] {
        if waiting.isEmpty { return [] }
        for connection in waiting { connection.noteBatch() }
        defer { waiting = [] }
        return waiting.filter(connections.holds)
    }

    /// The oldest of the written batches, for reuse; some are kept for subscriptions that catch up.
    private func spareBatch() -> CommitBatch? {
        var size = written.reduce(0) { $0 + $1.size }
        var spare: CommitBatch?
        while let oldest = written.first,
            written.count > Self.writtenKept.count || size > Self.writtenKept.bytes
        {
            size -= oldest.size
            spare = written.removeFirst()
        }
        return spare
    }

    /// Output that waited for a batch waits no longer: nothing was committed while the disk was busy, or it is shown.
    private func release(_ batch: CommitBatch) {
        for connection in batch.connections {
            connection.unwritten.endHold()
            connection.output.releaseAll()
            connections.markReady(connection)
        }
        batch.connections.removeAll(keepingCapacity: true)
    }

    /// The batch that was sealed could not be written: nothing can be committed until `resume`.
    func suspend(_ reason: String) { unavailableReason = reason }

    /// After `suspend`: until `resume`, what was committed is sent although it is not written here.
    func show() {
        isShowing = true
        if let inFlight { release(inFlight) }
        release(open)
        maps.confirm()
    }

    /// After `suspend`: everything after `revision` is rolled back. Returns the sessions that had ended after it.
    func fail(at revision: Int) -> [Session] {
        precondition(unavailableReason != nil, "Commits are suspended before the bus is rewound.")
        let ended = (inFlight?.ends ?? []) + open.ends
        let (written, time) = (writtenRevision, open.time)
        inFlight = nil
        open.begin(after: written)
        open.pass(through: revision, at: time)
        open.connections = []
        beginShares()
        _ = takeWaiting()
        durableRevision = revision
        return ended
    }

    /// The log accepts commits again; false if it did all the time.
    func resume() -> Bool {
        defer { (unavailableReason, isShowing) = (nil, false) }
        return unavailableReason != nil
    }

    // MARK: Waiting

    /// Whether a connection has to wait for the next batch; if so, it is not read before there is room for it again.
    @discardableResult
    func makeWait(_ connection: Connection) -> Bool {
        guard mustWait(connection) else { return false }
        if !connection.waits.contains(.log) {
            connection.wait(for: .log)
            waiting.append(connection)
        }
        return true
    }

    /// An unacknowledged dispatch must get an answer if its commit can't be written; also one that was sent again.
    func noteUnacknowledged(_ connection: Connection, committedAt revision: Int, id: UnsafeRawBufferPointer) {
        guard isOn, revision > durableRevision else { return }
        connections.takeShared(connection)
        connection.unwritten.add(
            UnacknowledgedDispatch(
                place: connection.output.outbox.total, revision: revision, id: Array(id)),
            durable: durableRevision)
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
