import BusCluster

/// Restarts with sessions handed over: what `ClusterCoordinator.pass` and `ClusterStart.open` do in the daemon.
extension ClusterNode {
    var isHandingOver: Bool { handOver != nil }
    /// Whether clients keep their connections to it, and it reads nothing from them.
    var isUnresponsive: Bool { isHandingOver || log?.isFrozen == true }
    /// What it has left to the next process; nil: nothing.
    var legacy: HandOver.Legacy? { if case .left(let legacy) = handOver { legacy } else { nil } }

    /// Whether it has waited too long for rest or for its lease: it ends without a hand-over.
    var isHandOverLate: Bool { isUp && isHandingOver && shared.now >= handOverEnd }

    func beginHandOver() {
        handOver = .resting
        handOverEnd = shared.now + ClusterLimits.propose
    }

    /// Renews the lease for the next process once nothing is on its way and everything applied is durable.
    func passIfAtRest() throws {
        guard case .resting = handOver, let member, let log else { return }
        try flush()
        guard !hasUnstored, member.isAtRest || unruly.contains(.rest), member.canPropose, member.proof == nil
        else { return }
        handOver = .passing
        log.pass()
    }

    /// Ends once the lease is renewed. What the log tells besides is for the next process.
    func leaveIfPassed(_ events: [OrderedLogEvent]) {
        for case .passed(let lease) in events {
            guard let lease, let place = member?.replica.link.place else {
                handOverEnd = shared.now
                return
            }
            crash()
            // Most leases go on until then.
            let due = shared.now + [0, 100, 400, 1200, 4000].randomElement(using: &generator)!
            handOver = .left(.init(place: place, lease: lease, due: due, rollbacks: shared.rollbacks))
        }
    }

    /// Starts the next process. False: it has none of the sessions, because its copy is not at the place where the process before
    /// has left off.
    func goOn(from legacy: HandOver.Legacy) throws -> Bool {
        handOver = nil
        let isAsLeft = disk.lastPlace == legacy.place || unruly.contains(.place)
        try start(resumes: isAsLeft && unruly.isDisjoint(with: [.number, .incarnation]))
        guard isAsLeft, !unruly.contains(.incarnation), let present = member?.replica.members[name] else {
            return isAsLeft
        }
        log?.resume(as: name, incarnation: present.incarnation, lease: legacy.lease)
        if unruly.contains(.number) {
            // As if it had only just joined.
            member?.receive([.joined(incarnation: present.incarnation)], now: now)
            try carryOut()
        }
        return true
    }

    /// The copy loses its last entries, which the log still has.
    func setCopyBack() { disk.loseLast(3) }
}
