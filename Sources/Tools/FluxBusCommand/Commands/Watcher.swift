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
        var connection = try session.connect()
        for index in watched.indices {
            let request = watched[index].begin(
                since: since, epoch: epoch, withoutFirstState: withoutFirstState)
            let reply = try connection.request(request, until: session.replyDeadline)
            watched[index].opened(reply, withoutFirstState: withoutFirstState)
        }
        while true {
            do {
                return try follow(connection)
            } catch let lost as Lost {
                // What came before the end belongs to what was seen.
                for line in sorter?.takeAll() ?? [] where remaining != 0 { try show(line) }
                if remaining == 0 { return }
                guard watched.allSatisfy(\.canResume) else { throw lost.failure }
                guard let next = try reconnect() else { return }
                connection = next
            }
        }
    }

    private func follow(_ connection: BusConnection) throws {
        while true {
            while let line = connection.receiveLineIfReady() {
                for line in try sorter?.add(line) ?? [line] {
                    try show(line)
                    if remaining == 0 { return }
                }
            }
            sorter?.begin(on: connection)
            try console.flush()
            let wakeup: BusConnection.Wakeup
            do throws(BusError) {
                // Also wakes up when the reader of our output closes it, so that `watch | head -1` ends at once.
                wakeup = try connection.wait(output: console.output.descriptor)
            } catch {
                guard error.code == .closed else { throw error }
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
    private func reconnect() throws -> BusConnection? {
        var attempts = try Reconnection(session, for: session.options.timeout)
        while true {
            if let connection = try attempts.attempt(resubscribe) { return connection }
            if isOutputClosed(after: attempts.pause) { return nil }
        }
    }

    private func resubscribe(on connection: BusConnection, until deadline: Deadline) throws {
        // An attempt that fails in the middle changes nothing of what the next one requests.
        var next = watched
        var (missed, isSame) = (0, true)
        for index in next.indices {
            let seen = next[index].revision
            let reply = try connection.request(next[index].resume(), until: deadline)
            isSame = isSame && reply["epoch"]?.string == next[index].epoch
            if let seen, let now = reply["revision"]?.int { missed = max(missed, now - seen) }
            next[index].resumed(reply)
        }
        watched = next
        try Reconnection.tell(missed: isSame ? missed : nil, on: console)
    }

    /// Waits for this many milliseconds, or until the reader of our output closes it.
    private func isOutputClosed(after pause: Int32) -> Bool {
        var entry = pollfd(fd: console.output.descriptor ?? -1, events: 0, revents: 0)
        return poll(&entry, 1, pause) > 0
    }
}
