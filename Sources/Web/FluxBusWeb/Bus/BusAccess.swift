import BusJSON
import BusMetrics
import Dispatch
import FluxBus
import Synchronization

/// Where the bus is, and what this server asks it: whether it answers, and for its counters. Questions of one
/// kind that the server asks for itself wait for one another; nobody else waits for anybody.
final class BusAccess: Sendable {
    let address: BusAddress
    let tls: TLSOptions
    /// By which the bus knows this server, where it asks for one.
    private let token: String?
    private let patience: Duration
    private let queue = DispatchQueue(label: "fluxbus.web.questions")
    private let pings = DispatchQueue(label: "fluxbus.web.pings")
    private let asking = Mutex(Asking())
    private let kept = Kept()

    private struct Asking {
        var check: Task<Result<Void, BusError>, Never>?
    }

    /// The connection on which this server asked for counters last. Confined to the queue.
    private final class Kept: @unchecked Sendable {
        var connection: BusConnection?
    }

    /// - Parameter patience: How long the bus may take for an answer.
    init(_ address: BusAddress, _ tls: TLSOptions, token: String?, patience: Duration) {
        (self.address, self.tls, self.token, self.patience) = (address, tls, token, patience)
    }

    /// The bus knows this server without a token, by its user or its certificate. So whoever speaks through it has what it
    /// may do, and has to sign in here.
    var isKnownWithoutToken: Bool { !address.isRemote || address.takesCertificate(of: tls) }

    /// Connects for somebody, and may block. The bus is told for whom, if it knows this server without a token, or if there is
    /// one: otherwise the client's first line is the first.
    func connect(for caller: Caller, until deadline: Deadline) throws(BusError) -> BusConnection {
        let connection = try open(until: deadline)
        if caller.token != nil || isKnownWithoutToken && (caller.address != nil || caller.client != Self.name)
        {
            try connection.hello(
                token: caller.token, client: caller.client, via: caller.address, until: deadline)
        }
        return connection
    }

    /// Opens a connection. Where strangers may ask for one, they are not told where the bus is.
    private func open(until deadline: Deadline) throws(BusError) -> BusConnection {
        do throws(BusError) {
            return try BusConnection(opening: address, tls: tls, until: deadline)
        } catch {
            throw isKnownWithoutToken ? error : Self.silent
        }
    }

    /// The error for clients that must not learn the address of the bus.
    static let silent = BusError(.unreachable, "The bus does not answer.")

    /// Throws unless the bus answers a ping in time. Where it asks for a token and there is none here, a
    /// connection has to come about. Those who ask at the same time get the same answer.
    func check() async throws(BusError) {
        let task = asking.withLock { asking in
            if let task = asking.check { return task }
            let task = Task { () -> Result<Void, BusError> in
                let result = await Self.ask(on: pings) { () throws(BusError) in try self.ping() }
                self.asking.withLock { $0.check = nil }
                return result
            }
            asking.check = task
            return task
        }
        try await task.value.get()
    }

    private func ping() throws(BusError) {
        let deadline = Deadline(after: patience)
        guard isKnown else {
            _ = try BusConnection(opening: address, tls: tls, until: deadline)
            return
        }
        let connection = try BusConnection(
            to: address, token: token, client: Self.name, tls: tls, until: deadline)
        try connection.request(BusRequest("ping"), until: deadline)
    }

    /// Whether this server itself may ask for counters.
    var isKnown: Bool { isKnownWithoutToken || token != nil }

    /// What there are metrics of, asked for as this server itself.
    func ownStats() async throws(BusError) -> JSONObject {
        try await Self.ask(on: queue) { () throws(BusError) in
            if let connection = self.kept.connection {
                do throws(BusError) {
                    return try self.keptStats(connection)
                } catch  where error.code == .closed {
                    // The bus was restarted since then.
                }
            }
            return try self.keptStats(try self.connection(self.token))
        }.get()
    }

    /// The same, asked for with a token.
    func stats(token: String) async throws(BusError) -> JSONObject {
        try await Self.ask { () throws(BusError) in
            try self.stats(over: try self.connection(token))
        }.get()
    }

    /// A connection is kept as long as it answers.
    private func keptStats(_ connection: BusConnection) throws(BusError) -> JSONObject {
        kept.connection = nil
        let stats = try stats(over: connection)
        kept.connection = connection
        return stats
    }

    private func stats(over connection: BusConnection) throws(BusError) -> JSONObject {
        let deadline = Deadline(after: patience)
        return try BusMetrics.statistics { (op, members) throws(BusError) in
            try connection.request(BusRequest(op, object: members), until: deadline)
        }
    }

    private func connection(_ token: String?) throws(BusError) -> BusConnection {
        let deadline = Deadline(after: patience)
        let connection = try open(until: deadline)
        if address.isRemote { try connection.hello(token: token, client: Self.name, until: deadline) }
        return connection
    }

    private static let name = "fluxbus-web"

    /// Does what may block.
    /// - Parameter queue: By default a new one, so that a question that waits for the bus holds up no other. The global queues have
    ///   too few threads for that.
    static func ask<Answer: Sendable>(
        on queue: DispatchQueue = DispatchQueue(label: "fluxbus.web.question"),
        _ work: @escaping @Sendable () throws(BusError) -> Answer
    ) async -> Result<Answer, BusError> {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: Result(catching: work)) }
        }
    }
}
