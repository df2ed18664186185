import BusJSON
import BusSystem
import FluxBus
import Glibc

/// A store that one program at a time can create, and that goes unless that program renews it.
///
/// What it guarantees: while a command runs that was started by it, no other program has the lease, as long as this one is not
/// stopped itself. So it counts the time from when it sent what the bus answered, not from when the answer came, and ends the command
/// before the bus can give the lease to another.
final class Lease {
    /// The parts of its time after which it is renewed, and after which the command is told to end. At its end it is killed.
    private static let renewal = 1.0 / 3
    private static let ending = 2.0 / 3
    /// After a renewal that the bus could not make now, the part of its time after which the next one is tried.
    private static let repetition = 1.0 / 10
    /// How long the bus may take to answer when the time to wait is over.
    private static let answering = Duration.seconds(2)

    /// The times that follow from a renewal.
    private struct Term {
        let renewal: Deadline
        let ending: Deadline
        let end: Deadline

        /// Sent now.
        init(_ ttl: Duration) {
            renewal = Deadline(after: ttl * Lease.renewal)
            ending = Deadline(after: ttl * Lease.ending)
            end = Deadline(after: ttl)
        }
    }

    private let session: CommandSession
    private let store: String
    private let ttl: String?
    private let bus: LastingConnection
    /// Nobody else's name, so that nothing of anybody else's is renewed or dropped.
    private let holder: String
    /// How often it has been asked for, in keys: after a lost answer the same one, so that it is not created twice.
    private var requests = 1
    /// The deadline of all requests that are made to get the lease.
    private var lastAnswer = Deadline.never
    private var answerDeadline: Deadline { session.replyDeadline.earlier(lastAnswer) }
    private var length = Duration.zero
    private var term = Term(.zero)

    init(_ session: CommandSession, store: String, ttl: String?) throws {
        (self.session, self.store, self.ttl) = (session, store, ttl)
        holder = "\(Self.hostName()) pid \(getpid()) \(String(UInt32.random(in: .min ... .max), radix: 16))"
        bus = try LastingConnection(session, patience: TimeSpan(duration: nil)) { _, _ in }
    }

    private static func hostName() -> String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "unknown" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    // MARK: To get it

    /// The revision at which it was got; nil, and a report, when it was not free in time.
    func acquire(within span: TimeSpan) throws -> Int? {
        let deadline = Deadline(after: span.duration)
        lastAnswer = Deadline(after: span.duration.map { $0 + Self.answering })
        // Who has it, on the connection on which that is told.
        var watched: (connection: BusConnection, mirror: BusMirror)?
        var mayBeFree = true
        while true {
            if let connection = bus.connection {
                if watched?.connection !== connection { (watched, mayBeFree) = (nil, true) }
                if mayBeFree {
                    if let token = try retrying({ try create(on: connection) }) { return token }
                    mayBeFree = false
                    if watched == nil, bus.connection != nil, !deadline.hasPassed {
                        try retrying {
                            try connection.request(
                                BusRequest("subscribe", ["store": .string(store)]), until: answerDeadline)
                            watched = (connection, BusMirror())
                        }
                    }
                }
            }
            if deadline.hasPassed { return try reportHolder(span) }
            try bus.wait(reading: true, until: deadline)
            while let line = bus.nextLine() {
                guard case .event(_, let event) = try BusMessage(parsing: line) else { continue }
                if try watched?.mirror.fold(event) != nil { mayBeFree = watched?.mirror.states[store] == nil }
            }
            for signal in bus.signals.arrived() where signal != SIGCHLD {
                throw ProgramEnd(status: 128 + signal)
            }
        }
    }

    /// Nil when the connection was lost; it is being made again.
    @discardableResult
    private func retrying<Value>(_ work: () throws -> Value?) throws -> Value? {
        do {
            return try work()
        } catch let error as BusError where Reconnection.mayPass(error) {
            try bus.lose()
            return nil
        }
    }

    /// Nil when somebody else has it.
    private func create(on connection: BusConnection) throws -> Int? {
        let reply: JSONObject
        do {
            reply = try connection.request(
                BusRequest(
                    "create",
                    [
                        "store": .string(store), "state": ["holder": .string(holder)],
                        "ttl": ttl.map(DispatchTimeArgument.length), "key": .string("\(holder) \(requests)"),
                    ]), until: answerDeadline)
        } catch {
            guard error.code == .exists else { throw Self.explained(error) }
            let (isThere, ttl) = try timeToLive(on: connection)
            guard isThere, ttl == nil else { return nil }
            throw CommandFailure(
                .refused,
                "\(store) is there and has no ttl, so it is no lease and does not become free; name another store."
            )
        }
        guard let milliseconds = ClockText.milliseconds(try timeToLive(on: connection).ttl.map(JSON.double))
        else {
            release()
            throw CommandFailure(
                .refused,
                "\(store) has no ttl, so nobody could get it after a crash: give it one with --ttl, or its type."
            )
        }
        length = .milliseconds(milliseconds)
        // Made now, it shows that the store is still this one, and can be renewed, before anything relies on it.
        let first = Term(length)
        do {
            try connection.request(renewal, until: answerDeadline)
        } catch {
            if Reconnection.mayPass(error) { throw error }
            release()
            // The answer told of one that has ended since.
            requests += 1
            if [.unknownStore, .rejected].contains(error.code) { return nil }
            throw Self.explained(error)
        }
        term = first
        return reply["revision"]?.int ?? 0
    }

    private func timeToLive(on connection: BusConnection) throws(BusError) -> (isThere: Bool, ttl: Double?) {
        let request = BusRequest("stores", ["match": .string(store)])
        let found = try connection.request(request, until: answerDeadline)["stores"]?.array?.first
        return (found != nil, found?["ttl"]?.double)
    }

    private static func explained(_ error: BusError) -> any Error {
        guard [.invalidRequest, .invalidPayload, .unknownAction].contains(error.code),
            !error.message.contains("`ttl`")
        else { return error }
        let failure = CommandFailure(error)
        return CommandFailure(
            failure.status,
            failure.message
                + " A lease needs a type with a text `holder` in its state, and an action `renew` with the same."
        )
    }

    private var renewal: BusRequest {
        BusRequest(
            "dispatch",
            ["store": .string(store), "action": "renew", "payload": ["holder": .string(holder)]])
    }

    private func reportHolder(_ span: TimeSpan) throws -> Int? {
        var reply: JSONObject?
        do throws(BusError) {
            guard let connection = bus.connection else { throw BusError(.closed, "It is lost.") }
            reply = try connection.request(
                BusRequest("get", ["store": .string(store)]), until: answerDeadline)
        } catch {
            if Reconnection.mayPass(error) {
                throw CommandFailure(
                    .unreachable, "\(store) can't be had: the bus did not answer within \(span).")
            }
        }
        let holder = reply?["states"]?[store]?["holder"]?.string.map { "; its holder is \($0)" } ?? ""
        session.console.report(CommandFailure(.temporary, "\(store) was not free within \(span)\(holder)."))
        return nil
    }

    // MARK: While it is held

    /// Runs a command, and gives its status. Throws when the lease was lost, after the command has been ended.
    func run(_ command: [String], token: Int) throws -> Int32 {
        let child: ChildProcess
        do throws(SystemError) {
            child = try ChildProcess(
                command, variables: ["FLUXBUS_STORE": store, "FLUXBUS_REVISION": "\(token)"],
                // On a terminal it stays in the foreground.
                leadsGroup: isatty(STDIN_FILENO) == 0)
        } catch {
            release()
            session.console.report(
                CommandFailure(.usage, "\(command[0]) can't be started: \(error.reason)."))
            return CommandRuns.status(of: error)
        }
        do {
            try hold(until: child)
        } catch {
            ChildProcess.end(
                [child], until: term.end.earlier(Deadline(after: CommandRuns.grace)), bus.signals)
            throw CommandFailure(
                .unreachable, "\(store) was lost, and the command was ended: \(Self.reason(error))")
        }
        release()
        return child.status
    }

    private static func reason(_ error: any Error) -> String {
        switch (error as? BusError)?.code {
        case .unknownStore?: "somebody has dropped it."
        case .rejected?: "it has another holder."
        case .timedOut?: "no bus answered for two thirds of its ttl."
        default: CommandFailure(of: error).message
        }
    }

    /// Renews it until the command has exited. Throws when it is lost.
    private func hold(until child: ChildProcess) throws {
        var next = term.renewal
        var sent: (id: Int, term: Term)?
        var connection = bus.connection
        while !child.hasExited {
            // What was sent on another one is not answered any more.
            if bus.connection !== connection {
                (connection, sent, next) = (bus.connection, nil, Deadline(after: .zero))
            }
            if term.ending.hasPassed { throw BusError(.timedOut, "No bus answered in time.") }
            if sent == nil, next.hasPassed, let connection {
                // Counted from before it is sent.
                let term = Term(length)
                sent = (connection.queue(renewal), term)
            }
            let canRenew = sent == nil && connection != nil
            let due = canRenew ? next.earlier(term.ending) : term.ending
            try bus.wait(reading: true, until: due)
            while let line = bus.nextLine() {
                guard case .reply(let reply) = try BusMessage(parsing: line), let renewal = sent,
                    reply["id"] == .int(renewal.id)
                else { continue }
                sent = nil
                if reply["ok"] == true {
                    term = renewal.term
                    next = term.renewal
                } else {
                    let error = BusError(reply: reply["error"])
                    guard Reconnection.mayPass(error) || error.code == .limit else { throw error }
                    next = Deadline(after: length * Self.repetition)
                }
            }
            for signal in bus.signals.arrived() where signal != SIGCHLD { child.send(signal) }
        }
    }

    /// Drops it, if it is still this one. The answer to a renewal may come before.
    private func release() {
        let mine: JSON = ["==": [["var": "holder"], .string(holder)]]
        let request = BusRequest("drop", ["store": .string(store), "if": mine])
        do throws(BusError) {
            guard let connection = bus.connection else {
                throw BusError(.closed, "The connection to the bus is lost.")
            }
            let deadline = session.replyDeadline.earlier(Deadline(after: length))
            let id = connection.queue(request)
            try connection.flush(until: deadline)
            var reply: JSONObject = [:]
            while reply["id"] != .int(id) {
                let line = try connection.receiveLine(until: deadline)
                if case .reply(let next) = try BusMessage(parsing: line) { reply = next }
            }
            if reply["ok"] != true { throw BusError(reply: reply["error"]) }
        } catch {
            try? session.console.note(
                "\(store) ends by itself, within its ttl: \(CommandFailure(error).message)")
        }
    }
}
