import BusEngine
import BusJSON
import Foundation
import TestSupport

/// A bus with an action log, in memory, behind a socket that answers line by line. Pages are short, so that turning them
/// is always tested.
///
/// Unchecked: the test prepares it, then the socket's queue alone uses it until `stop` has returned; the lock makes
/// the hand-over certain.
final class RememberingBus: @unchecked Sendable {
    private let lock = NSRecursiveLock()
    private var memory: MemoryBus
    private let log: MemoryLog?
    private var clients: [Int: MemoryClient] = [:]
    private var socket: ScriptedBus?
    private let snapshots: Set<Int>
    /// Who is at the other end of the socket.
    var socketUID = 1000
    /// Called with each line from the socket before it is answered. What it throws ends the connection.
    var onLine: (RememberingBus, String) throws -> Void = { _, _ in }
    /// Called once behind the next reply; what it causes is sent after it.
    var afterReply: ((RememberingBus) throws -> Void)?

    private static let pageSize = 3

    /// Keeps snapshots at these revisions, to which its history can be cut.
    init(
        definitions further: [String] = [], epoch: String = "7c1f6a52-9a43-4a7e-8c55-2f0d8e5b1a90",
        keepsLog: Bool = true, snapshots: Set<Int> = []
    ) throws {
        var setup = MemoryBus.Setup()
        setup.definitions = further
        log = keepsLog ? MemoryLog() : nil
        setup.log = log
        self.snapshots = snapshots
        memory = try MemoryBus(setup, epoch: epoch)
    }

    /// Opens a socket and gives its address.
    func listen() throws -> String {
        let socket = try ScriptedBus { [weak self] line in
            guard let self else { return nil }
            return lock.withLock {
                do {
                    try onLine(self, line)
                    var answers = try ask(Self.shortened(line), uid: socketUID)
                    let after = afterReply
                    afterReply = nil
                    try after?(self)
                    answers += try clients[socketUID]?.all() ?? []
                    return answers.map(\.encoded)
                } catch {
                    return nil
                }
            }
        }
        self.socket = socket
        return socket.address
    }

    /// The lines that came over the last socket.
    var received: [String] { socket?.received ?? [] }
    func stop() { socket?.stop() }

    /// The same request for a short page; what is no request stays as it is.
    private static func shortened(_ line: String) -> String {
        guard var request = (try? JSON(parsing: line))?.object, let op = request["op"]?.string,
            op == "history" || op == "get" && request["store"] == nil
        else { return line }
        request["limit"] = .int(min(request["limit"]?.int ?? .max, pageSize))
        return request.encoded
    }

    var revision: Int { memory.engine.revision }

    /// The settings that a reload names.
    var restart: [String] {
        get { lock.withLock { memory.restart } }
        set { lock.withLock { memory.restart = newValue } }
    }

    /// What a reload finds beside the samples.
    var definitions: [String] {
        get { lock.withLock { memory.definitions } }
        set { lock.withLock { memory.definitions = newValue } }
    }

    func advance(milliseconds: Int) { memory.advance(milliseconds: milliseconds) }

    /// Sends a request as somebody; gives all that comes, the reply among it.
    @discardableResult
    func ask(_ line: String, uid: Int = 1000) throws -> [JSON] {
        let client = clients[uid] ?? memory.connect(uid: uid)
        clients[uid] = client
        let answers = try client.ask(line)
        if snapshots.contains(revision) { log?.takeSnapshot(memory.engine.snapshot(), at: revision) }
        return answers
    }

    /// The bus ends and starts over with its log and other definitions beside the samples.
    func restart(definitions: [String]) throws {
        var setup = MemoryBus.Setup()
        setup.definitions = definitions
        setup.log = log
        clients = [:]
        memory = try MemoryBus(setup, epoch: memory.epoch)
    }

    /// Ends somebody's connection, with will and ephemeral stores.
    func end(uid: Int) { clients.removeValue(forKey: uid)?.close() }

    /// Forgets what stands before a snapshot.
    func forget(before revision: Int) { log?.forget(before: revision) }

    /// Takes what concerns types out of what stands before these snapshots.
    func thin(_ horizons: [String: Int]) { log?.thin(horizons) }

    /// All states now.
    func now() throws -> JSONObject {
        try question(#"{"op":"get","match":"*/*","limit":100000}"#)["states"]?.object ?? [:]
    }

    /// All commits, as the log tells them.
    func commits() throws -> [JSON] {
        try question(#"{"op":"history","limit":1000}"#)["commits"]?.array ?? []
    }

    private func question(_ line: String) throws -> JSON {
        let client = memory.connect(uid: 0)
        defer { client.close() }
        return try client.ask(line).last ?? .null
    }
}
