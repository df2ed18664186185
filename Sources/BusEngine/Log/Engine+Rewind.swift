import BusJSON
import BusLogic
import BusProtocol

/// A group could not be written: the bus is what it was at the last durable revision, and whoever was about to be told
/// otherwise hears that it was not done.
extension Engine {
    /// Returns to a revision. `past` holds the bus at that revision, as the log gives it, and is used up. Until
    /// `resumeCommits`, what would commit is refused with `trouble`; everything else goes on.
    package func rewind(to past: Engine, trouble: String) {
        endCohorts()
        let ended = (inFlight?.ends ?? []) + gathering.ends + takeWaitingEnds()
        pastConnections = [:]
        restartScans()
        inFlight = nil
        gathering.begin(after: past.revision)
        gathering.connections = []
        waitingForLog = []
        self.trouble = trouble
        takePlace(of: past)
        findSessions(in: past, ended: ended)
        rejoinShapes()
        for case let connection? in connections { takeBack(what: connection) }
        for case let connection? in connections {
            release(connection)
            markReady(connection)
            proceed(connection)
        }
    }

    /// The log takes commits again: what had to wait is carried out.
    package func resumeCommits() {
        guard trouble != nil else { return }
        trouble = nil
        let ends = endsToCome
        endsToCome = []
        for connection in ends { carryOutEnd(of: connection) }
        // Their numbers may be in use again, so whoever is there comes after them. Also a will that was taken back is told:
        // the log may have kept it.
        for case let connection? in connections where connection.isNoted { logWill(of: connection) }
    }

    // MARK: - The states

    private func takePlace(of past: Engine) {
        stores = past.stores
        types = past.types
        typesByName = past.typesByName
        commitOrder = past.commitOrder
        lastType = nil
        dropLog = past.dropLog
        stateBytes = past.stateBytes
        revision = past.revision
        durableRevision = past.revision
        sequence = past.sequence
        sequenceBefore = past.sequence
        keys = past.keys
        identities = past.identities
        actors = [:]
        for case let connection? in connections + endsToCome {
            guard let identity = connection.identity else { continue }
            let index = identities[identity] ?? Int32(identities.count)
            identities[identity] = index
            connection.identityIndex = index
        }
    }

    /// Whose the ephemeral stores are, and who has still to be ended.
    private func findSessions(in past: Engine, ended: [Connection]) {
        let gone = ended + endsToCome
        for case let connection? in connections { connection.ephemeralStores = [] }
        for connection in gone { connection.ephemeralStores = [] }
        for (number, session) in past.pastConnections {
            let live = connections.indices.contains(number) ? connections[number] : nil
            // The number may be in use again; its stores are those of who had it then.
            let owner = gone.first { $0.id == number } ?? live
            owner?.ephemeralStores = session.ephemeralStores
        }
        endsToCome = gone
    }

    private func rejoinShapes() {
        membershipCount = 0
        deserted = []
        for shape in shapesInOrder {
            shape.leaveAll()
            endNoting(shape)
            if !shape.key.actions { shape.lastTold = min(shape.lastTold, revision) }
            if shape.wantsWholeTypes {
                for entry in types where shape.key.pattern.type.matches(entry.name) {
                    entry.shapes.append(shape)
                }
            } else {
                beginSearch(for: shape)
                _ = search(for: shape) { true }
            }
        }
    }
}
