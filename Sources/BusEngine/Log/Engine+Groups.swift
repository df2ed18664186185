import BusJSON

/// Groups of commits go to disk, one at a time; the next is gathered meanwhile.
extension Engine {
    /// How much may be gathered while a group is being written; then nothing more is read.
    static let gatheringLimit = 32 << 20

    /// How many commits may be, since equal ones take no room in the log, but each may take some elsewhere.
    static let gatheringCommits = 1 << 18

    /// Whether too much waits for the disk to take in more.
    var isLogFull: Bool {
        isLogged
            && (gathering.size > Self.gatheringLimit
                || gathering.last - gathering.before >= Self.gatheringCommits)
    }

    /// The output that was written for a connection leaves when everything it could tell of is on disk.
    @inline(__always)
    func release(_ connection: Connection) {
        if isDurable {
            connection.outbox.release(through: connection.outbox.total)
        } else if !connection.isHeld {
            connection.isHeld = true
            gathering.connections.append(connection)
        }
    }

    /// The next group to write, if there is one and none is being written. What came of it must be told with
    /// `groupWritten` or `rewind`. Call after `takeReady`.
    package func sealGroup() -> SealedGroup? {
        guard isLogged, inFlight == nil, !gathering.isEmpty else { return nil }
        let group = gathering
        group.closeLatest()
        for connection in group.connections {
            connection.isHeld = false
            connection.sealed = connection.outbox.total
        }
        inFlight = group
        gathering = spareGroup() ?? LogGroup()
        gathering.begin(after: revision)
        return SealedGroup(
            entries: group.entries, first: group.before + 1, last: group.last, time: group.time)
    }

    /// The group that was sealed stands on disk.
    package func groupWritten() {
        guard let group = inFlight else { preconditionFailure("No group is being written.") }
        inFlight = nil
        durableRevision = group.last
        for connection in group.connections {
            connection.outbox.release(through: connection.sealed)
            markReady(connection)
        }
        group.connections.removeAll(keepingCapacity: true)
        writtenGroups.append(group)
        if gathering.isEmpty { releaseGathering() }
        goOn()
    }

    /// The oldest of the written groups, to be used again; some stay, as whoever catches up may need them.
    private func spareGroup() -> LogGroup? {
        let size = writtenGroups.reduce(0) { $0 + $1.size }
        guard writtenGroups.count > 8 || size > Self.gatheringLimit / 8, !writtenGroups.isEmpty else {
            return nil
        }
        return writtenGroups.removeFirst()
    }

    /// Nothing was committed while the disk was busy, so what was said meanwhile needs no further group.
    private func releaseGathering() {
        for connection in gathering.connections {
            connection.isHeld = false
            connection.outbox.release(through: connection.outbox.total)
            markReady(connection)
        }
        gathering.connections.removeAll(keepingCapacity: true)
    }

    /// Connections that waited for the disk go on reading.
    private func goOn() {
        guard !waitingForLog.isEmpty, !isLogFull else { return }
        let waiting = waitingForLog
        waitingForLog = []
        for connection in waiting where connections.indices.contains(connection.id) {
            guard connections[connection.id] === connection else { continue }
            markReady(connection)
            proceed(connection)
        }
    }
}
