import BusCluster
import BusEngine
import BusJSON
import BusLogic
import BusMachine
import BusProtocol
import BusSystem
import Logging

/// The condition of a member, as replies, the status and the journal tell it: whether it reaches the shared log, and whether
/// its copy can be written.
extension ClusterCoordinator {
    func setCondition(attached: Bool, reason: String?) {
        condition["attached"] = .bool(attached)
        condition["since"] = DurationText.seconds(WallClock.now)
        condition["reason"] = reason.map(JSON.string)
        detachment = reason.map { "detached since \(WallClock.timeOfDay(WallClock.now)): \($0)" }
        tellCondition()
    }

    private func tellCondition() {
        engine?.shared.note(condition)
        noteTrouble(suspension?.status ?? detachment)
    }

    /// The log is read through another member from now on, or from etcd itself.
    func noteReading(from address: String?, because reason: String?) {
        readsFrom = address
        if let address {
            logger.info("reads the shared log from \(address)", metadata: LogKind.readsFrom.metadata)
        } else if let reason {
            logger.warning("reads the shared log from etcd: \(reason)", metadata: LogKind.readsFrom.metadata)
        }
    }

    // MARK: - Suspension

    /// The member's copy can't be written. It shows the states it has, takes no entries from the shared log, and refuses what
    /// would commit; the other members are not affected. After its lease it leaves, which ends the sessions of its clients.
    struct Suspension {
        /// One sentence.
        let reason: String
        /// For the status.
        let status: String
        /// When it leaves, in monotonic milliseconds.
        let end: Int

        var refusal: String {
            "This member is suspended, because its copy of the bus can't be written; use another one, or try again later. \(reason)"
        }
    }

    var isSuspended: Bool { suspension != nil }

    func suspend(_ reason: String) {
        let now = WallClock.now
        let suspension = Suspension(
            reason: reason, status: "suspended since \(WallClock.timeOfDay(now)): \(reason)",
            end: MonotonicClock.milliseconds + settings.lease.milliseconds)
        self.suspension = suspension
        condition["suspended"] = ["since": DurationText.seconds(now), "reason": .string(reason)]
        logger.error(
            "suspended: commits of the bus are not taken here until this can be written: \(reason)",
            metadata: LogKind.suspended.metadata)
        engine?.suspendCommits(reason: suspension.refusal, showing: true)
        tellCondition()
        member.failAll(because: suspension.refusal, now: now)
        carryOut()
    }

    func resume() {
        suspension = nil
        condition["suspended"] = nil
        logger.notice("the copy can be written again", metadata: LogKind.logRecovered.metadata)
        engine?.resumeCommits()
        tellCondition()
        nextTick = 0
        rememberAll()
    }

    /// What is due meanwhile.
    func stay(_ suspension: Suspension, now: Int) {
        nextTick = now + 1000
        engine?.shared.submitFailedAgain()
        guard now >= suspension.end else { return }
        member.leave()
        carryOut()
    }

    func refuse(_ tickets: [Int], _ suspension: Suspension) {
        for ticket in tickets {
            engine?.resolve(ticket, .failed(MemberFailure(.none, suspension.refusal)))
        }
    }
}
