import BusEngine
import BusJSON
import TestSupport
import Testing

/// A bus in memory whose services a test calls for one by one, to see what happens between them.
final class SlowBus {
    let engine: Engine
    /// Nil: the bus is this machine's alone.
    private let member: MemoryMember?
    private(set) var now = 1_795_000_000_000
    private let pieces = UnsafeMutableBufferPointer<OutputPiece>.allocate(capacity: 64)

    static let definition = """
        type: item
        initial: { count: 0, text: "", list: [] }
        actions:
          add: { increment: { count: 1 } }
          put: { payload: { value: any }, set: { list: { var: payload.value } } }
          write: { payload: { text: string }, set: { text: { var: payload.text } } }
        """

    init(limits: Limits = Limits(), definitions: [String] = []) throws {
        var configuration = EngineConfiguration(
            epoch: "7c1f6a52-9a43-4a7e-8c55-2f0d8e5b1a90", ownUID: 990, version: "test")
        configuration.limits = limits
        let types = try SampleTypes.load(and: [Self.definition] + definitions)
        member =
            BusMode.current == .shared
            ? try MemoryMember(configuration, types: types, MemoryLog(), now: now) : nil
        engine =
            member.map { Engine(configuration, $0.machine, isShared: true) }
            ?? Engine(configuration, types: types)
        engine.beginTurn(at: now)
        if let member {
            engine.beginLogging()
            member.serve(with: engine)
            deliver()
        }
    }

    deinit { pieces.deallocate() }

    func connect() -> ConnectionID { engine.connect(.unix(uid: 1000, pid: 1)) }

    /// What a client sends has come. Where others wait the engine has only what it is given, so this is its turn, too.
    func send(_ lines: String..., from connection: ConnectionID) {
        for line in lines {
            give(line, from: connection)
            deliver()
        }
    }

    /// What a client sends has come, and nothing else happens.
    func give(_ line: String, from connection: ConnectionID) {
        Array((line + "\n").utf8).withUnsafeBytes { engine.receive(connection, $0) }
    }

    /// The work of the first part of the turn, in which the shared log is heard.
    private(set) var workForLog = 0

    /// Time passes, and a turn begins.
    ///
    /// - Parameter isSlow: A shared log takes and gives one proposal.
    func turn(after milliseconds: Int = 1, isSlow: Bool = false) {
        let end = now + milliseconds
        // A member that is silent for longer loses its lease.
        while member != nil, end - now > MemoryMember.longestStep {
            now += MemoryMember.longestStep
            engine.beginTurn(at: now)
            deliver()
        }
        now = end
        engine.beginTurn(at: now)
        engine.tickIfDue()
        engine.relieveMemory()
        deliver(once: isSlow)
        workForLog = engine.workOfTurn
        if isSlow, member != nil { engine.beginTurn(at: now) }
        engine.takeReady { _ in }
    }

    /// On a shared bus: what is asked of the shared log comes back from there, and is on disk.
    func deliver(once: Bool = false) {
        guard let member else { return }
        var isBusy = true
        while isBusy {
            isBusy = member.work(at: now)
            for output in engine.takeOutputs() {
                switch output {
                case .entry(let entry, let ticket, let user): member.submit(entry, ticket: ticket, user: user)
                case .barrier(let ticket): member.sync(ticket: ticket)
                default: continue
                }
                isBusy = true
            }
            if let batch = engine.sealBatch() {
                engine.confirmBatch()
                if let shared = batch.shared { member.stored(through: shared.place) }
                isBusy = true
            }
            if once { break }
        }
    }

    /// A client takes what there is for it, up to some bytes.
    func take(
        from connection: ConnectionID, most: Int = .max, _ body: (UnsafeRawBufferPointer) -> Void = { _ in }
    ) {
        engine.takeReady { _ in }
        var left = most
        while left > 0, engine.hasOutput(connection) {
            var count = 0
            for piece in pieces.prefix(engine.output(of: connection, into: pieces)) {
                body(UnsafeRawBufferPointer(start: piece.base, count: piece.count))
                count += piece.count
            }
            if count == 0 { break }
            engine.sent(connection, count)
            left -= count
        }
    }

    /// What there is for a client.
    func lines(of connection: ConnectionID) throws -> [JSON] {
        var bytes: [UInt8] = []
        take(from: connection) { bytes += $0 }
        return try bytes.split(separator: 10).map { try JSON(parsing: String(decoding: $0, as: UTF8.self)) }
    }

    /// How many bytes wait for a client.
    func waiting(for connection: ConnectionID) -> Int { engine.waitingOutput(of: connection) }
}
