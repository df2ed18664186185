import BusEngine
import BusJSON
import BusLog
import BusSystem
import Dispatch
import Logging
import Systemd

/// A whole bus in a process: the engine, its sockets and the queue that owns both. `fluxbusd` runs one; tests run
/// as many as they like.
///
/// Starting and reloading have files of their own beside this one.
///
/// `@unchecked Sendable`: everything mutable is accessed on the bus queue only; `start` and `stop` enter it.
package final class BusServer: @unchecked Sendable {
    /// The form of the logs that this daemon writes.
    package static let logForm = LogFile.form

    var setup: ServerSetup
    /// What the start went by: a reload leaves some of it in force.
    let started: StartSettings
    let atStart: ServerConfiguration
    var service: Service
    let timeouts: Timeouts
    let logger: Logger
    let queue = DispatchQueue(label: "fluxbus.bus", qos: .userInitiated)
    let ended = DispatchGroup()
    /// Wakes the loop where it waits for sockets.
    let bell = EventFD()

    /// Who is who, for the access rules.
    let users = UserTable()

    // All of these belong to the queue.
    var loop: EventLoop?
    /// Reads the files of reloads; made at the start, because its thread must not take signals.
    var files: Worker?
    var readiness: (any DispatchSourceRead)?
    var clientLog: ClientLog?
    /// A stop was requested, also before the start was finished.
    var isToStop = false
    /// The next stop is half of a restart.
    var isRestarting = false
    /// The reloads that are not done yet, the first of which is being read; nil: one for the daemon itself.
    var reloads: [ReloadRequest?] = []
    /// The sockets at which clients wait while a member of a bus begins again; empty otherwise.
    var keptListeners: [Listener] = []
    /// A reload for the daemon itself was requested meanwhile.
    var isReloadDue = false
    /// Why the server ended by itself.
    package internal(set) var failure: StartFailure?

    /// A bus over several machines is to begin with the history that this machine has.
    package var bringsHistory = false
    /// The start, which may wait for long, is to be given up.
    let ending = Ending()

    /// Whether many connections are written to by one call of io_uring, where the kernel has that; to be set before the start.
    package var usesRing = ProcessVariables.all["FLUXBUS_IO_URING"] != "off"

    /// Measures the process's memory, where the process is this server's alone.
    var meter: MemoryMeter?

    /// The process is this server's alone: its memory counts against the limit. Call it before the start.
    package func watchMemory() { meter = MemoryMeter() }

    /// Gives memory back to the kernel that only the start has needed.
    package func releaseStart() { MemoryMeter.releaseStart() }

    package init(
        _ setup: ServerSetup, service: Service = .none, timeouts: Timeouts = Timeouts(), logger: Logger
    ) {
        self.setup = setup
        started = StartSettings(setup)
        atStart = setup.configuration
        self.service = service
        self.timeouts = timeouts
        self.logger = logger
        service.report(to: logger)
    }

    /// Opens all sockets and serves; returns their addresses, with the ports that the system chose.
    /// Nothing is left behind when it fails.
    @discardableResult
    package func start() throws(StartFailure) -> [String] {
        DescriptorLimit.raise(for: setup.configuration.limits.daemon.connections, logger)
        let result: Result<[String], StartFailure> = queue.sync {
            do throws(StartFailure) {
                return .success(try open().map(\.address))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// The system calls of the bus so far. Waits until the loop has released the queue, which it does once nothing has
    /// come for a moment, and does not wake it: that would be counted.
    package func systemCalls() -> SystemCallCount { queue.sync { loop?.calls ?? SystemCallCount() } }

    /// When the next timer of the bus wakes the loop, in milliseconds since 1970; nil while none does.
    package func nextWaking() -> Int? { queue.sync { loop?.wallTimer?.armedFor } }

    /// Runs something on the bus queue, between two turns.
    func enter(_ work: @escaping @Sendable () -> Void) {
        queue.async(execute: work)
        bell.callForQueue()
    }

    /// The next `stop` is half of a restart: clients are handed over to the next daemon, where a service manager
    /// keeps their sockets meanwhile.
    package func announceRestart() { enter { [self] in isRestarting = true } }

    /// Sends all clients a goodbye, writes the remaining output, for at most five seconds, and closes
    /// everything; or hands the clients over, when a restart was announced. Returns at once;
    /// `waitUntilStopped` returns when that is done.
    ///
    /// - Parameter heard: Called on the queue of the bus when it begins to stop.
    package func stop(heard: @escaping @Sendable () -> Void = {}) {
        ending.begin()
        enter { [self] in
            heard()
            if isToStop { return }
            isToStop = true
            guard let loop else { return }
            service.tell(.stopping)
            logger.notice(isRestarting ? "restarting" : "stopping", metadata: LogKind.stopping.metadata)
            if isRestarting {
                // Clients that were sent a goodbye are not handed over.
                if loop.whenEmpty == nil, leave(loop) { return finish() }
                loop.stop(.restart, "The bus restarts; connect again.") { [self] in finish() }
            } else {
                loop.stop(.shutdown, "The bus is shutting down; connect again later.") { [self] in finish() }
            }
        }
    }

    private func leave(_ loop: EventLoop) -> Bool {
        guard service.isHeard else { return false }
        // Writing a large state takes longer than ending does.
        service.tell(.extendTimeout(Self.timeToHandOver))
        guard loop.prepareToLeave() else {
            logger.error(
                "the connections can't be handed over, because the log can't be written",
                metadata: LogKind.notTakenOver.metadata)
            return false
        }
        do throws(SystemdError) {
            let count = loop.connections.count
            try loop.leave(to: service)
            logger.info("\(count) connections left to the next daemon")
            return true
        } catch {
            logger.error(
                "the connections can't be handed over: \(error)", metadata: LogKind.notTakenOver.metadata)
            return false
        }
    }

    /// The timeout requested from the manager for each half of a restart: a gigabyte of states takes some ten seconds.
    static let timeToHandOver = Duration.seconds(60)

    /// Stops without waiting for clients any longer.
    package func stopNow() {
        stop()
        enter { [self] in
            loop?.closeAll()
            loop?.callWhenEmpty()
        }
    }

    /// Blocks until the server, once started, has stopped, and the manager has been notified. Without a `stop` it never
    /// returns: a server that was started lives until then.
    package func waitUntilStopped() {
        ended.wait()
        service.finishTelling()
    }

    func finish(leavingSnapshot: Bool = true) {
        guard let loop else { return }
        loop.timer?.cancel()
        loop.timer = nil
        loop.wallTimer?.cancel()
        loop.wallTimer = nil
        loop.standIn?.end()
        loop.standIn = nil
        loop.coordinator?.close(leavingSnapshot: leavingSnapshot)
        loop.coordinator = nil
        loop.cluster?.close()
        loop.cluster = nil
        loop.performOutputs()
        loop.releaseSpare()
        clientLog?.tellAllSuppressed()
        readiness?.cancel()
        readiness = nil
        self.loop = nil
        if reloads.contains(where: { $0 == nil }) { isReloadDue = true }
        (files, reloads) = (nil, [])
    }
}

/// Connections that break, for tests of what clients do then.
extension BusServer {
    /// Closes every connection without a goodbye: what clients have sent and nobody has read yet is lost, and so are answers
    /// and events that were not written. Clients may connect again at once. `done` is called when all are closed.
    package func cut(_ done: @escaping @Sendable () -> Void) {
        enter { [self] in
            defer { done() }
            guard let loop else { return }
            loop.cutAll()
            // Wills and ends of sessions are told to nobody who is here now, but they are commits.
            loop.flush(all: true)
            loop.armTimer()
            loop.callWhenEmpty()
        }
    }
}

extension EventLoop {
    fileprivate func cutAll() {
        beginTurn()
        // Whoever has connected is cut off, also if nobody has looked yet.
        for acceptor in acceptors { accept(from: acceptor) }
        for id in connections.ids { close(id, .peerLost) }
    }
}

/// What `stats` tells of the process and its log, which the engine knows nothing of.
extension BusServer {
    /// From now on the engine's times are measured, and `stats` is complete.
    func measure(_ loop: EventLoop) {
        let began = MonotonicClock.milliseconds
        loop.engine.statistics.timings.stopwatch = { MonotonicClock.nanoseconds }
        loop.engine.statistics.owners = { [weak loop] in
            var statistics: JSONObject = [
                "uptime": .double(Double(MonotonicClock.milliseconds - began) / 1000)
            ]
            if let loop { statistics["io"] = loop.buffers.ring == nil ? "epoll" : "io_uring" }
            if let bytes = MemoryMeter.resident() { statistics["residentMemory"] = .int(bytes) }
            if let log = loop?.coordinator?.statistics { statistics["log"] = .object(log) }
            return statistics
        }
    }
}

/// UUIDs, which name histories and let members of a bus know each other.
enum UUIDText {
    /// Whether a text is one, in upper or lower case.
    static func isOne(_ text: String) -> Bool {
        let groups = text.split(separator: "-", omittingEmptySubsequences: false)
        return groups.map(\.utf8.count) == [8, 4, 4, 4, 12]
            && groups.allSatisfy { $0.utf8.allSatisfy { Character(UnicodeScalar($0)).isHexDigit } }
    }

    /// A random one (version 4), in lower case, which nobody can guess.
    static func random() -> String {
        var generator = SystemRandomNumberGenerator()
        var bytes = (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) }
        bytes[6] = bytes[6] & 0x0f | 0x40
        bytes[8] = bytes[8] & 0x3f | 0x80
        var text = ""
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text += "-" }
            text += byte < 16 ? "0" : ""
            text += String(byte, radix: 16)
        }
        return text
    }
}
