import BusCluster
import BusCommands
import TestSupport

/// The clients of a simulated bus: what they ask for, and what they were told.
struct ClusterClients {
    private struct Client {
        let name: String
        /// A user of one machine, who stays there; others move.
        let isLocal: Bool
        var node: Int
        /// The number of its connection.
        var session: Int
        var hasWill = false
        var outstanding = 0
    }

    private struct Try {
        let operation: Int
        let client: Int
        let node: Int
    }

    private(set) var operations: [Operation] = []
    private var clients: [Client] = []
    private var tries: [Int: Try] = [:]
    /// Operations to be sent again, when.
    private var again: [(due: Int, operation: Int, client: Int)] = []
    private var generator: SeededGenerator
    private var nextSession = 0
    private var nextTicket = 0
    private var localKeys: [Int: Int] = [:]
    /// The highest revision that anybody was answered, by epoch.
    private var answered: [String: Int] = [:]
    private var keys: [Int: String] = [:]
    /// Pairs that one session sent in this order.
    private(set) var pairs: [(Int, Int)] = []

    init(seed: UInt64, nodes: Int) {
        generator = SeededGenerator(seed: seed)
        for index in 0..<5 {
            clients.append(
                Client(name: "t\(index)", isLocal: false, node: index % nodes, session: makeSession()))
        }
        for index in 0..<2 {
            clients.append(Client(name: "u\(index)", isLocal: true, node: index, session: makeSession()))
        }
    }

    private mutating func makeSession() -> Int {
        nextSession += 1
        return nextSession
    }

    var isDone: Bool {
        again.isEmpty && operations.allSatisfy { $0.kind != .keyed || $0.answered != nil } && tries.isEmpty
    }

    /// Wills whose clients have kept the connection by which they left them.
    var keptWills: [Operation] {
        operations.filter { will in
            guard will.kind == .will, !will.isCleared, case .done? = will.answer else { return false }
            return clients.contains { $0.session == will.session } && !mayLoseItsName(will)
        }
    }

    /// Whether a late request of an earlier connection may have taken the name of the will's session.
    private func mayLoseItsName(_ will: Operation) -> Bool {
        operations.contains {
            $0.kind == .named && $0.client == will.client && $0.session != will.session
                && $0.answered ?? .max >= will.started
        }
    }

    // MARK: - Asking

    mutating func act(on nodes: [ClusterNode], at now: Int) throws {
        for index in clients.indices where generator.oneIn(12) {
            if nodes[clients[index].node].isUnresponsive { continue }
            if !nodes[clients[index].node].isUp { try move(index, on: nodes, at: now) }
            let node = nodes[clients[index].node]
            guard node.isUp, !node.isUnresponsive, clients[index].outstanding < 3 else { continue }
            switch Int.random(in: 0..<26, using: &generator) {
            case 0..<9: try begin(.keyed, index, nodes, now)
            case 9..<13: try begin(.once, index, nodes, now)
            case 13..<15:
                let first = try begin(.once, index, nodes, now)
                pairs.append((first, try begin(.once, index, nodes, now)))
            case 15..<17: try begin(.guarded, index, nodes, now)
            case 17 where !clients[index].hasWill:
                clients[index].hasWill = true
                try begin(.will, index, nodes, now)
            case 18: try begin(.ephemeral, index, nodes, now)
            case 19: try begin(.timer, index, nodes, now)
            case 20:
                // It may get a session in which there is a will already.
                clients[index].hasWill = true
                try begin(.named, index, nodes, now)
            case 21..<23: try begin(.sync, index, nodes, now)
            case 23..<25: try clear(index, nodes, now)
            default: try move(index, on: nodes, at: now)
            }
        }
    }

    /// A client takes back the will of its session, whichever of its connections has left it.
    private mutating func clear(_ index: Int, _ nodes: [ClusterNode], _ now: Int) throws {
        for number in operations.indices
        where operations[number].kind == .will && operations[number].client == clients[index].name {
            operations[number].isCleared = true
        }
        clients[index].hasWill = false
        try begin(.cleared, index, nodes, now)
    }

    /// A client's connection ends, and it connects anew, mostly elsewhere.
    private mutating func move(_ index: Int, on nodes: [ClusterNode], at now: Int) throws {
        if nodes[clients[index].node].isUp { try begin(.ended, index, nodes, now) }
        if !clients[index].isLocal { clients[index].node = Int.random(in: nodes.indices, using: &generator) }
        (clients[index].session, clients[index].hasWill) = (makeSession(), false)
    }

    @discardableResult
    private mutating func begin(
        _ kind: Operation.Kind, _ client: Int, _ nodes: [ClusterNode], _ now: Int
    ) throws -> Int {
        let number = operations.count
        var operation = Operation(mark: number, kind: kind, client: clients[client].name, started: now)
        (operation.session, operation.node) = (clients[client].session, clients[client].node)
        operation.seen = answered
        operations.append(operation)
        if kind == .keyed {
            // Users of two machines may well choose the same key.
            let own = localKeys[client, default: 0]
            localKeys[client] = own + 1
            keys[number] = clients[client].isLocal ? "key-\(own)" : "\(clients[client].name)-\(number)"
        }
        clients[client].outstanding += 1
        try send(number, client, nodes)
        return number
    }

    private mutating func send(_ number: Int, _ client: Int, _ nodes: [ClusterNode]) throws {
        nextTicket += 1
        tries[nextTicket] = Try(operation: number, client: client, node: clients[client].node)
        operations[number].tries += 1
        let node = nodes[clients[client].node]
        if operations[number].kind == .sync { return try node.sync(nextTicket) }
        try node.submit(entry(number, clients[client]), nextTicket)
    }

    private func entry(_ number: Int, _ client: Client) -> ClusterEntry {
        let by =
            client.isLocal ? #"{"uid":1000,"pid":\#(number)}"# : #"{"token":"\#(client.name)","address":"a"}"#
        func request(_ line: String) -> ClusterEntry {
            ClusterEntry(session: client.session, by: Array(by.utf8), .request(Array(line.utf8)))
        }
        let add = #""action":"add","payload":{"mark":\#(number)}"#
        let store = "counter/\(["a", "b"][number % 2])"
        switch operations[number].kind {
        case .keyed where number % 4 == 0:
            // Committed a second time it would be refused, as the store is there.
            let steps = #"{"op":"create","store":"counter/k\#(number)"},{"store":"\#(store)",\#(add)}"#
            return request(#"{"op":"dispatch","actions":[\#(steps)],"key":"\#(keys[number]!)"}"#)
        case .keyed:
            return request(#"{"op":"dispatch","store":"\#(store)",\#(add),"key":"\#(keys[number]!)"}"#)
        case .once: return request(#"{"op":"dispatch","type":"counter",\#(add)}"#)
        case .guarded where number % 2 == 0:
            let steps =
                #"{"op":"create","store":"counter/g\#(number)"},{"op":"drop","store":"counter/g\#(number)"}"#
            let last = #"{"store":"counter/c",\#(add),"if":"count < \#(number / 2)"}"#
            return request(#"{"op":"dispatch","actions":[\#(steps),\#(last)],"return":"states"}"#)
        case .guarded:
            let payload = #"{"mark":\#(number),"limit":\#(number / 2)}"#
            return request(
                #"{"op":"dispatch","store":"counter/c","action":"addBelow","payload":\#(payload)}"#)
        case .will: return request(#"{"op":"will","actions":[{"store":"counter/w",\#(add)}]}"#)
        case .cleared: return request(#"{"op":"will","actions":[]}"#)
        case .ephemeral: return request(#"{"op":"create","store":"counter/e\#(number)","ephemeral":true}"#)
        case .timer:
            return request(
                #"{"op":"dispatch","store":"counter/t",\#(add),"in":\#(Double(number % 9) / 10 + 0.1)}"#)
        case .named:
            return ClusterEntry(
                session: client.session, by: Array(by.utf8), .sessionNamed("s-\(client.name)", linger: 900))
        case .ended: return ClusterEntry(session: client.session, by: Array(by.utf8), .sessionEnded)
        case .sync: preconditionFailure("A barrier is no entry.")
        }
    }

    // MARK: - Being told

    mutating func take(from node: ClusterNode, at now: Int) throws {
        let told = node.told
        node.told = []
        let epoch = node.member?.replica.machine.epoch ?? ""
        for output in told {
            switch output {
            case .answered(let ticket, let outcome, _): answer(ticket, outcome, epoch, now)
            case .failed(let ticket, let failure): fail(ticket, failure.outcome, now)
            case .synced(let ticket, let revision):
                guard let one = finish(ticket) else { continue }
                operations[one.operation].answered = now
                operations[one.operation].answer = .done(revision: revision, isDuplicate: false)
                operations[one.operation].epoch = epoch
            default: break
            }
        }
    }

    private mutating func finish(_ ticket: Int) -> Try? {
        guard let one = tries.removeValue(forKey: ticket) else { return nil }
        clients[one.client].outstanding -= 1
        return one
    }

    private mutating func answer(_ ticket: Int, _ outcome: CommandOutcome, _ epoch: String, _ now: Int) {
        guard let one = finish(ticket), operations[one.operation].answered == nil else { return }
        operations[one.operation].answered = now
        operations[one.operation].epoch = epoch
        switch outcome {
        case .done(let reply):
            operations[one.operation].answer = .done(
                revision: reply.revision, isDuplicate: reply.isDuplicate)
            answered[epoch] = max(answered[epoch] ?? 0, reply.revision)
        case .refused(let error): operations[one.operation].answer = .refused(error.code.rawValue)
        }
    }

    private mutating func fail(_ ticket: Int, _ outcome: MemberFailure.Outcome, _ now: Int) {
        guard let one = finish(ticket) else { return }
        if operations[one.operation].kind == .keyed {
            again.append((now + Int.random(in: 10...300, using: &generator), one.operation, one.client))
        } else if operations[one.operation].kind != .sync, outcome == .none {
            operations[one.operation].isSaidToBeNone = true
        }
    }

    /// What was asked of it is unknown.
    mutating func noteUnheard(of node: ClusterNode, at now: Int) {
        node.told = []
        for (ticket, one) in tries.sorted(by: { $0.key < $1.key }) where "m\(one.node)" == node.name {
            fail(ticket, .unknown, now)
        }
    }

    /// What was asked of it is unknown; its connections have ended.
    mutating func noteCrash(of node: ClusterNode, at now: Int) {
        noteUnheard(of: node, at: now)
        for index in clients.indices where "m\(clients[index].node)" == node.name {
            (clients[index].session, clients[index].hasWill) = (makeSession(), false)
        }
    }

    /// Repeats what has a key.
    mutating func proceed(on nodes: [ClusterNode], at now: Int) throws {
        for item in again where item.due <= now && !nodes[clients[item.client].node].isUnresponsive {
            if !clients[item.client].isLocal {
                try move(item.client, on: nodes, at: now)
            }
            let node = nodes[clients[item.client].node]
            guard node.isUp, !node.isUnresponsive else { continue }
            again.removeAll { $0.operation == item.operation }
            clients[item.client].outstanding += 1
            try send(item.operation, item.client, nodes)
        }
    }
}
