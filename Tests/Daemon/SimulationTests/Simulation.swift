import BusEngine
import BusJSON
import TestSupport

/// A whole bus in memory: one engine, several clients, bytes in arbitrary pieces and order, all from a seed.
///
/// A turn takes lines of several clients, many at once. The model carries out each of them beside the engine, in the order
/// in which the engine took them, and says what there is at every revision.
final class Simulation {
    var random: SeededGenerator
    private var engine: Engine
    private let configuration: EngineConfiguration
    private var clients: [SimulatedClient] = []
    private var model: Model
    private var now = 1_795_000_000_000
    private var nextProcess = 4000
    /// Whether some clients do nothing but listen, all to the same.
    let hasAudience: Bool
    let epoch = "5bd1a5a6-3c1f-4d0e-9d3c-0123456789ab"
    private(set) var figures = SimulationFigures()

    init(seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        var configuration = EngineConfiguration(epoch: epoch, ownUID: 990, version: "test")
        configuration.limits.daemon.line = [1800, 4000, 1 << 20][Int(seed % 3)]
        // Short slices: reads, first states and whole lines have to wait for their turn.
        configuration.limits.daemon.sliceWork = [200, 3000, 100_000][Int((seed + seed / 3) % 3)]
        let outbox = [600, 3000, 1 << 20][Int(seed / 3 % 3)]
        configuration.limits.daemon.outbox = outbox
        self.configuration = configuration
        // Only who has room for a whole run is told together with others.
        hasAudience = outbox == 1 << 20
        let line = configuration.limits.daemon.line
        model = Model(stateLimit: min(1 << 20, line - 1024), lineLimit: line)
        engine = Engine(configuration, types: try SimulatedTypes.load())
        for _ in 0..<5 { connect(isListener: false) }
        if hasAudience { for _ in 0..<4 { connect(isListener: true) } }
    }

    func run(turns: Int) throws {
        for turn in 0..<turns {
            now += Int.random(in: 0..<40, using: &random)
            if random.oneIn(1000) { now += 40_000 }
            engine.beginTurn(at: now)
            for _ in 0..<Int.random(in: 1...4, using: &random) { try step() }
            engine.tick()
            try follow()
            if Bool.random(using: &random) {
                figures.pauses += engine.hasWork ? 1 : 0
                try serve()
            }
            engine.takeReady { _ in }
            try follow()
            try recount()
            if turn % 20 == 0 { try compareStates() }
        }
        try drain()
        try compareStates()
        figures.multicasts += engine.multicastsFormed
        for client in clients {
            try client.checkFinally(at: engine.revision, model)
            figures.add(client)
        }
    }

    private func step() throws {
        let client = clients.randomElement(using: &random)!
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<55:
            talk(client)
            try push(client)
        case 55..<70: try push(client)
        case 70..<98: try pull(client, all: client.isListener || Bool.random(using: &random))
        case 98: try restart()
        default: try reconnect(client)
        }
    }

    /// Another engine takes over, in the middle of whatever is under way; no client may notice.
    private func restart() throws {
        let bytes = engine.handOver()
        try follow()
        figures.multicasts += engine.multicastsFormed
        // Whoever follows has been told another epoch by its configuration, and may know its types in another order.
        var following = configuration
        following.epoch = "0d3a1f0e-0000-4000-8000-000000000000"
        engine = Engine(following, types: try SimulatedTypes.load().reversed())
        engine.beginTurn(at: now)
        try engine.takeOver(bytes.bytes)
        // All that waited go on, one after the other.
        try follow(several: true)
        figures.handOvers += 1
    }

    // MARK: The model

    /// Lets the model carry out what the engine has since the last call: lines of one client, as they stand.
    private func follow(several: Bool = false) throws {
        var served = 0
        for client in clients.sorted(by: { $0.connection < $1.connection }) {
            let consumed = client.given - engine.waitingInput(of: client.connection)
            // A read that was begun is begun anew by another engine.
            guard consumed > client.consumed else { continue }
            client.consumed = consumed
            let lines = client.takeExecuted(longest: model.lineLimit)
            if lines.isEmpty { continue }
            served += 1
            guard served == 1 || several else { throw Violation("Two clients were served at once.") }
            for line in lines {
                client.note(
                    try model.execute(line.bytes, from: client.connection, uid: client.uid), of: line)
            }
            figures.note(lines.count, lastIsFamiliar: engine.lastLineMatchedTemplate)
        }
        guard model.revision == engine.revision else {
            throw Violation("The bus is at revision \(engine.revision), the model at \(model.revision).")
        }
    }

    /// The states of the engine are those of the model.
    private func compareStates() throws {
        var states: [String: JSON] = [:]
        for type in ModelActions.types {
            for address in engine.addresses(ofType: type) {
                states[address] = engine.state(at: address).map(JSON.object)
            }
        }
        guard states == model.states else {
            throw Violation("The bus has \(states) at \(engine.revision), the model \(model.states)")
        }
    }

    /// What is counted in memory was added and taken off alike.
    private func recount() throws {
        let miscounts = engine.miscounts
        guard miscounts.isEmpty else { throw Violation("Memory is miscounted: \(miscounts)") }
    }

    private func serve() throws {
        _ = engine.serveNext()
        try recount()
        try follow()
    }

    // MARK: Bytes

    /// Gives the engine some of what a client has to send: any number of lines, and perhaps a part of the next.
    private func push(_ client: SimulatedClient) throws {
        guard !client.toSend.isEmpty, case .reading = engine.status(of: client.connection) else { return }
        let all = client.toSend.count
        let count = random.oneIn(3) ? Int.random(in: 1...all, using: &random) : all
        let bytes = Array(client.toSend.prefix(count))
        client.toSend.removeFirst(count)
        bytes.withUnsafeBytes { engine.receive(client.connection, $0) }
        try follow()
    }

    /// Takes some of what the engine has for a client.
    private func pull(_ client: SimulatedClient, all: Bool) throws {
        let pieces = UnsafeMutableBufferPointer<OutputPiece>.allocate(capacity: 4)
        defer { pieces.deallocate() }
        while engine.hasOutput(client.connection) {
            var bytes: [UInt8] = []
            let filled = engine.output(of: client.connection, into: pieces)
            for piece in pieces.prefix(filled) {
                bytes += Array(UnsafeRawBufferPointer(start: piece.base, count: piece.count))
            }
            let count = all ? bytes.count : Int.random(in: 1...bytes.count, using: &random)
            engine.sent(client.connection, count)
            try follow()
            do {
                try client.receive(Array(bytes.prefix(count)), model)
            } catch {
                throw Violation("\(error)\nafter these lines:\n\(client.recent)")
            }
            if !all { break }
        }
    }

    private func connect(isListener: Bool) {
        let uid = Int.random(in: 1000..<1003, using: &random)
        nextProcess += 1
        let connection = engine.connect(.unix(uid: uid, pid: nextProcess))
        let client = SimulatedClient(
            connection: connection, uid: uid, pid: nextProcess, isListener: isListener)
        client.habit = someHabit()
        clients.append(client)
        if isListener { subscribe(client, commonSubscription(), since: nil) }
    }

    /// A client goes without a word and comes back, with one subscription resumed.
    private func reconnect(_ client: SimulatedClient) throws {
        figures.add(client)
        clients.removeAll { $0 === client }
        engine.disconnect(client.connection)
        try awaitEnd(of: client)
        let mirror = client.resumable
        connect(isListener: client.isListener && mirror == nil)
        guard let mirror else { return }
        subscribe(clients.last!, mirror.request, since: (mirror.from, mirror.states))
    }

    /// The end comes at once or in its turn, and is a commit or none; nothing else of that client is carried out.
    private func awaitEnd(of client: SimulatedClient) throws {
        var mayHaveBeenNone = false
        var isDone = false
        func look() throws {
            if engine.revision == model.revision + 1 {
                guard !isDone, model.end(of: client.connection) != nil else {
                    throw Violation("Client \(client.connection) ended with a commit that is none.")
                }
                model.finish(client.connection, by: client.uid)
                isDone = true
            } else {
                mayHaveBeenNone = mayHaveBeenNone || model.end(of: client.connection) == nil
            }
        }
        try look()
        while engine.hasWork {
            let before = clients.map { engine.waitingInput(of: $0.connection) }
            _ = engine.serveNext()
            if before == clients.map({ engine.waitingInput(of: $0.connection) }) { try look() }
            try follow()
        }
        guard isDone || mayHaveBeenNone else {
            throw Violation("The end of \(client.connection) never came.")
        }
        model.forget(client.connection)
    }

    /// Everything that is on its way arrives.
    private func drain() throws {
        for _ in 0..<100_000 {
            var isBusy = false
            for client in clients {
                isBusy = isBusy || !client.toSend.isEmpty || engine.hasOutput(client.connection)
                try push(client)
                try pull(client, all: true)
            }
            while engine.hasWork {
                try serve()
                isBusy = true
            }
            if !isBusy { return }
        }
        throw Violation("The bus never came to rest.")
    }
}
