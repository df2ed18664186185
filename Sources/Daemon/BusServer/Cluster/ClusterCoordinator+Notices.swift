import BusCluster
import Logging

/// What the member notices, for operators, and what follows from it.
extension ClusterCoordinator {
    func note(_ notice: MemberNotice) {
        switch notice {
        case .attached:
            setCondition(attached: true, reason: nil)
            logger.notice("attached to the bus \(settings.bus.value)", metadata: LogKind.attached.metadata)
        case .detached(let reason):
            setCondition(attached: false, reason: reason)
            logger.warning(
                "detached from the bus \(settings.bus.value): \(reason)", metadata: LogKind.detached.metadata)
        case .joined(let incarnation):
            logger.info(
                "member \(settings.member), incarnation \(incarnation)", metadata: LogKind.joined.metadata)
        case .ended(let incarnation):
            logger.warning(
                "incarnation \(incarnation) of this member has ended; it joins again",
                metadata: LogKind.memberEnded.metadata)
        case .nameTaken:
            giveUp(
                StartFailure(
                    .inUse,
                    "Another member of the bus \(settings.bus.value) is called \(settings.member), and stays; give one of the two another name under member: of cluster:."
                ))
        case .logLost(let place):
            logger.critical(
                "the shared log lacks what this member has seen after place \(place): it was restored from a backup, or replaced",
                metadata: LogKind.logLost.metadata)
        case .epoch(let epoch, let revision):
            logger.critical(
                "the shared log has lost commits that members have seen: the history \(epoch) begins at revision \(revision)",
                metadata: LogKind.newEpoch.metadata)
            // What clients here have seen may be of the history before.
            guard isServing else { return }
            giveUp(
                StartFailure(
                    .beginsAgain,
                    "The bus has a new history, \(epoch): this member begins with it."
                ))
        case .clockAhead(let name, let milliseconds):
            logger.warning(
                "the clock of the member \(name) is \(milliseconds / 1000) s ahead of the bus's time; correct it",
                metadata: LogKind.clockAhead.metadata)
        case .differs(let name, let place):
            logger.error(
                "the member \(name) has computed other states from the log before place \(place)",
                metadata: LogKind.differs.metadata)
        }
    }
}
