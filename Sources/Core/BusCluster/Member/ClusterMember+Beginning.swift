import BusMachine

/// The bus starts over where the log goes on from nothing that any member has: it was restored from a backup that is older
/// than all copies reach back, or somebody removed what was in it before all had read it. The member with the furthest states
/// says in the log that the bus begins with these; all others take its snapshot.
extension ClusterMember {
    /// Whether all others that are present wait as well, so that none of them has a bus to go on with.
    package static func canBeginAnew(beside others: [OrderedLogMember]) -> Bool {
        others.allSatisfy { MemberReport($0.report)?.hasBegun == false }
    }

    /// Goes on with the states that it has, as one of those with which the bus may start over.
    ///
    /// - Parameters:
    ///   - other: The furthest that this member has.
    ///   - place: The place up to which nothing is left of the log.
    package func beginAnew(with other: Replica, behind place: Int, now: Int) {
        guard phase == .waiting else { return }
        other.beginAnew(behind: place)
        begin(with: other, now: now)
        gatheringSince = self.now
    }

    /// Whether this member is to say now how the bus begins: those with more have had time to come.
    var isBeginningDue: Bool {
        guard let since = gatheringSince, barriers.ofReading == 0, now - since >= ClusterLimits.gathering
        else {
            return false
        }
        let revision = replica.machine.revision
        return !gathered.contains { ($0.report.revision, name) > (revision, $0.name) }
    }

    /// The other members that have come.
    private var gathered: [(name: String, report: MemberReport)] {
        replica.members.keys.filter { $0 != name }.compactMap { name in
            others.reports[name].map { (name: name, report: $0) }
        }
    }

    /// Whoever has a bus by now gives its snapshot.
    func giveUpBeginningIfInVain() {
        guard gatheringSince != nil, gathered.contains(where: { $0.report.hasBegun }) else { return }
        lackReplica(least: replica.link.place)
    }

    /// The proposal that says how the bus begins.
    var beginning: ClusterEntry {
        let beginning = BusBeginning(
            epoch: replica.machine.epoch, revision: replica.machine.revision,
            digest: replica.machine.stateDigest)
        return ClusterEntry(
            session: 0, by: ClusterEntry.daemon, isOperator: true,
            .configure(Array("{\"begin\":\(beginning.json.encoded)}".utf8)))
    }
}
