import BusJSON
import BusMachine
import BusProtocol

/// All clients: their connections, their output, and which of them have something to send.
final class Connections {
    private let clock: TurnClock
    private let users: Users
    @exclusivity(unchecked) private(set) var limits: DaemonLimits
    let pool = BufferPool()

    @exclusivity(unchecked) private(set) var all: [Connection?] = []
    @exclusivity(unchecked) private var free: [ConnectionID] = []
    @exclusivity(unchecked) private(set) var count = 0
    /// Connections with new output or a new status, and the storage of the previous list.
    @exclusivity(unchecked) private var ready: [ConnectionID] = []
    @exclusivity(unchecked) private var spareReady: [ConnectionID] = []

    /// The sum of all outboxes, and how much of it is in runs that several share.
    @exclusivity(unchecked) private(set) var outboxBytes = 0
    @exclusivity(unchecked) private var sharedBytes = 0
    /// Full runs of this turn; runs of earlier turns that some connection has not sent yet, and the memory they take.
    @exclusivity(unchecked) private var retiredRuns: [ByteWriter] = []
    @exclusivity(unchecked) private var lentRuns: [ByteWriter] = []
    @exclusivity(unchecked) private var lentBytes = 0
    @exclusivity(unchecked) private var lentRunsSeenAt = 0
    /// What is collected for subscriptions that catch up and not written yet, and replies that wait for it.
    @exclusivity(unchecked) private var partBytes = 0
    @exclusivity(unchecked) private var replyBytes = 0
    /// What wills and unfinished lines count as.
    @exclusivity(unchecked) private(set) var willBytes = 0
    @exclusivity(unchecked) private(set) var heldBytes = 0

    // Since the start, for `stats`.
    @exclusivity(unchecked) private(set) var totalCount = 0
    @exclusivity(unchecked) private(set) var bytesIn = 0
    @exclusivity(unchecked) private(set) var bytesOut = 0

    init(_ clock: TurnClock, _ users: Users, _ limits: DaemonLimits) {
        self.clock = clock
        self.users = users
        self.limits = limits
    }

    func adopt(_ limits: DaemonLimits) {
        self.limits = limits
        for connection in all { connection?.input.adopt(limits) }
    }

    // MARK: Adding and removing

    /// Adds a new connection. `isHeld`: nothing is sent before the log releases it.
    func add(_ peer: Peer, isHeld: Bool) -> Connection {
        let id = free.popLast() ?? all.count
        totalCount += 1
        let connection = make(id, peer)
        if isHeld { connection.output.release(through: 0) }
        if id == all.count { all.append(connection) } else { all[id] = connection }
        connection.user.connections += 1
        count += 1
        return connection
    }

    private func make(_ id: ConnectionID, _ peer: Peer) -> Connection {
        Connection(
            id: id, serial: totalCount, peer: peer, of: users.strangers, at: clock.now, limits: limits)
    }

    /// Adds a connection with the number it had in another daemon; nil if that is not greater than all others.
    func add(_ peer: Peer, numbered id: ConnectionID) -> Connection? {
        guard id >= all.count, id < 1 << 24 else { return nil }
        while all.count < id {
            free.append(all.count)
            all.append(nil)
        }
        totalCount += 1
        let connection = make(id, peer)
        users.strangers.connections += 1
        all.append(connection)
        count += 1
        return connection
    }

    @inline(__always)
    subscript(id: ConnectionID) -> Connection {
        guard all.indices.contains(id), let connection = all[id] else {
            preconditionFailure("Connection \(id) is not open.")
        }
        return connection
    }

    /// The same for a number that may no longer be in use.
    func find(_ id: ConnectionID) -> Connection? { all.indices.contains(id) ? all[id] : nil }

    /// Whether this connection is still there.
    func holds(_ connection: Connection) -> Bool { find(connection.id) === connection }

    /// Removes a connection and its output. Its number may be used again after `release(number:)`.
    func remove(_ connection: Connection) {
        outboxBytes -= connection.output.outbox.count
        sharedBytes -= connection.output.outbox.sharedCount
        connection.input.clear()
        connection.output.clear()
        countHeld(connection)
        hold(reply: nil, of: connection)
        all[connection.id] = nil
        connection.user.connections -= 1
        count -= 1
    }

    /// A connection has said whose it is.
    func give(_ connection: Connection, to identity: Identity?) {
        let user = users.user(identity)
        if user === connection.user { return }
        connection.user.connections -= 1
        user.connections += 1
        connection.give(to: user)
    }

    /// A number may be used again.
    func release(number: ConnectionID) { free.append(number) }

    @inline(__always)
    func noteReceived(_ bytes: Int) { bytesIn &+= bytes }

    // MARK: Memory

    /// The output that waits for readers, or to be written for them: what several share counts once.
    var outputBytes: Int { outboxBytes &- sharedBytes &+ lentBytes &+ partBytes &+ replyBytes }

    /// All that connections make the daemon hold.
    var memory: Int { outputBytes + count * Self.each + willBytes + heldBytes }

    /// What a connection counts as beside its bytes.
    static let each = 1024

    /// Whether waiting output takes more than its share of the memory.
    var isOutputOverShare: Bool { outputBytes > limits.memory / 4 }

    /// How much may wait for one connection: less while all of them together hold much, or those of its user.
    @inline(__always)
    func outboxLimit(of connection: Connection) -> Int {
        isOutputOverShare || connection.user.holdsTooMuch
            ? min(limits.outbox, pressedShare) : limits.outbox
    }

    /// Whether no more may wait for it, and whether as much as half of that still may.
    @inline(__always)
    func isFull(_ connection: Connection) -> Bool {
        connection.output.outbox.count >= outboxLimit(of: connection)
    }

    func isHalfEmpty(_ connection: Connection) -> Bool {
        connection.output.outbox.count <= outboxLimit(of: connection) / 2
    }

    /// What may wait for one connection, and of its input, while much waits for all: as much as all may have at once, but
    /// enough for a client that reads.
    var pressedShare: Int {
        min(
            DaemonLimits.mostUnderPressure,
            max(DaemonLimits.leastUnderPressure, limits.memory / 4 / max(count, 1)))
    }

    /// Updates the sum of what connections have sent and is not executed yet.
    @inline(__always)
    @discardableResult
    func countHeld(_ connection: Connection) -> Int {
        let growth = connection.input.count()
        heldBytes += growth
        return growth
    }

    /// What is collected for a connection counts as its output. Counted as nothing again and again, it is still taken off
    /// only once.
    func count(_ part: some CountedOutput, as bytes: Int, of connection: Connection) {
        let growth = bytes - part.countedBytes
        part.countedBytes = bytes
        connection.output.count(part: growth)
        partBytes += growth
    }

    /// A reply waits until the changes before it are written, or no longer does.
    func hold(reply: [UInt8]?, of connection: Connection) {
        replyBytes += connection.output.hold(reply)
    }

    /// A request is kept to be executed later, or no longer is (a negative count).
    func countKept(_ bytes: Int) { heldBytes += bytes }

    func countWill(_ bytes: Int, of connection: Connection) {
        countWill(growingBy: connection.hold.count(will: bytes), of: connection.user)
    }

    /// Also of one whose connection an earlier daemon had.
    func countWill(growingBy bytes: Int, of user: User) {
        willBytes += bytes
        user.willBytes += bytes
    }

    /// Whether a client's socket has accepted nothing for so long that it counts as not reading.
    func isStuck(_ connection: Connection) -> Bool {
        connection.output.stuckSince.map { clock.now - $0 >= DaemonLimits.stuckMilliseconds } ?? false
    }

    // MARK: Writing

    /// Writes into the connection's own bytes.
    @inline(__always)
    func write(to connection: Connection, _ body: (ByteWriter) -> Void) {
        if connection.output.sharedRun != nil { takeShared(connection) }
        connection.output.begin(pool)._withUnsafeGuaranteedRef { writer in
            let start = writer.count
            body(writer)
            let written = writer.count &- start
            connection.output.finish(written)
            outboxBytes &+= written
            clock.output &+= written
            clock.work &+= written
        }
        markReady(connection)
    }

    /// Writes a reply. It waits while earlier changes and actions have not been written.
    @inline(__always)
    func reply(to connection: Connection, _ body: (ByteWriter) -> Void) {
        if !connection.isLate { return replyAtOnce(to: connection, body) }
        let writer = ByteWriter()
        body(writer)
        hold(reply: Array(writer.bytes), of: connection)
    }

    /// Writes a reply that tells nothing of states or revisions: it need not wait for earlier changes.
    @inline(__always)
    func replyAtOnce(to connection: Connection, _ body: (ByteWriter) -> Void) {
        write(to: connection, body)
        connection.output.noteReply()
    }

    /// Writes the reply that waited.
    func releaseReply(to connection: Connection) {
        guard let reply = connection.output.heldReply else { return }
        hold(reply: nil, of: connection)
        write(to: connection) { writer in reply.withUnsafeBytes { writer.append($0) } }
        connection.output.noteReply()
    }

    /// Writes a goodbye; what was written before is still sent, and nothing after it.
    func close(_ connection: Connection, _ code: GoodbyeCode, _ message: String) {
        write(to: connection) { $0.append(goodbye: code, message) }
        close(connection)
    }

    func close(_ connection: Connection) {
        connection.close()
        markReady(connection)
    }

    // MARK: Shared runs

    /// This many bytes have been written for this many connections at once.
    @inline(__always)
    func countShared(_ bytes: Int, for members: Int) {
        outboxBytes &+= bytes &* members
        clock.output &+= bytes &* members
        sharedBytes &+= bytes &* members
    }

    /// Moves what the shared run holds for a connection since the last time into its outbox.
    @inline(__always)
    func takeShared(_ connection: Connection) {
        guard let run = connection.output.sharedRun else { return }
        run._withUnsafeGuaranteedRef { give($0.bytes, to: connection) }
    }

    /// Appends what is new in a run to a member's outbox.
    @inline(__always)
    func give(_ run: ByteWriter, to connection: Connection) {
        if connection.output.take(run) { markReady(connection) }
    }

    /// All members have all of a run in their outboxes.
    func retire(_ run: ByteWriter) { retiredRuns.append(run) }

    /// Between turns: runs that everyone has sent are recycled, others stay lent until the
    /// last connection has sent them.
    func recycleRuns() {
        for index in retiredRuns.indices {
            if isKnownUniquelyReferenced(&retiredRuns[index]) {
                pool.recycle(retiredRuns[index])
            } else {
                lentBytes += retiredRuns[index].reserved
                lentRuns.append(retiredRuns[index])
            }
        }
        retiredRuns.removeAll(keepingCapacity: true)
        if !lentRuns.isEmpty, clock.now - lentRunsSeenAt >= DaemonLimits.lentRunsInterval { reclaimRuns() }
    }

    /// Recycles the runs that no connection holds any more.
    private func reclaimRuns() {
        lentRunsSeenAt = clock.now
        var lent: [ByteWriter] = []
        lentBytes = 0
        for index in lentRuns.indices {
            if isKnownUniquelyReferenced(&lentRuns[index]) {
                pool.recycle(lentRuns[index])
            } else {
                lentBytes += lentRuns[index].reserved
                lent.append(lentRuns[index])
            }
        }
        lentRuns = lent
    }

    // MARK: Sending

    @inline(__always)
    func markReady(_ connection: Connection) {
        if connection.output.makeReady() { ready.append(connection.id) }
    }

    /// Passes on the connections that have new output or a new status since the last call.
    @inline(__always)
    func takeReady(_ body: (Connection) -> Void) {
        if ready.isEmpty { return }
        var taken: [ConnectionID] = []
        swap(&taken, &ready)
        swap(&ready, &spareReady)
        for id in taken {
            // The connection may be gone, and its number in use again by one that is not ready.
            if all[id] == nil { continue }
            Unmanaged.passUnretained(all[id]!)._withUnsafeGuaranteedRef { connection in
                if connection.output.takeReady() { body(connection) }
            }
        }
        taken.removeAll(keepingCapacity: true)
        swap(&taken, &spareReady)
    }

    /// Removes what was sent.
    @inline(__always)
    func sent(_ bytes: Int, on connection: Connection) {
        sharedBytes &-= connection.output.sent(bytes, pool)
        outboxBytes -= bytes
        bytesOut += bytes
    }

    /// Removes the output that may not be sent, and returns it.
    func retract(_ connection: Connection) -> [UInt8] {
        let (held, shared) = connection.output.retract()
        sharedBytes -= shared
        outboxBytes -= held.count
        return held
    }

    // MARK: Recounting

    /// Figures that are kept as they change, beside what they come to when they are counted from nothing.
    var recount: [MemoryCount] {
        var (outbox, shared, parts, replies, held, wills) = (0, 0, 0, 0, 0, 0)
        for case let connection? in all {
            // What the shared run holds for it by now is counted already.
            let pending = connection.output.sharedRun?._withUnsafeGuaranteedRef {
                $0.bytes.count - connection.output.sharedStart
            }
            outbox += connection.output.outbox.count + (pending ?? 0)
            shared += connection.output.outbox.sharedCount + (pending ?? 0)
            parts += connection.output.partBytes
            replies += connection.output.heldReply?.count ?? 0
            held += connection.input.heldBytes + (connection.deferredLine?.count ?? 0)
            wills += connection.hold.willBytes
        }
        return [
            MemoryCount("outboxes", outboxBytes, outbox), MemoryCount("shared output", sharedBytes, shared),
            MemoryCount("lent runs", lentBytes, lentRuns.reduce(0) { $0 + $1.reserved }),
            MemoryCount("collected parts", partBytes, parts),
            MemoryCount("waiting replies", replyBytes, replies),
            MemoryCount("held input", heldBytes, held),
            MemoryCount("wills", willBytes, users.all.reduce(0) { $0 + $1.willBytes }),
            // Those of connections that are gone count until they are applied.
            MemoryCount("wills of open connections", min(wills, willBytes), wills),
            MemoryCount("connections", count, all.count { $0 != nil }),
        ]
    }
}
