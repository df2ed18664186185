import BusJSON
import Foundation
import Synchronization
import TestServer
import TestSupport

/// Clients on all members of a bus, each a thread that asks for one thing after another, goes to another member when its own
/// fails it, and writes down what it was told.
final class ClusterLoad: Sendable {
    struct Figures: Sendable {
        var answered = 0
        var unavailable = 0
        var connectionsLost = 0
        var duplicates = 0
    }

    private struct Contents {
        var operations: [BusOperation] = []
        var figures = Figures()
        var epochs: Set<String> = []
        var last = Date()
        var longestGap = 0.0
        var running = 0
    }

    let cluster: TestCluster
    private let seed: UInt64
    private let contents = Mutex(Contents())
    private let isOver = Atomic(false)
    /// The highest revision that anybody was answered.
    private let highest = Atomic(0)
    private let began = Date()

    init(_ cluster: TestCluster, clients: Int, seed: UInt64) {
        self.cluster = cluster
        self.seed = seed
        contents.withLock { $0.running = clients }
        for number in 0..<clients {
            Thread.detachNewThread { [self] in
                let client = LoadClient(number, self, seed: seed &+ UInt64(number) &* 7919)
                client.run()
                contents.withLock { contents in
                    contents.operations += client.operations
                    contents.running -= 1
                }
            }
        }
    }

    /// Ends it, once each client has been answered what it has asked for with a key.
    func finish() throws -> [BusOperation] {
        isOver.store(true, ordering: .relaxed)
        try TestCluster.wait(until: "end of the load", seconds: 90) {
            contents.withLock { $0.running == 0 }
        }
        return contents.withLock { $0.operations }
    }

    var figures: Figures { contents.withLock { $0.figures } }
    var epochs: Set<String> { contents.withLock { $0.epochs } }
    var highestAnswered: Int { highest.load(ordering: .sequentiallyConsistent) }

    /// The longest time in which nobody was answered, since this was asked for last, in seconds.
    func takeLongestGap() -> Double {
        contents.withLock { contents in
            defer { contents.longestGap = 0 }
            return max(contents.longestGap, Date().timeIntervalSince(contents.last))
        }
    }

    // MARK: - For its clients

    var goesOn: Bool { !isOver.load(ordering: .relaxed) }
    var seconds: Double { Date().timeIntervalSince(began) }

    func note(epoch: String) { contents.withLock { _ = $0.epochs.insert(epoch) } }
    func noteLoss() { contents.withLock { $0.figures.connectionsLost += 1 } }
    func noteUnavailable() { contents.withLock { $0.figures.unavailable += 1 } }

    func note(revision: Int, isCommit: Bool, isDuplicate: Bool) {
        highest.max(revision, ordering: .sequentiallyConsistent)
        contents.withLock { contents in
            contents.figures.answered += 1
            if isDuplicate { contents.figures.duplicates += 1 }
            guard isCommit else { return }
            let now = Date()
            contents.longestGap = max(contents.longestGap, now.timeIntervalSince(contents.last))
            contents.last = now
        }
    }
}

/// One client of the load.
private final class LoadClient {
    private let number: Int
    private let load: ClusterLoad
    private var random: SeededGenerator
    private var member: Int
    private var connection: LineClient?
    /// What the present connection was answered last.
    private var known = 0
    private var lastMark = 0
    private var lastRequest = 0
    private(set) var operations: [BusOperation] = []

    /// A member that does not answer for so many seconds is left: it may have been stopped.
    private static let patience = 4
    /// A request with a key is given up so many seconds after the end of the load.
    private static let latest = 60.0

    init(_ number: Int, _ load: ClusterLoad, seed: UInt64) {
        self.number = number
        self.load = load
        random = SeededGenerator(seed: seed)
        member = number % load.cluster.members.count
    }

    func run() {
        while load.goesOn {
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<60: keyed()
            case 60..<66: once()
            case 66..<76: ask(.fresh)
            case 76..<82: ask(.sync)
            case 82..<97: ask(.read)
            case 97..<98: leave()
            default: move()
            }
        }
        leave()
    }

    // MARK: - Requests

    private func keyed() {
        var operation = operation(.keyed)
        let line = dispatch(operation, key: true)
        var end: Date?
        while true {
            if let reply = request(line) {
                let answer = answer(reply, isCommit: true)
                guard case .refused("unavailable", _) = answer else {
                    operation.answers.append(answer)
                    break
                }
                if Bool.random(using: &random) { move() }
            }
            if !load.goesOn {
                let latest = end ?? Date().addingTimeInterval(Self.latest)
                end = latest
                if Date() > latest { break }
            }
        }
        // Now and then the answer is thought to be lost, and the next member is asked again.
        if Int.random(in: 0..<12, using: &random) == 0 {
            move()
            if let reply = request(line) {
                let answer = answer(reply, isCommit: true)
                if case .refused("unavailable", _) = answer {} else { operation.answers.append(answer) }
            }
        }
        operations.append(operation)
    }

    private func once() {
        var operation = operation(.once)
        if let reply = request(dispatch(operation, key: false)) {
            operation.answers = [answer(reply, isCommit: true)]
        }
        operations.append(operation)
    }

    private func ask(_ kind: BusOperation.Kind) {
        // The state of a member is compared with what it has told itself.
        guard connected() != nil else { return }
        let store = ledger()
        var operation = BusOperation(
            kind: kind, mark: "", store: kind == .sync ? nil : store,
            least: kind == .read ? known : load.highestAnswered)
        let fresh = kind == .fresh ? #","fresh":true"# : ""
        let line =
            kind == .sync
            ? #""op":"sync""# : #""op":"get","store":"\#(store)","select":["/count","/last"]\#(fresh)"#
        guard let reply = request(line) else { return }
        let answer = answer(reply, isCommit: false)
        if case .refused("unavailable", _) = answer { return }
        operation.answers = [answer]
        if let state = reply["states"]?[store] {
            operation.shown = .init(count: state["count"]?.int ?? -1, last: state["last"]?.string ?? "?")
        }
        operations.append(operation)
    }

    /// Now and then it goes to every ledger.
    private func operation(_ kind: BusOperation.Kind) -> BusOperation {
        lastMark += 1
        let isGlobal = Int.random(in: 0..<100, using: &random) == 0
        return BusOperation(
            kind: kind, mark: "c\(number).\(lastMark)", store: isGlobal ? nil : ledger(),
            least: load.highestAnswered)
    }

    /// Others come into use as time goes by, so that none grows without end.
    private func ledger() -> String {
        let all = ClusterTypes.ledgers
        let first = Int(load.seconds / 10) * 6
        return all[(first + Int.random(in: 0..<6, using: &random)) % all.count]
    }

    private func dispatch(_ operation: BusOperation, key: Bool) -> String {
        let target = operation.store.map { #""store":"\#($0)""# } ?? #""type":"ledger""#
        return
            #""op":"dispatch",\#(target),"action":"enter","payload":{"mark":"\#(operation.mark)"}"#
            + (key ? #","key":"\#(operation.mark)""# : "")
    }

    private func answer(_ reply: JSON, isCommit: Bool) -> BusOperation.Answer {
        if reply["ok"] == true {
            let revision = reply["revision"]?.int ?? -1
            let isDuplicate = reply["duplicate"] == true
            known = revision
            load.note(revision: revision, isCommit: isCommit, isDuplicate: isDuplicate)
            return .done(revision: revision, isDuplicate: isDuplicate)
        }
        let error = reply["error"]
        let code = error?["code"]?.string ?? "?"
        if code == "unavailable" { load.noteUnavailable() }
        let text = code == "unavailable" ? code : reply.encoded
        return .refused(text, isNone: error?["outcome"] == "none")
    }

    // MARK: - Connections

    private func move() {
        leave()
        member =
            (member + Int.random(in: 1..<load.cluster.members.count, using: &random))
            % load.cluster.members.count
    }

    private func leave() {
        connection?.close()
        connection = nil
    }

    /// Nil: no member takes it now; the next one is tried the next time.
    private func connected() -> LineClient? {
        if let connection { return connection }
        let target = load.cluster.members[member]
        guard let client = try? target.client(token: number, patience: Self.patience) else {
            member = (member + 1) % load.cluster.members.count
            poll(nil, 0, 20)
            return nil
        }
        (connection, known) = (client, 0)
        greet()
        return connection
    }

    /// Asks for the epoch, and leaves a will with every second connection.
    private func greet() {
        guard let reply = exchange(#""op":"hello""#) else { return }
        load.note(epoch: reply["epoch"]?.string ?? "")
        known = reply["revision"]?.int ?? 0
        guard Bool.random(using: &random) else { return }
        lastMark += 1
        var will = BusOperation(
            kind: .will, mark: "c\(number).\(lastMark)", store: ClusterTypes.wills, least: 0)
        let reply2 = exchange(
            #""op":"will","actions":[{"store":"\#(ClusterTypes.wills)","action":"enter","payload":{"mark":"\#(will.mark)"}}]"#
        )
        if reply2?["ok"] == true { will.answers = [.done(revision: 0, isDuplicate: false)] }
        if let reply2, reply2["ok"] != true, reply2["error"]?["code"] != "unavailable" {
            will.answers = [.refused(reply2.encoded, isNone: false)]
        }
        operations.append(will)
    }

    /// Sends a request; nil if the connection is lost before there is a reply, or there is none.
    private func request(_ members: String) -> JSON? { connected() == nil ? nil : exchange(members) }

    private func exchange(_ members: String) -> JSON? {
        guard let connection else { return nil }
        lastRequest += 1
        do {
            try connection.send(#"{"id":\#(lastRequest),\#(members)}"#)
            while case .line(let line) = connection.receive() {
                let reply = try JSON(parsing: line)
                if reply["event"] != nil { continue }
                if reply["id"]?.int == lastRequest { return reply }
                operations.append(
                    BusOperation(
                        kind: .once, mark: "reply", store: nil, least: 0,
                        answers: [.refused("\(line) in place of \(lastRequest)", isNone: false)]))
                break
            }
        } catch {}
        load.noteLoss()
        leave()
        member = (member + 1) % load.cluster.members.count
        return nil
    }
}
