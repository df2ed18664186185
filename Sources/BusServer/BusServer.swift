import BusEngine
import BusLogic
import BusYAML
import CLinux
import Dispatch
import Glibc
import Logging
import Systemd

/// A whole bus in a process: the engine, its sockets and the queue that owns both. `fluxbusd` runs one; tests run
/// as many as they like.
///
/// `@unchecked Sendable`: everything that changes is touched on the bus queue only; `start` and `stop` enter it.
package final class BusServer: @unchecked Sendable {
    private var setup: ServerSetup
    private var service: Service
    private let grace: Grace
    private let logger: Logger
    private let queue = DispatchQueue(label: "fluxbus.bus", qos: .userInitiated)
    private let ended = DispatchGroup()

    // All of these belong to the queue.
    private var loop: EventLoop?
    private var readiness: (any DispatchSourceRead)?
    private var clientLog: ClientLog?
    /// Also when it came before the start was finished.
    private var isToStop = false
    /// The stop that comes next is half of a restart.
    private var isRestarting = false
    /// What a reload has read, until the engine has taken its types.
    private var reloadedSetup: ServerSetup?

    package init(_ setup: ServerSetup, service: Service = .none, grace: Grace = Grace(), logger: Logger) {
        self.setup = setup
        self.service = service
        self.grace = grace
        self.logger = logger
    }

    /// Opens all sockets and serves; returns their addresses, with the ports that the system chose.
    /// Nothing is left behind when it fails.
    @discardableResult
    package func start() throws(StartFailure) -> [String] {
        DescriptorLimit.raise(for: setup.configuration.limits.connections, logger)
        let result: Result<[String], StartFailure> = queue.sync {
            do throws(StartFailure) {
                return .success(try serve(openListeners()).map(\.address))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private func openListeners() throws(StartFailure) -> [Listener] {
        var listeners: [Listener] = []
        var failures: [StartFailure] = []
        for address in setup.configuration.listen {
            do throws(StartFailure) {
                listeners += try Listener.open(address, &service)
            } catch {
                failures.append(error)
            }
        }
        if let tcp = listeners.first(where: { $0.address.hasPrefix("tcp:") }),
            setup.configuration.tokens == nil
        {
            failures.append(
                StartFailure(
                    .configuration,
                    "\(tcp.address) needs tokens: name a file of lines NAME TOKEN under tokens:, with --tokens or "
                        + "FLUXBUS_TOKENS."))
        }
        if let first = failures.first { throw StartFailure(first.code, failures.flatMap(\.messages)) }
        return listeners
    }

    /// Says that the next `stop` is half of a restart: clients are handed over to the daemon that follows, where a service
    /// manager keeps them meanwhile.
    package func announceRestart() { queue.async { [self] in isRestarting = true } }

    /// Tells all clients goodbye, writes what was promised, for at most five seconds, and closes everything; or hands
    /// the clients over, when a restart was announced. Returns at once; `waitUntilStopped` returns when that is done.
    package func stop() {
        queue.async { [self] in
            if isToStop { return }
            isToStop = true
            guard let loop else { return }
            service.tell(.stopping)
            if isRestarting, leave(loop) { return finish() }
            isRestarting
                ? loop.stop(.restart, "The bus restarts; connect again.") { [self] in finish() }
                : loop.stop(.shutdown, "The bus is shutting down; connect again later.") { [self] in finish()
                }
        }
    }

    private func leave(_ loop: EventLoop) -> Bool {
        guard service.notifier.isHeard else { return false }
        do throws(SystemdError) {
            try loop.leave(to: service)
            logger.info("\(loop.connections.count) connections left to the next daemon")
            return true
        } catch {
            logger.error("the connections can't be handed over: \(error)")
            return false
        }
    }

    /// Does not wait for clients any more.
    package func stopNow() {
        stop()
        queue.async { [self] in
            loop?.closeAll()
            loop?.callWhenEmpty()
        }
    }

    /// Blocks until the server, once started, has stopped. Without a `stop` it never does: a server that was
    /// started lives until then.
    package func waitUntilStopped() { ended.wait() }

    /// Reads the configuration anew and commits its types, as the request `reload` does.
    package func reload() {
        queue.async { [self] in
            guard let loop else { return }
            service.tellReloading()
            loop.beginTurn()
            // What came of it is logged where it happened.
            try? loop.engine.reload()
            loop.flush()
            service.tell(.ready)
            loop.armTimer()
        }
    }

    // MARK: - On the queue

    private func serve(_ listeners: [Listener]) throws(StartFailure) -> [Listener] {
        let log = ClientLog(logger)
        let (engine, inheritance) = try makeEngine(log)
        let loop: EventLoop
        do throws(SystemError) {
            loop = try EventLoop(
                queue: queue, engine: engine, limits: setup.configuration.limits, grace: grace, log: log)
            for listener in listeners { try loop.add(listener) }
        } catch {
            inheritance?.drop()
            throw StartFailure(.system, "epoll: \(error.description).")
        }
        loop.beginTurn()
        try createStores(engine, setup)
        self.loop = loop
        clientLog = log
        ended.enter()
        watch(loop)
        if let inheritance {
            loop.adopt(inheritance)
            // Who went while nobody was there ends now, will and all, before anybody else is let in.
            loop.wakeUp()
            logger.notice("\(inheritance.sockets.count) connections taken over")
        }
        tellReady(loop)
        if isToStop {
            isToStop = false
            stop()
        }
        return listeners
    }

    /// The engine, with what the daemon before left, if it left something that can be taken over.
    private func makeEngine(_ log: ClientLog) throws(StartFailure) -> (Engine, Inheritance?) {
        do throws(SystemdError) {
            guard let inheritance = try Inheritance.take(from: &service) else {
                return (Engine(engineConfiguration(log), types: setup.types), nil)
            }
            let engine = Engine(engineConfiguration(log), types: setup.types)
            engine.beginTurn(at: WallClock.now)
            let outcome = inheritance.state.withUnsafeBytes { bytes in
                Result { () throws(HandOverFailure) in try engine.takeOver(bytes) }
            }
            if case .failure(let failure) = outcome {
                inheritance.drop()
                logger.error("the clients of the daemon before are let go: \(failure.message)")
                return (Engine(engineConfiguration(log), types: setup.types), nil)
            }
            return (engine, inheritance)
        } catch {
            logger.error("the clients of the daemon before are let go: \(error)")
            return (Engine(engineConfiguration(log), types: setup.types), nil)
        }
    }

    /// Clients are answered from now on.
    private func tellReady(_ loop: EventLoop) {
        let engine = loop.engine
        let pulse = Pulse(service) { [weak loop] in
            "\(engine.storeCount) stores, \(loop?.connections.count ?? 0) clients, revision \(engine.revision)"
        }
        loop.pulse = pulse
        service.tell(.ready)
        pulse.turnEnded(now: MonotonicClock.read())
        loop.armTimer()
    }

    /// One Dispatch source, on our own epoll descriptor.
    private func watch(_ loop: EventLoop) {
        loop.timer = DeadlineTimer(queue: queue) { [weak loop] in loop?.deadlinesPassed() }
        let source = DispatchSource.makeReadSource(fileDescriptor: loop.poller.descriptor, queue: queue)
        // The handlers hold the loop, and with it the descriptor, until Dispatch has let go of them.
        source.setEventHandler { loop.wakeUp() }
        source.setCancelHandler { [self] in ended.leave() }
        readiness = source
        source.activate()
        loop.armTimer()
    }

    private func finish() {
        guard let loop else { return }
        loop.timer?.cancel()
        loop.timer = nil
        loop.releaseSpare()
        clientLog?.tellAllSuppressed()
        readiness?.cancel()
        readiness = nil
        self.loop = nil
    }

    private func engineConfiguration(_ log: ClientLog) -> EngineConfiguration {
        var configuration = EngineConfiguration(
            epoch: Epoch.random(), ownUID: Int(geteuid()), version: Version.text)
        configuration.limits = setup.configuration.limits
        configuration.hashSeed = .random(in: .min ... .max)
        configuration.tokenName = { [unowned self] in setup.tokens.name(for: $0) }
        configuration.loadTypes = { [unowned self] () throws(ReloadFailure) in try readAgain() }
        configuration.reloaded = { [unowned self] in adoptReloaded() }
        configuration.compile = { (definition) throws(ReloadFailure) in
            do throws(SourceError) {
                return try DeclaredType(definition: definition)
            } catch {
                throw ReloadFailure(message: error.description)
            }
        }
        configuration.report = { [weak self] note in
            let peer = note.connection.flatMap { self?.loop?.connections[$0]?.peer }
            log.note(Logger.Level(note.level), note.message, peer)
        }
        return configuration
    }

    private func createStores(_ engine: Engine, _ setup: ServerSetup) throws(StartFailure) {
        var complaints = Complaints()
        for store in setup.configuration.stores {
            do {
                try engine.createConfigured(store.value)
            } catch {
                complaints.add("The store \(store.value): \(error.message)", at: store.place)
            }
        }
        try complaints.throwIfAny()
    }

    // MARK: - Reloading

    /// Reads everything anew. The engine takes the types if every store fits them; then `adoptReloaded` takes the rest.
    private func readAgain() throws(ReloadFailure) -> [any StateType] {
        do throws(StartFailure) {
            let next = try setup.reloaded()
            reloadedSetup = next
            return next.types
        } catch {
            reloadedSetup = nil
            throw ReloadFailure(message: error.messages.joined(separator: " "))
        }
    }

    private func adoptReloaded() {
        guard let next = reloadedSetup, let loop else { return }
        reloadedSetup = nil
        if next.configuration.listen.map(\.text) != setup.configuration.listen.map(\.text) {
            logger.notice("listen: has changed; that takes a restart")
        }
        setup = next
        loop.limits = next.configuration.limits
        loop.engine.adopt(next.configuration.limits)
    }
}

extension Logger.Level {
    fileprivate init(_ level: EngineNote.Level) {
        self =
            switch level {
            case .info: .info
            case .notice: .notice
            case .warning: .warning
            case .error: .error
            }
    }
}
