import BusSystem
import BusTLS
import CLinux
import Dispatch
import FluxBus
import Glibc
import Synchronization

/// What stands before the HTTP server: it listens, ends TLS, limits connections, requests and time, and relays the rest to
/// the server's socket. One thread, one `poll` over all.
///
/// Why it is there: the server's library has no TLS and takes no passed sockets, and believes what clients say: it waits for
/// ever for the rest of a request, and makes room for whatever length is announced.
///
/// `@unchecked Sendable`: what is not in `shared` belongs to the thread.
package final class Front: @unchecked Sendable {
    package typealias Clock = @Sendable () -> Int

    private struct Shared {
        var context: TLSContext?
        var isStopping = false
        /// When a stop becomes an end.
        var end = Int.max
    }

    private let listeners: [WebListener]
    private let limits: FrontLimits
    private let answers: FrontAnswers
    private let serverPath: String
    private let now: Clock
    private let wakeUp = WakeUp()
    private let shared: Mutex<Shared>
    private let ended = DispatchSemaphore(value: 0)
    private let idleExit: Duration?
    private let whenIdle: @Sendable () -> Void

    private var connections: [FrontConnection] = []
    private var emptySince: Int
    private var isToldIdle = false
    /// No descriptor was left for a connection: listening pauses until this time.
    private var pausedUntil = 0
    private let space = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 << 10, alignment: 16)

    /// - Parameters:
    ///   - serverPath: The Unix socket on which the server listens.
    ///   - now: A clock in nanoseconds.
    ///   - idleExit: After so long without a connection `whenIdle` is called, once.
    package init(
        _ listeners: [WebListener], to serverPath: String, _ limits: FrontLimits, _ answers: FrontAnswers,
        context: TLSContext?, idleExit: Duration? = nil, now: @escaping Clock,
        whenIdle: @escaping @Sendable () -> Void = {}
    ) throws(WebFailure) {
        (self.listeners, self.limits, self.answers) = (listeners, limits, answers)
        (self.serverPath, self.now, self.idleExit, self.whenIdle) = (serverPath, now, idleExit, whenIdle)
        shared = Mutex(Shared(context: context))
        emptySince = now()
        guard wakeUp.descriptor >= 0 else {
            throw WebFailure(.system, "No file descriptor is left (\(systemReason())).")
        }
    }

    deinit { space.deallocate() }

    package func start() {
        SystemThread.startNecessary(named: "front") { [self] in
            run()
            ended.signal()
        }
    }

    /// New connections get this certificate.
    package func use(_ context: TLSContext) { shared.withLock { $0.context = context } }

    /// Looks at the clock again.
    package func wake() { wakeUp.signal() }

    /// Listens no more, lets connections end, and ends those that have not after this time. Returns when all have ended.
    package func stop(within time: Duration) {
        shared.withLock {
            $0.isStopping = true
            $0.end = now() + time.nanoseconds
        }
        wake()
        ended.wait()
        // Also for whoever stops it once more.
        ended.signal()
    }

    // MARK: - The thread

    private func run() {
        while true {
            let (isStopping, end) = shared.withLock { ($0.isStopping, $0.end) }
            if isStopping {
                for listener in listeners { listener.close() }
                let time = now()
                for connection in connections where connection.isIdle || time >= end {
                    connection.expire(now: time)
                }
                connections.removeAll { $0.isOver }
                if connections.isEmpty || time >= end { break }
            }
            turn(isStopping, end)
        }
        connections = []
    }

    private func turn(_ isStopping: Bool, _ end: Int) {
        var entries = [pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0)]
        let listens = !isStopping && pausedUntil <= now()
        for listener in listeners {
            entries.append(
                pollfd(fd: listens ? listener.descriptor : -1, events: Int16(POLLIN), revents: 0))
        }
        let first = entries.count
        for connection in connections {
            for side in [FrontConnection.Side.client, .server] {
                let events = connection.events(at: side)
                let descriptor = side == .client ? connection.client : connection.server
                entries.append(pollfd(fd: events == 0 ? -1 : descriptor, events: events, revents: 0))
            }
        }
        let ready = linux_poll(&entries, entries.count, Int64(patience(isStopping, end)))
        let time = now()
        if ready > 0 {
            if entries[0].revents != 0 { wakeUp.clear() }
            for (index, connection) in connections.enumerated() {
                let (client, server) = (entries[first + 2 * index], entries[first + 2 * index + 1])
                if server.revents != 0 { connection.serverIsReady(server.revents, space, now: time) }
                if client.revents != 0, connection.client >= 0 {
                    connection.clientIsReady(client.revents, space, now: time)
                }
            }
            boundBodies(time)
            for (index, listener) in listeners.enumerated() where entries[1 + index].revents != 0 {
                accept(listener, time)
            }
        }
        for connection in connections where connection.deadline <= time { connection.expire(now: time) }
        connections.removeAll { $0.isOver }
        lookIdle(time)
    }

    /// How long nothing has to be done if nothing comes, in nanoseconds.
    private func patience(_ isStopping: Bool, _ end: Int) -> Int {
        let time = now()
        var next = connections.map(\.deadline).min() ?? .max
        if isStopping { next = min(next, end) }
        if pausedUntil > time { next = min(next, pausedUntil) }
        if let idleExit, connections.isEmpty, !isToldIdle {
            next = min(next, emptySince + idleExit.nanoseconds)
        }
        return min(max(0, next - time), Self.longestPatience)
    }

    private static let longestPatience = 3600 * 1_000_000_000

    private func lookIdle(_ time: Int) {
        guard connections.isEmpty else { return emptySince = time }
        guard let idleExit, !isToldIdle, time - emptySince >= idleExit.nanoseconds else { return }
        isToldIdle = true
        whenIdle()
    }

    /// Limits the memory that chunked bodies take. While they exceed it, the connection that holds the most is refused, or the oldest
    /// of several equal ones; so no client is refused while another holds more.
    private func boundBodies(_ time: Int) {
        var held = connections.reduce(0) { $0 + $1.heldBodies }
        while held > limits.heldBodies,
            let longest = connections.max(by: { ($0.heldBodies, -$0.since) < ($1.heldBodies, -$1.since) })
        {
            held -= longest.heldBodies
            longest.giveUpBodies(now: time)
        }
    }

    // MARK: - New connections

    /// Each turn accepts a few, so that those that are there are not kept waiting.
    private static let mostAtOnce = 16
    private static let pause = 100_000_000

    private func accept(_ listener: WebListener, _ time: Int) {
        for _ in 0..<Self.mostAtOnce {
            var address = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let client = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    linux_accept(listener.descriptor, $0, &length)
                }
            }
            guard client >= 0 else {
                switch errno {
                case EINTR, ECONNABORTED: continue
                case EMFILE, ENFILE, ENOMEM, ENOBUFS: pausedUntil = time + Self.pause
                default: break
                }
                return
            }
            guard makeRoom(time) else {
                close(client)
                continue
            }
            listener.prepare(client)
            let context = listener.isSecure ? shared.withLock { $0.context } : nil
            connections.append(
                FrontConnection(
                    client, from: InternetAddress(address)?.text, context, limits, answers, now: time
                ) { [serverPath] in
                    Self.connect(to: serverPath)
                })
        }
    }

    /// One that has been waiting longest for a request gives way; false where all are in use.
    private func makeRoom(_ time: Int) -> Bool {
        connections.removeAll { $0.isOver }
        // Those whose client is gone end soon.
        guard connections.count(where: { $0.client >= 0 }) >= limits.connections else { return true }
        guard let idle = connections.filter(\.isIdle).min(by: { $0.lastMoved < $1.lastMoved }) else {
            return false
        }
        idle.expire(now: time)
        return true
    }

    private static func connect(to path: String) -> Int32 {
        let descriptor = linux_stream_socket(AF_UNIX, 1)
        guard descriptor >= 0 else { return -1 }
        if UnixAddress(path).connect(descriptor) == 0 { return descriptor }
        close(descriptor)
        return -1
    }
}

/// What the front allows before it ends a connection. Each keeps one peer from taking what all share.
package struct FrontLimits: Sendable {
    /// Connections at a time. A page has up to eight; a quarter of a thousand are thirty browsers.
    package var connections = 256
    /// How many of them may be WebSockets, which stay: an eighth is left for requests.
    package var conversations: Int { connections - max(1, connections / 8) }
    /// Bytes of a request up to its empty line: browsers send one or two thousand, with cookies of neighbours more.
    package var head = 16 << 10
    /// Header fields of a request.
    package var fields = 100
    /// Header fields that mean something under `/hooks/`, and so have one value in ASCII there.
    package var hookFields: @Sendable () -> Set<String> = { [] }
    /// Bytes of a request's target.
    package var target = 2048
    /// Bytes of a request's body: the largest is a token.
    package var body = 16 << 10
    /// The same under `/v1` and `/hooks`: as many as a line of the bus has by default.
    package var apiBody = 1 << 20
    /// Bytes of all bodies that come in chunks, which are held until they are complete: thirty of the largest. The unit allows
    /// the program 256 MiB.
    package var heldBodies = 32 << 20
    /// Bytes that wait in one direction of a connection.
    package var buffer = 64 << 10
    /// How long a request may take to arrive, from the first byte (or the TLS handshake, from the connection).
    package var opening: Duration = .seconds(10)
    /// How long a connection may stay without a request, or leave an answer unread.
    package var idle: Duration = .seconds(60)
    /// How long a connection that is over may take to be read to its end.
    package var ending: Duration = .seconds(2)
    /// How long the server's answer for a client that is gone may take. It is longer than anything waits for the bus.
    package var draining: Duration = .seconds(30)

    package init() {}
}

/// TLS between a client's socket and the plain bytes of its connection. What is encrypted and not sent is bounded: as long as
/// there is some, nothing more is encrypted.
struct FrontSecurity {
    /// Bytes taken from a client before its handshake is complete: no browser sends more than a few thousand.
    private static let longestHandshake = 64 << 10
    /// Bytes that the session itself wants to send to a client that does not read, such as answers to updates of keys.
    private static let longestOutput = 256 << 10

    private let session: TLSSession
    private var received = 0

    init(_ context: TLSContext) { session = TLSSession(context, as: .server) }

    var isEstablished: Bool { session.isEstablished }
    var hasOutput: Bool { session.hasOutput }

    /// Takes bytes of the socket, and gives the plain ones; nil at the end of what the client sends.
    mutating func receive(_ bytes: UnsafeRawBufferPointer) throws(TLSFailure) -> (plain: [UInt8], isEnd: Bool)
    {
        session.receive(bytes)
        if !session.isEstablished {
            received += bytes.count
            guard received <= Self.longestHandshake else {
                throw TLSFailure(.violation, "the handshake is too long")
            }
            guard try session.shakeHands() else { return ([], false) }
        }
        let space = UnsafeMutableRawBufferPointer.allocate(byteCount: TLSSession.record, alignment: 16)
        defer { space.deallocate() }
        var plain: [UInt8] = []
        while true {
            switch try session.read(into: space) {
            case .bytes(let count): plain += space[..<count]
            case .end: return (plain, true)
            case .nothingYet:
                guard session.output.count <= Self.longestOutput else {
                    throw TLSFailure(.violation, "the client does not read the answers that it asks for")
                }
                return (plain, false)
            }
        }
    }

    /// Encrypts what comes next of the queue, one record of it, if nothing else waits to be sent.
    func encrypt(_ queue: inout ByteQueue) throws(TLSFailure) {
        guard session.isEstablished, !session.hasOutput, !queue.isEmpty else { return }
        let record = Array(queue.prefix(TLSSession.record))
        var failure: TLSFailure?
        record.withUnsafeBytes { bytes in
            do throws(TLSFailure) { try session.write(bytes) } catch { failure = error }
        }
        if let failure { throw failure }
        queue.removeFirst(record.count)
    }

    /// Sends what is encrypted, as far as the socket takes it.
    func flush(_ descriptor: Int32) -> Transfer {
        while session.hasOutput {
            switch Transfer.send(descriptor, session.output) {
            case .bytes(let count): session.sent(count)
            case let other: return other
            }
        }
        return .bytes(0)
    }

    func finish() { session.finish() }
}
