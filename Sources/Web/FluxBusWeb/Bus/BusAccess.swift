import BusJSON
import BusMetrics
import Dispatch
import FluxBus
import Synchronization

/// Where the bus is, and what this server itself asks it: whether it answers, and for its counters. Questions wait for one
/// another on one queue, which may block, and those who ask the same at the same time get the same answer.
final class BusAccess: Sendable {
    let address: BusAddress
    let tls: TLSOptions
    /// By which the bus knows this server, where it asks for one.
    private let token: String?
    private let patience: Duration
    private let queue = DispatchQueue(label: "fluxbus.web.questions")
    private let asking = Mutex(Asking())
    private let kept = Kept()

    private struct Asking {
        var check: Task<Result<Void, BusError>, Never>?
    }

    /// The connection on which counters were asked for last, and by whose token. Confined to the queue.
    private final class Kept: @unchecked Sendable {
        var connection: BusConnection?
        var token: String?

        func isFor(_ other: String?) -> Bool {
            guard let token, let other else { return token == nil && other == nil }
            return Secret.isSame(token.utf8, other.utf8)
        }
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
        let connection = try BusConnection(opening: address, tls: tls, until: deadline)
        if caller.token != nil || isKnownWithoutToken && (caller.address != nil || caller.client != Self.name)
        {
            try connection.hello(
                token: caller.token, client: caller.client, via: caller.address, until: deadline)
        }
        return connection
    }

    /// Throws unless the bus answers a ping in time. Where it asks for a token and there is none here, a connection has to
    /// come about.
    func check() async throws(BusError) {
        let task = asking.withLock { asking in
            if let task = asking.check { return task }
            let task = Task { () -> Result<Void, BusError> in
                let result = await ask { () throws(BusError) in try self.ping() }
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

    /// The counters, as this server itself.
    func ownStats() async throws(BusError) -> JSONObject { try await stats(token: token) }

    /// What there are metrics of, asked for with this token; nil: as this server itself.
    func stats(token: String?) async throws(BusError) -> JSONObject {
        try await ask { () throws(BusError) in
            if self.kept.connection != nil, self.kept.isFor(token) {
                do throws(BusError) {
                    return try self.keptStats()
                } catch  where error.code == .closed {
                    // The bus was restarted since then.
                }
            }
            self.kept.connection = nil
            self.kept.connection = try BusConnection(
                to: self.address, token: token, client: Self.name, tls: self.tls,
                until: Deadline(after: self.patience))
            self.kept.token = token
            return try self.keptStats()
        }.get()
    }

    private func keptStats() throws(BusError) -> JSONObject {
        guard let connection = kept.connection else { return JSONObject() }
        do throws(BusError) {
            let deadline = Deadline(after: patience)
            return try BusMetrics.statistics { (op, members) throws(BusError) in
                try connection.request(BusRequest(op, object: members), until: deadline)
            }
        } catch {
            kept.connection = nil
            throw error
        }
    }

    private static let name = "fluxbus-web"

    private func ask<Answer: Sendable>(
        _ work: @escaping @Sendable () throws(BusError) -> Answer
    ) async -> Result<Answer, BusError> {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: Result(catching: work)) }
        }
    }
}
