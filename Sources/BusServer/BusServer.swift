import BusEngine
import BusYAML
import CLinux
import Dispatch
import Glibc
import Logging

/// A whole bus in a process: the engine, its sockets and the queue that owns both. `fluxbusd` runs one; tests run
/// as many as they like.
///
/// `@unchecked Sendable`: everything that changes is touched on the bus queue only; `start` and `stop` enter it.
package final class BusServer: @unchecked Sendable {
    private let setup: ServerSetup
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

    package init(_ setup: ServerSetup, grace: Grace = Grace(), logger: Logger) {
        self.setup = setup
        self.grace = grace
        self.logger = logger
    }

    /// Opens all sockets and serves; returns their addresses, with the ports that the system chose.
    /// Nothing is left behind when it fails.
    @discardableResult
    package func start() throws(StartFailure) -> [String] {
        DescriptorLimit.raise(for: setup.configuration.limits.connections, logger)
        var listeners: [Listener] = []
        var failures: [StartFailure] = []
        for address in setup.configuration.listen {
            do throws(StartFailure) {
                listeners.append(try Listener.open(address))
            } catch {
                failures.append(error)
            }
        }
        if let first = failures.first { throw StartFailure(first.code, failures.flatMap(\.messages)) }
        let opened = listeners
        let result: Result<Void, StartFailure> = queue.sync {
            do throws(StartFailure) {
                return .success(try serve(opened))
            } catch {
                return .failure(error)
            }
        }
        try result.get()
        return opened.map(\.address)
    }

    /// Tells all clients goodbye, writes what was promised, for at most five seconds, and closes everything.
    /// Returns at once; `waitUntilStopped` returns when that is done.
    package func stop() {
        queue.async { [self] in
            isToStop = true
            loop?.stop(.shutdown, "The bus is shutting down; connect again later.") { [self] in finish() }
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

    /// Reads the definitions anew and commits them, as the request `reload` does.
    package func reload() {
        queue.async { [self] in
            guard let loop else { return }
            loop.beginTurn()
            do throws(ReloadFailure) {
                try loop.engine.reload()
                logger.info("types reloaded")
            } catch {
                logger.error("types not reloaded, the old ones stay: \(error.message)")
            }
            loop.flush()
            loop.armTimer()
        }
    }

    // MARK: - On the queue

    private func serve(_ listeners: [Listener]) throws(StartFailure) {
        let log = ClientLog(logger)
        let engine = Engine(engineConfiguration(log), types: setup.types)
        let loop: EventLoop
        do throws(SystemError) {
            loop = try EventLoop(
                queue: queue, engine: engine, limits: setup.configuration.limits, grace: grace, log: log)
            for listener in listeners { try loop.add(listener) }
        } catch {
            throw StartFailure(.system, "epoll: \(error.description).")
        }
        loop.beginTurn()
        try createStores(engine)
        self.loop = loop
        clientLog = log
        ended.enter()
        watch(loop)
        if isToStop { stop() }
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
        configuration.tokenName = { [tokens = setup.tokens] in tokens.name(for: $0) }
        configuration.loadTypes = { [setup] () throws(ReloadFailure) in
            do throws(SourceError) {
                return try setup.reloadedTypes()
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

    private func createStores(_ engine: Engine) throws(StartFailure) {
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
