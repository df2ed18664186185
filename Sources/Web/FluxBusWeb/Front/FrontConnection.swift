import BusJSON
import BusTLS
import CLinux
import Glibc

/// One client's connection, relayed to the HTTP server behind: with TLS ended, requests checked, and at most so many bytes
/// waiting in each direction. While a direction is full, nothing more is read for it, so a client that does not read is felt
/// by whoever sends to it.
///
/// The server's side ends last: what it still sends to a client that is gone is read and forgotten, since the library behind
/// takes it badly when its peer vanishes.
///
/// Confined to the front's thread.
final class FrontConnection {
    enum Side { case client, server }

    private let limits: FrontLimits
    private(set) var client: Int32
    private(set) var server: Int32 = -1
    private let connectToServer: () -> Int32
    private let answers: FrontAnswers

    private var guarded: RequestGuard
    private var security: FrontSecurity?
    private var toServer = ByteQueue()
    private var toClient = ByteQueue()
    /// What the client is told once all requests before are answered.
    private var refusal: RequestHead.Refusal?

    private var clientHasEnded = false
    private var serverHasEnded = false
    private var serverKnowsEnd = false
    /// The server takes nothing more.
    private var serverIsDeaf = false
    /// The client hears nothing more, and is read until it ends, so that what it was sent is not lost.
    private var isLingering = false

    /// When it came to be in the state in which it is.
    private(set) var since: Int
    private(set) var lastMoved: Int
    private var isOpening = true

    init(
        _ client: Int32, from address: String?, _ context: TLSContext?, _ limits: FrontLimits,
        _ answers: FrontAnswers, now: Int,
        connectToServer: @escaping () -> Int32
    ) {
        (self.client, self.limits, self.answers) = (client, limits, answers)
        self.connectToServer = connectToServer
        security = context.map { FrontSecurity($0) }
        guarded = RequestGuard(limits, address: address)
        (since, lastMoved) = (now, now)
    }

    deinit {
        closeClient()
        closeServer()
    }

    var isOver: Bool { client < 0 && server < 0 }
    /// A connection that may give way to another one: nothing is being done for it.
    var isIdle: Bool {
        if client < 0 || isLingering { return client >= 0 }
        return hasToldAll && guarded.answersLeft == 0 && !guarded.isInChunks
            && (guarded.phase == .between || guarded.phase == .partial)
    }
    /// Nothing waits to be sent to the client.
    private var hasToldAll: Bool { toClient.isEmpty && security?.hasOutput != true }
    /// Bytes of bodies that came in chunks: of one that is not complete, and what the server has not taken of others. Of all else a
    /// buffer's worth and one read is the most that waits for the server.
    var heldBodies: Int { guarded.heldBody + max(0, toServer.count - 2 * limits.buffer) }

    // MARK: - What it waits for

    /// The events it waits for at a side; 0: none.
    func events(at side: Side) -> Int16 {
        var events: Int32 = 0
        switch side {
        case .client:
            guard client >= 0 else { return 0 }
            if wantsClientBytes { events |= POLLIN }
            if !isLingering, security?.hasOutput ?? !toClient.isEmpty { events |= POLLOUT }
        case .server:
            guard server >= 0 else { return 0 }
            if wantsServerBytes { events |= POLLIN }
            if !toServer.isEmpty { events |= POLLOUT }
        }
        return Int16(events)
    }

    private var wantsClientBytes: Bool {
        if clientHasEnded { return false }
        if isLingering { return true }
        return toServer.count < limits.buffer && guarded.phase != .awaitingAnswer && guarded.phase != .done
    }

    private var wantsServerBytes: Bool {
        !serverHasEnded && (client < 0 || isLingering || toClient.count < limits.buffer)
    }

    /// When it is ended if nothing happens before.
    var deadline: Int {
        if client < 0 { return since + limits.draining.nanoseconds }
        if isLingering { return since + limits.ending.nanoseconds }
        if isOpening { return since + limits.opening.nanoseconds }
        switch guarded.phase {
        case .partial: return since + limits.opening.nanoseconds
        case .webSocket: return .max
        case .between, .awaitingAnswer, .done: return lastMoved + limits.idle.nanoseconds
        }
    }

    /// Its time is over.
    func expire(now: Int) {
        if client < 0 { return closeServer() }
        drop(now)
    }

    /// What it holds is needed for the bodies of others.
    func giveUpBodies(now: Int) {
        // Else it is the server that does not take them.
        guard guarded.isInChunks else { return linger(now) }
        refuse(
            .init(
                status: 503,
                reason: "Too many bodies are on their way; try again, with the field Content-Length."))
        settle(now)
    }

    // MARK: - Moving bytes

    func clientIsReady(_ ready: Int16, _ space: UnsafeMutableRawBufferPointer, now: Int) {
        if Int32(ready) & (POLLERR | POLLNVAL) != 0 { return drop(now) }
        if Int32(ready) & (POLLIN | POLLHUP) != 0, client >= 0, wantsClientBytes { readClient(space, now) }
        if client >= 0, !isLingering { writeClient(now) }
        settle(now)
    }

    func serverIsReady(_ ready: Int16, _ space: UnsafeMutableRawBufferPointer, now: Int) {
        if Int32(ready) & POLLOUT != 0 { writeServer(now) }
        if Int32(ready) & (POLLIN | POLLHUP | POLLERR) != 0, server >= 0 { readServer(space, now) }
        if client >= 0, !isLingering { writeClient(now) }
        settle(now)
    }

    private func readClient(_ space: UnsafeMutableRawBufferPointer, _ now: Int) {
        switch Transfer.receive(client, space) {
        case .blocked: return
        case .failed: return drop(now)
        case .end:
            clientHasEnded = true
            if isLingering { closeClient() }
        case .bytes(let count):
            if isLingering { return }
            lastMoved = now
            let bytes = UnsafeRawBufferPointer(rebasing: space[..<count])
            guard security != nil else { return take(Array(bytes), now) }
            do throws(TLSFailure) {
                guard let (plain, isEnd) = try security?.receive(bytes) else { return }
                if isEnd { clientHasEnded = true }
                take(plain, now)
            } catch {
                // The alert that says why.
                _ = security?.flush(client)
                linger(now)
            }
        }
    }

    /// Takes plain bytes of the client.
    private func take(_ bytes: [UInt8], _ now: Int) {
        let (phase, requests) = (guarded.phase, guarded.requests)
        do throws(RequestHead.Refusal) {
            try guarded.receive(bytes, into: &toServer)
        } catch {
            refuse(error)
        }
        if requests > 0, phase == .between || requests < guarded.requests { since = now }
        // Of a body in chunks nothing is passed on before its end.
        guard !toServer.isEmpty else { return }
        if guarded.phase != .partial { isOpening = false }
        if server < 0 { server = connectToServer() }
        if server < 0 { refuse(.init(status: 503, reason: "The server is overloaded; try again later.")) }
        writeServer(now)
    }

    private func writeServer(_ now: Int) {
        if serverIsDeaf { toServer.removeAll() }
        while server >= 0, !toServer.isEmpty {
            switch toServer.withBytes({ Transfer.send(server, $0) }) {
            case .bytes(let count): toServer.removeFirst(count)
            case .blocked, .end: return
            case .failed:
                // What it said before is still to be read.
                toServer.removeAll()
                serverIsDeaf = true
            }
        }
    }

    private func readServer(_ space: UnsafeMutableRawBufferPointer, _ now: Int) {
        guard wantsServerBytes else { return }
        switch Transfer.receive(server, space) {
        case .blocked: return
        case .end, .failed: serverHasEnded = true
        case .bytes(let count):
            if client < 0 || isLingering { return }
            lastMoved = now
            toClient.append(space[..<count])
            guarded.receiveAnswer(space[..<count], into: &toServer)
            writeServer(now)
        }
    }

    private static let goOn = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    private func writeClient(_ now: Int) {
        while client >= 0 {
            let moved: Transfer
            if let security {
                do throws(TLSFailure) { try security.encrypt(&toClient) } catch { return drop(now) }
                guard security.hasOutput else { return }
                moved = security.flush(client)
            } else {
                guard !toClient.isEmpty else { return }
                moved = toClient.withBytes { Transfer.send(client, $0) }
                if case .bytes(let count) = moved { toClient.removeFirst(count) }
            }
            switch moved {
            case .bytes: lastMoved = now
            case .blocked, .end: return
            case .failed: return drop(now)
            }
        }
    }

    // MARK: - Ends

    /// Says something in the server's place.
    private func say(_ bytes: [UInt8], _ now: Int) {
        toClient.append(bytes)
        writeClient(now)
    }

    /// Passes ends on, once what came before them has been.
    private func settle(_ now: Int) {
        if guarded.takeContinue() { say(Self.goOn, now) }
        if let refusal, !serverHasEnded, server < 0 || guarded.answersLeft == 0 {
            self.refusal = nil
            serverHasEnded = true
            say(answers.bytes(refusal, to: guarded.origin), now)
        }
        let isEnd = clientHasEnded || client < 0 || guarded.phase == .done
        if isEnd, server >= 0, toServer.isEmpty, !serverKnowsEnd {
            serverKnowsEnd = true
            shutdown(server, Int32(SHUT_WR))
        }
        if clientHasEnded, server < 0, client >= 0, toClient.isEmpty { return drop(now) }
        guard serverHasEnded else { return }
        closeServer()
        if client >= 0, !isLingering, hasToldAll { linger(now) }
    }

    /// Tells the client that this was all, and waits a little for its end.
    private func linger(_ now: Int) {
        guard client >= 0, !isLingering else { return }
        isLingering = true
        since = now
        security?.finish()
        _ = security?.flush(client)
        shutdown(client, Int32(SHUT_WR))
        if clientHasEnded { closeClient() }
        endServer()
    }

    /// The client is gone, or is not wanted any more.
    private func drop(_ now: Int) {
        closeClient()
        since = now
        endServer()
    }

    private func endServer() {
        guarded.stop()
        toServer.removeAll()
        guard server >= 0 else { return }
        // A stream could go on for long, and its sender finds out.
        if guarded.isStreaming { return closeServer() }
        if !serverKnowsEnd { shutdown(server, Int32(SHUT_WR)) }
        serverKnowsEnd = true
        if serverHasEnded { closeServer() }
    }

    /// Takes nothing more, and answers in the server's place, once the server has answered what came before.
    private func refuse(_ refusal: RequestHead.Refusal) {
        guarded.stop()
        self.refusal = refusal
    }

    private func closeClient() {
        if client >= 0 { close(client) }
        client = -1
        toClient.removeAll()
    }

    private func closeServer() {
        if server >= 0 { close(server) }
        server = -1
        toServer.removeAll()
    }
}

/// The outcome of moving bytes at a socket that never blocks.
enum Transfer: Equatable {
    case bytes(Int)
    /// Not now.
    case blocked
    /// The other side sends nothing more.
    case end
    case failed

    static func send(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Transfer {
        while true {
            let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, linux_no_signal)
            if count >= 0 { return .bytes(count) }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .blocked
            default: return .failed
            }
        }
    }

    static func receive(_ descriptor: Int32, _ space: UnsafeMutableRawBufferPointer) -> Transfer {
        while true {
            let count = recv(descriptor, space.baseAddress, space.count, 0)
            if count > 0 { return .bytes(count) }
            if count == 0 { return .end }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .blocked
            default: return .failed
            }
        }
    }
}

/// The answers that the front gives itself, with the same header fields as all others.
package struct FrontAnswers {
    private let fields: [(name: String, value: String)]
    private let origins: Origins

    package init(fields: [(name: String, value: String)], origins: Origins = Origins([])) {
        (self.fields, self.origins) = (fields, origins)
    }

    private static let phrases = [
        400: "Bad Request", 404: "Not Found", 413: "Content Too Large",
        414: "URI Too Long", 417: "Expectation Failed",
        431: "Request Header Fields Too Large", 501: "Not Implemented", 503: "Service Unavailable",
        505: "HTTP Version Not Supported",
    ]

    /// - Parameter origin: That of the page that asks.
    func bytes(_ refusal: RequestHead.Refusal, to origin: String?) -> [UInt8] {
        let error: JSON = ["code": .string(refusal.code.rawValue), "message": .string(refusal.reason)]
        let body = JSON.object(["error": error]).encoded + "\n"
        var lines = ["HTTP/1.1 \(refusal.status) \(Self.phrases[refusal.status] ?? "Refused")"]
        let shown = origins.fields(for: origin)
        let others = fields.filter { field in !shown.contains { $0.name == field.name } }
        lines += (others + shown).map { "\($0.name): \($0.value)" }
        lines += [
            "Content-Type: application/json", "Content-Length: \(body.utf8.count)",
            "Connection: close", "", body,
        ]
        return Array(lines.joined(separator: "\r\n").utf8)
    }
}
