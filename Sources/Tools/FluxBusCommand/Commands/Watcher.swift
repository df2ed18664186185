import BusJSON
import FluxBus
import Glibc

/// Receives a connection's events and shows them until the output, the requested number or the bus ends.
///
/// For programs, lines are passed on as the bus sent them. For people, a mirror per subscription gives the previous
/// values. A connection that is lost, or that an ending daemon closes, is opened again within the time allowed, and
/// every subscription continues after what was seen of it.
final class Watcher {
    /// The connection is gone, and another one may serve.
    private struct Lost: Error { let failure: CommandFailure }

    private let session: CommandSession
    private var remaining: Int?
    /// With actions beside changes: puts them in order.
    private var sorter: EventSorter?
    /// By `sub`, counted from 1: the same on every connection.
    private var watched: [WatchedStores]
    /// How many of them the bus has answered on this connection, and what is done with a reply.
    private var answered = 0
    private var takeReply: (inout WatchedStores, JSONObject) -> Void = { _, _ in }
    /// The attempts to connect again, until all continue after a lost connection, or something more has been shown.
    private var attempts: Reconnection?
    private var text: ChangeText

    private var console: Console { session.console }

    /// Ends after `limit` events; never without one.
    init(session: CommandSession, _ watched: [WatchedStores], limit: Int?, sorting: Bool = false) {
        self.session = session
        self.watched = watched
        remaining = limit
        sorter = sorting ? EventSorter() : nil
        text = ChangeText(
            style: session.console.style, width: session.console.width, users: session.users)
    }

    func run(since: Int?, epoch: String?, withoutFirstState: Bool) throws {
        let requests = watched.indices.map {
            watched[$0].begin(since: since, epoch: epoch, withoutFirstState: withoutFirstState)
        }
        var connection = try session.connect()
        try subscribe(requests, on: connection, until: session.replyDeadline) {
            $0.opened($1, withoutFirstState: withoutFirstState)
        }
        while true {
            do {
                return try follow(connection)
            } catch let lost as Lost {
                // What came before the end belongs to what was seen.
                for line in sorter?.takeAll() ?? [] where remaining != 0 { try show(line) }
                if remaining == 0 { return }
                guard watched.allSatisfy(\.canResume) else { throw lost.failure }
                guard let next = try reconnect(after: lost) else { return }
                connection = next
            }
        }
    }

    /// Sends subscriptions, and returns the reply to the first one. The bus answers each of the others only after it has sent the
    /// past of the one before, which may be long and is not kept in memory: so their replies come between events.
    @discardableResult
    private func subscribe(
        _ requests: [BusRequest], on connection: BusConnection, until deadline: Deadline,
        _ takeReply: @escaping (inout WatchedStores, JSONObject) -> Void
    ) throws -> JSONObject {
        let reply = try connection.request(requests[0], until: deadline)
        for request in requests.dropFirst() { connection.queue(request) }
        self.takeReply = takeReply
        takeReply(&watched[0], reply)
        answered = 1
        return reply
    }

    /// Takes a reply to a subscription; false for any other line.
    private func isReply(_ line: [UInt8]) throws -> Bool {
        guard answered < watched.count, case .reply(let reply) = try BusMessage(parsing: line) else {
            return false
        }
        guard reply["ok"]?.bool == true else {
            let error = BusError(reply: reply["error"])
            guard Reconnection.mayPass(error) else { throw error }
            throw Lost(failure: CommandFailure(error))
        }
        takeReply(&watched[answered], reply)
        answered += 1
        if answered == watched.count { attempts = nil }
        return true
    }

    private func follow(_ connection: BusConnection) throws {
        while true {
            while let line = connection.receiveLineIfReady() {
                if try isReply(line) { continue }
                for line in try sorter?.add(line) ?? [line] {
                    try show(line)
                    if remaining == 0 { return }
                }
            }
            sorter?.begin(on: connection)
            try console.flush()
            let deadline = answered < watched.count ? session.replyDeadline : .never
            let wakeup: BusConnection.Wakeup
            do throws(BusError) {
                // Also wakes up when the reader of our output closes it, so that `watch | head -1` ends at once.
                wakeup = try connection.wait(output: console.output.descriptor, until: deadline)
                if !wakeup.incoming, deadline.hasPassed {
                    throw BusError(.timedOut, "The bus did not answer in the time allowed.")
                }
            } catch {
                guard Reconnection.mayPass(error) else { throw error }
                throw Lost(failure: CommandFailure(error))
            }
            if wakeup.outputClosed { return }
        }
    }

    private func show(_ line: [UInt8]) throws {
        guard case .event(let name, let event) = try BusMessage(parsing: line) else { return }
        let place = event["sub"]?.int.map { $0 - 1 } ?? -1
        if watched.indices.contains(place), !watched[place].isNew(name, event) { return }
        switch console.form {
        case .lines: try console.output.write(line: line)
        case .text: try show(name, event, place)
        }
        if name == "goodbye" { throw Self.ending(event) }
        attempts = nil
        if name != "bookmark", event["more"]?.bool != true, let left = remaining { remaining = left - 1 }
    }

    private func show(_ name: String, _ event: JSONObject, _ place: Int) throws {
        let now = session.context.now()
        text.width = console.width
        switch name {
        case "change", "bookmark":
            guard watched.indices.contains(place), let change = try watched[place].mirror.fold(event) else {
                return
            }
            let cause = event["cause"]
            let time = ClockText.milliseconds(cause?["time"]) ?? now
            for line in text.lines(change, cause: cause, at: time) { try console.line(line) }
        case "action": try console.line(text.line(action: event, at: now))
        case "gap": try console.line(text.note("older actions are no longer kept", at: now))
        default: break
        }
    }

    /// The bus says why it ends; the status says whether a retry helps. A daemon that ends may come back.
    private static func ending(_ event: JSONObject) -> any Error {
        let reason = event["code"]?.string ?? "closed"
        let message = event["message"]?.string ?? "The bus ended the connection (\(reason))."
        switch reason {
        case "slow_consumer", "limit": return CommandFailure(.temporary, message)
        case "protocol": return CommandFailure(.internal, message)
        default: return Lost(failure: CommandFailure(.unreachable, message))
        }
    }

    // MARK: - After a lost connection

    /// Another connection with the same subscriptions; nil when the reader of our output has closed it.
    private func reconnect(after lost: Lost) throws -> BusConnection? {
        var attempts = try self.attempts ?? Reconnection(session, for: session.options.timeout)
        if self.attempts != nil { try attempts.fail(lost.failure.message) }
        while true {
            if isOutputClosed(after: attempts.pause) { return nil }
            if let connection = try attempts.attempt(resubscribe) {
                self.attempts = answered < watched.count ? attempts : nil
                return connection
            }
        }
    }

    private func resubscribe(on connection: BusConnection, until deadline: Deadline) throws {
        let (seen, epochs) = (watched.compactMap(\.revision).min(), Set(watched.map(\.epoch)))
        // If the attempt fails, the next one requests the same.
        let requests = watched.indices.map { watched[$0].resume() }
        let reply = try subscribe(requests, on: connection, until: deadline) { $0.resumed($1) }
        let missed = seen.flatMap { seen in reply["revision"]?.int.map { max(0, $0 - seen) } } ?? 0
        try Reconnection.tell(
            missed: epochs == [reply["epoch"]?.string] ? missed : nil, on: console)
    }

    /// Waits for this many milliseconds, or until the reader of our output closes it.
    private func isOutputClosed(after pause: Int32) -> Bool {
        var entry = pollfd(fd: console.output.descriptor ?? -1, events: 0, revents: 0)
        return poll(&entry, 1, pause) > 0
    }
}
