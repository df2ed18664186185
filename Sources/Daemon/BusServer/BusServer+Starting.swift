import BusEngine
import BusMachine
import BusSystem
import Dispatch
import Logging
import Systemd

/// The start: sockets, the hand-over of the previous daemon, stores; then clients are accepted, and the
/// service manager is notified.
extension BusServer {
    /// Runs on the queue. After a failure nothing is left behind; if trying again can't help, clients that wait at
    /// passed sockets are turned away.
    func open() throws(StartFailure) -> [Listener] {
        var left = ListenersLeft()
        do throws(SystemdError) {
            left = try ListenersLeft(from: &service)
        } catch {
            logger.error("the sockets of the previous daemon can't be used: \(error)")
        }
        defer { left.closeRest() }
        let listeners = try openListeners(&left)
        try serveUntilBegun(listeners)
        for stranger in service.passed.remaining {
            logger.warning(
                "systemd passed a descriptor \(stranger.name) that listen: does not name; it is closed")
            SystemCall.close(stranger.descriptor)
        }
        return listeners
    }

    /// Before it serves clients, a member of a bus may find that its copy does not fit; then it starts over.
    func serveUntilBegun(_ listeners: [Listener]) throws(StartFailure) {
        while true {
            do throws(StartFailure) {
                return try serve(listeners)
            } catch {
                if error.code == .configuration { service.turnAway() }
                guard error.code == .beginsAgain else { throw error }
                logger.critical("\(error.description)", metadata: LogKind.otherCopy.metadata)
            }
        }
    }

    private func openListeners(_ left: inout ListenersLeft) throws(StartFailure) -> [Listener] {
        var opened: [Listener] = []
        var failures: [StartFailure] = []
        for address in setup.configuration.listen {
            do throws(StartFailure) {
                opened += try Listener.open(address, setup.contexts, &service, &left)
            } catch {
                failures.append(error)
            }
        }
        if setup.configuration.tokens == nil {
            // Sockets of the configuration itself stop the start. A socket unit is not our file, and the bus must not
            // go down for it; if we closed the socket, it would stay open in the manager, and its clients would wait
            // there for ever. So they are accepted and, because there are no tokens, refused with their first line.
            for tcp in opened where tcp.address.hasPrefix("tcp:") {
                logger.warning(
                    "\(tcp.address) was passed, but there are no tokens, so whoever connects there is refused; name a file of lines NAME TOKEN under tokens: and reload, or take the address out of the socket unit"
                )
            }
        }
        guard let first = failures.first else { return opened }
        // Before the sockets that did open are closed.
        if first.code == .configuration { service.turnAway() }
        throw StartFailure(first.code, failures.flatMap(\.messages))
    }

    private func serve(_ listeners: [Listener]) throws(StartFailure) {
        let log = ClientLog(logger)
        let (engine, inheritance, start, cluster) = try makeEngine()
        let loop: EventLoop
        do throws(SystemError) {
            loop = try EventLoop(
                queue: queue, engine: engine, limits: setup.configuration.limits, timeouts: timeouts,
                log: log, bell: bell, usesRing: usesRing)
        } catch {
            inheritance?.drop()
            throw StartFailure(.system, "epoll: \(error.description).")
        }
        loop.meter = meter
        loop.asksForUnits = service.isHeard
        loop.reload = { [unowned self] in reload($0) }
        loop.beginTurn()
        self.loop = loop
        files = Worker(named: "fluxbus-files")
        measure(loop)
        // Outputs of the start itself, also if it fails.
        loop.performOutputs()
        do throws(StartFailure) {
            if let start { keep(start, loop) }
            if let cluster { try join(cluster, inheritance, loop) } else { try createStores(engine, setup) }
            if let inheritance { takeOver(inheritance, loop) }
            // No client is accepted before what happened so far is in the log.
            loop.flush(all: true)
            if let coordinator = loop.coordinator, !coordinator.drain() {
                throw StartFailure(.log, engine.unavailableReason ?? "The log can't be written.")
            }
            loop.flush(all: true)
            for listener in listeners { try add(listener, to: loop) }
        } catch {
            loop.performOutputs()
            loop.standIn?.end()
            loop.coordinator?.close(leavingSnapshot: false)
            loop.cluster?.snapshots?.drain()
            loop.cluster?.close()
            loop.releaseSpare()
            loop.closeDescriptors()
            self.loop = nil
            throw error
        }
        clientLog = log
        ended.enter()
        watch(loop)
        tellReady(loop, listeners)
        if isToStop {
            isToStop = false
            stop()
        }
    }

    private func add(_ listener: Listener, to loop: EventLoop) throws(StartFailure) {
        do throws(SystemError) {
            try loop.add(listener)
        } catch {
            throw StartFailure(.system, "epoll: \(error.description).")
        }
    }

    // MARK: - The hand-over of the previous daemon

    /// The engine, with the hand-over of the previous daemon, if there is one that can be taken over.
    private func makeEngine() throws(StartFailure)
        -> (Engine, Inheritance?, LogStart.Outcome?, ClusterStart.Outcome?)
    {
        func letGo(_ reason: String) {
            logger.error(
                "clients of the previous daemon have to reconnect: \(reason)",
                metadata: LogKind.notTakenOver.metadata)
        }
        var inheritance: Inheritance?
        do throws(SystemdError) {
            inheritance = try Inheritance.take(from: &service)
        } catch {
            letGo(error.message)
        }
        if inheritance != nil { service.tell(.extendTimeout(Self.timeToHandOver)) }
        let configuration = engineConfiguration()
        if let settings = setup.configuration.cluster, let log = setup.configuration.log {
            let start = ClusterStart(
                settings: settings, log: log, configuration: configuration, types: setup.types,
                bringsHistory: bringsHistory, service: service, logger: logger, bell: bell,
                isEnding: { [ending] in ending.hasBegun })
            do throws(StartFailure) {
                let outcome = try start.open(inheritance)
                if let reason = outcome.notTakenOver { letGo(reason) }
                if !outcome.start.hasTakenOver { inheritance?.drop() }
                return (
                    outcome.start.engine, outcome.start.hasTakenOver ? inheritance : nil, outcome.start,
                    outcome
                )
            } catch {
                inheritance?.drop()
                throw error
            }
        }
        if let settings = setup.configuration.log {
            let start = LogStart(
                settings: settings, configuration: configuration, types: setup.types, service: service,
                logger: logger, bell: bell)
            do throws(StartFailure) {
                let outcome = try start.open(inheritance)
                if !outcome.hasTakenOver { inheritance?.drop() }
                return (outcome.engine, outcome.hasTakenOver ? inheritance : nil, outcome, nil)
            } catch {
                inheritance?.drop()
                throw error
            }
        }
        func fresh() -> Engine { Engine(configuration, types: setup.types) }
        guard let inheritance else { return (fresh(), nil, nil, nil) }
        let engine = fresh()
        engine.beginTurn(at: WallClock.now)
        let outcome = inheritance.state.withUnsafeBytes { bytes in
            Result { () throws(TransferFailure) in try engine.takeOver(bytes) }
        }
        if case .failure(let failure) = outcome {
            inheritance.drop()
            letGo(failure.message)
            return (fresh(), nil, nil, nil)
        }
        return (engine, inheritance, nil, nil)
    }

    /// From here on the loop passes commits to the log.
    private func keep(_ start: LogStart.Outcome, _ loop: EventLoop) {
        guard let settings = setup.configuration.log else { return }
        let coordinator = LogCoordinator(
            start.engine, start.writer, start.mailbox, settings, start.recipe,
            lastSnapshot: start.lastSnapshot, limits: setup.configuration.limits,
            hasCode: !setup.natives.isEmpty, logger)
        coordinator.noteTrouble = { [weak loop] in
            loop?.pulse?.note(trouble: $0, now: MonotonicClock.milliseconds)
        }
        coordinator.makeStores = { [unowned self] in
            var errors = ConfigurationErrors()
            setup.createStores(in: start.engine, unkeptOnly: true, &errors)
        }
        coordinator.giveUp = { [unowned self] in giveUp($0) }
        loop.coordinator = coordinator
        // What several machines share is agreed on first, and one batch holds what many have sent.
        if setup.configuration.cluster == nil { loop.standIn = StandIn(for: loop) }
    }

    /// Commits can't be guaranteed any more: the daemon ends, and the manager starts another
    /// one, which reads what there is.
    private func giveUp(_ reason: String) {
        failure = StartFailure(.log, reason)
        enter { [self] in
            loop?.closeAll()
            stopNow()
        }
    }

    private func takeOver(_ inheritance: Inheritance, _ loop: EventLoop) {
        loop.engine.goOnAfterTakeOver()
        // A member of a shared bus has told its clients what happened meanwhile.
        if loop.cluster == nil { loop.adopt(inheritance) }
        // Clients that left while no daemon was there end now, with their wills, before any other is accepted.
        loop.wakeUp()
        logger.notice(
            "\(inheritance.sockets.count) connections taken over", metadata: LogKind.takenOver.metadata)
    }

    private func createStores(_ engine: Engine, _ setup: ServerSetup) throws(StartFailure) {
        var errors = ConfigurationErrors()
        setup.createStores(in: engine, &errors)
        try errors.throwIfAny()
    }

    // MARK: - Accepting clients

    /// One Dispatch source, on our own epoll descriptor.
    private func watch(_ loop: EventLoop) {
        // A shared bus has the time of its log.
        if loop.cluster == nil { loop.wall.begin(at: loop.engine.lastTime) }
        loop.timer = DeadlineTimer(queue: queue) { [weak loop] in loop?.deadlinesPassed() }
        loop.wallTimer = WallTimer(queue: queue) { [weak loop] in loop?.deadlinesPassed() }
        let source = DispatchSource.makeReadSource(fileDescriptor: loop.poller.descriptor, queue: queue)
        // The handlers hold the loop, and with it the descriptor, until Dispatch has released them.
        source.setEventHandler { loop.wakeUp() }
        source.setCancelHandler { [self] in
            // By now nothing holds the loop.
            if !keptListeners.isEmpty { serveAgain() }
            ended.leave()
        }
        readiness = source
        source.activate()
        loop.armTimer()
    }

    /// Clients are answered from now on.
    private func tellReady(_ loop: EventLoop, _ listeners: [Listener]) {
        let engine = loop.engine
        let pulse = WatchdogReporter(service) { [weak loop] in
            "\(loop?.cluster.map { $0.words + ", " } ?? "")\(engine.storeCount) stores, \(loop?.connections.count ?? 0) clients, revision \(engine.revision)"
        }
        loop.pulse = pulse
        service.tell(.ready)
        service.isReady = true
        pulse.turnEnded(now: MonotonicClock.milliseconds)
        loop.armTimer()
    }
}
