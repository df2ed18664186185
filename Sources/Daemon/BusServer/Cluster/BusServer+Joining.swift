import BusCluster
import BusEngine
import BusJSON
import BusLog
import BusLogic
import BusSystem
import Logging

/// A member of a bus over several machines goes on from its copy: it reads what the shared log has behind that, then serves.
extension BusServer {
    /// From here on the loop passes what clients ask for to the shared log.
    func join(
        _ start: ClusterStart.Outcome, _ inheritance: Inheritance?, _ loop: EventLoop
    ) throws(StartFailure) {
        let coordinator = start.coordinator
        loop.cluster = coordinator
        coordinator.snapshots = start.snapshots
        loop.coordinator?.noteStored = { [unowned coordinator] in coordinator.stored(through: $0, bytes: $1) }
        loop.coordinator?.noteSuspended = { [unowned coordinator] reason in
            if let reason { coordinator.suspend(reason) } else { coordinator.resume() }
        }
        coordinator.noteCopyTrouble = { [weak loop, writer = start.start.writer] failure in
            writer.noteTrouble()
            loop?.coordinator?.suspend(failure)
        }
        if let inheritance { loop.adopt(inheritance) }
        let epoch = loop.engine.epoch
        try catchUp(coordinator, loop)
        try createSharedStores(coordinator, loop)
        if loop.engine.epoch != epoch { try rename(start.start.writer, loop.engine.epoch) }
        coordinator.noteTrouble = { [weak loop] in
            loop?.pulse?.note(trouble: $0, now: MonotonicClock.milliseconds)
        }
        coordinator.giveUp = { [unowned self] in giveUp($0) }
        coordinator.leave = { [unowned self] in stop() }
        coordinator.isServing = true
        tellDifferences(loop.engine)
    }

    /// Waits until what the log has is applied, or, where it can't be reached, for a while.
    private func catchUp(_ coordinator: ClusterCoordinator, _ loop: EventLoop) throws(StartFailure) {
        let wait = ClusterWait(coordinator, service, bell) { [ending] in ending.hasBegun }
        let beginning = ClusterBeginning(coordinator, engineConfiguration(), setup.types)
        let patience = MonotonicClock.milliseconds + Self.patience
        try wait.until { () throws(StartFailure) in
            loop.coordinator?.hear()
            loop.flush(all: true)
            beginning.offerIfDue()
            let (member, isLate) = (coordinator.member, MonotonicClock.milliseconds > patience)
            guard member.replica.hasBegun else { return false }
            // An etcd that is full lets nobody join, and what there is can be read all the same.
            let isPresent = member.incarnation != nil || (isLate && !member.isNameTaken)
            return (member.isCaughtUp && isPresent) || coordinator.isSuspended
                || (!member.isAttached && isLate)
        }
    }

    /// How long a start waits for a shared log that can't be reached, before it serves what it has. In milliseconds.
    private static let patience = 3000

    private func rename(_ writer: LogWriter, _ epoch: String) throws(StartFailure) {
        do throws(LogFailure) {
            try writer.withFile { (file) throws(LogFailure) in try file.begin(epoch: epoch) }
        } catch {
            throw StartFailure(.log, error.message)
        }
    }

    private func giveUp(_ reason: StartFailure) {
        if failure != nil || (reason.code == .beginsAgain && loop?.whenEmpty != nil) { return }
        failure = reason
        logger.critical("\(reason.description)", metadata: LogKind.otherCopy.metadata)
        if reason.code == .beginsAgain { enter { [self] in beginAgain() } } else { stop() }
    }

    /// Serves another copy of the bus, or another history of it, in this process. Clients get a goodbye, because what they have
    /// seen may not be what the bus has; when they come back, they wait until it is served.
    private func beginAgain() {
        guard failure?.code == .beginsAgain else { return }
        failure = nil
        guard !isToStop, let loop else { return }
        keptListeners = loop.acceptors.compactMap(\.listener)
        loop.stop(.restart, "This member of the bus begins again; connect again.", keepsListening: true) {
            [self, unowned loop] in
            // Writing and reading a copy may take longer than the manager allows a turn.
            if service.watchdog != nil { service.tell(.watchdogInterval(Self.timeToBegin)) }
            let snapshots = loop.cluster?.snapshots
            finish(leavingSnapshot: false)
            snapshots?.drain()
        }
    }

    /// The loop before has ended, and let go of the log.
    func serveAgain() {
        let listeners = keptListeners
        keptListeners = []
        if isToStop { return }
        // Settings that take a restart stay as they were at the start.
        setup.configuration.stores = atStart.stores
        setup.configuration.log = atStart.log
        setup.configuration.cluster = atStart.cluster
        do throws(StartFailure) {
            try serveUntilBegun(listeners)
            releaseStart()
            loop?.adopt(setup.contexts)
            if isReloadDue { reload(nil) }
        } catch {
            if !ending.hasBegun { failure = error }
        }
        isReloadDue = false
        if let interval = service.watchdog?.interval { service.tell(.watchdogInterval(interval)) }
    }

    /// How long the manager waits for a member that begins again before it counts as hung.
    private static let timeToBegin = Duration.seconds(600)

    /// The stores of the configuration, which another member may have created before: they are there when the first client
    /// is, unless the shared log takes nothing now.
    private func createSharedStores(
        _ coordinator: ClusterCoordinator, _ loop: EventLoop
    ) throws(StartFailure) {
        let engine = loop.engine
        for store in setup.configuration.stores where engine.state(at: store.value) == nil {
            engine.shared.submitConfigured(store.value)
        }
        let patience = MonotonicClock.milliseconds + Self.patience
        try ClusterWait(coordinator, service, bell) { [ending] in ending.hasBegun }.until {
            loop.coordinator?.hear()
            loop.flush(all: true)
            return !engine.shared.awaitsOwn || MonotonicClock.milliseconds > patience
        }
    }

    /// What decides outcomes stands in the log: files that differ are not in force.
    private func tellDifferences(_ engine: Engine) {
        let differing = engine.differences(
            from: LoadedDefinitions(
                types: setup.types, limits: setup.configuration.limits, access: setup.rules))
        if differing.isEmpty { return }
        logger.warning(
            "this member's files differ from what is in force on the bus, in \(differing.joined(separator: ", ")): the bus's is in force here, too; fluxbus reload puts the files in force on all members",
            metadata: LogKind.filesDiffer.metadata)
    }
}
