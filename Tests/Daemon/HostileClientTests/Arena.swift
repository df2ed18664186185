import BusEngine
import BusJSON
import BusLogic
import TestSupport
import Testing

/// A bus in memory that is driven as the event loop drives it: turns, each of which reads who is ready, serves who waits and
/// writes to who reads. What it does is counted in work, so nothing depends on the machine.
///
/// One innocent client sends a request in every turn, a dispatch unless a test says otherwise; hostile ones always have more to send.
final class Arena {
    /// A client that is no innocent one.
    final class Attacker {
        let connection: ConnectionID
        /// What it sends, again and again.
        let bytes: [UInt8]
        var sent = 0
        var isReading = true

        init(_ connection: ConnectionID, _ bytes: [UInt8]) {
            self.connection = connection
            self.bytes = bytes
        }
    }

    private let bus: SlowBus
    var engine: Engine { bus.engine }
    private(set) var attackers: [Attacker] = []
    /// What the innocent client sends.
    var request = #"{"op":"dispatch","store":"counter/innocent","action":"increment"}"#
    private var innocent: ConnectionID

    /// The most work done in one turn.
    private(set) var longestTurn = 0
    /// The most work done in one turn for what the shared log brought.
    private(set) var longestHearing = 0
    /// The most turns in which a request of the innocent client waited for its answer.
    private(set) var longestWait = 0
    /// What the innocent client was refused.
    private(set) var refusals: [String] = []
    private var waitedFor = 0
    private var awaited = 0

    init(limits: Limits = Limits()) throws {
        bus = try SlowBus(limits: limits)
        innocent = bus.connect()
        try ask(#"{"op":"create","store":"counter/innocent"}"#)
    }

    /// A client sends something before it begins, and hears all of the answer.
    func ask(_ lines: String..., from connection: ConnectionID? = nil) throws {
        for line in lines {
            bus.send(line, from: connection ?? innocent)
            bus.turn(after: 0)
            engine.serveAll()
            bus.take(from: connection ?? innocent)
        }
    }

    func makeStores(_ count: Int, ofType type: String = "item", prefix: String = "s") throws {
        for number in 0..<count { try ask(#"{"op":"create","store":"\#(type)/\#(prefix)\#(number)"}"#) }
    }

    @discardableResult
    func attack(
        _ line: String, preparing: [String] = [], isReading: Bool = true, uid: Int? = nil
    ) throws -> Attacker {
        let connection = engine.connect(.unix(uid: uid ?? 2000 + attackers.count, pid: 2))
        for line in preparing { try ask(line, from: connection) }
        let count = line.isEmpty ? 0 : max(1, (64 << 10) / (line.utf8.count + 1))
        let bytes = Array(String(repeating: line + "\n", count: count).utf8)
        let attacker = Attacker(connection, count == 0 ? [] : bytes)
        attacker.isReading = isReading
        attackers.append(attacker)
        return attacker
    }

    /// All hostile clients vanish at once.
    func vanish() {
        bus.turn(after: 0)
        for attacker in attackers { engine.disconnect(attacker.connection) }
        attackers = []
    }

    /// All hostile clients have sent what they want and are gone, and nobody has looked yet.
    func leaveUnheard() {
        bus.turn(after: 0)
        for attacker in attackers {
            engine.losePeer(of: attacker.connection)
            engine.awaitTurn(attacker.connection)
        }
    }

    /// One of them is gone and has sent nothing more.
    func leaveUnheard(_ attacker: Attacker) {
        leaving.insert(attacker.connection)
        engine.losePeer(of: attacker.connection)
        engine.awaitTurn(attacker.connection)
    }

    func statistics() throws -> JSON {
        bus.send(#"{"op":"stats"}"#, from: innocent)
        while engine.hasWork { _ = engine.serveNext() }
        return try #require(try bus.lines(of: innocent).last { $0["stats"] != nil }?["stats"])
    }

    /// How often somebody was told later, together with what came next.
    func coalesced() throws -> Int { try #require(statistics()["totals"]?["coalesced"]?.int) }

    /// All the work done for a user.
    func work(of uid: Int) throws -> Int {
        let user = try statistics()["users"]?.array?.first { $0["uid"] == .int(uid) }
        return try #require(user?["work"]?.int)
    }

    // MARK: Turns

    func run(turns: Int) throws {
        longestTurn = 0
        longestHearing = 0
        longestWait = 0
        for _ in 0..<turns { try turn() }
        // What is under way is answered in time, too.
        while awaited > 0, waitedFor < 1000 { try turn(sending: false) }
    }

    private func turn(sending: Bool = true) throws {
        bus.turn(isSlow: true)
        longestHearing = max(longestHearing, bus.workForLog)
        for attacker in attackers where !attacker.isReading && engine.hasOutput(attacker.connection) {
            engine.noteFull(attacker.connection)
        }
        for attacker in attackers where !attacker.bytes.isEmpty { offer(attacker) }
        // The innocent one is the last of those who are ready.
        if sending, awaited == 0 {
            awaited = 1
            waitedFor = 0
            isDue = true
        }
        if isDue { offerInnocent() }
        while engine.hasWork, engine.turnHasRoom {
            guard let id = engine.serveNext() else { continue }
            if id == innocent {
                sendInnocent()
            } else if leaving.remove(id) != nil {
                engine.disconnect(id)
                attackers.removeAll { $0.connection == id }
            } else if let one = attackers.first(where: { $0.connection == id }) {
                send(one)
            }
        }
        longestTurn = max(longestTurn, engine.workOfTurn)
        waitedFor += 1
        try hear()
        for attacker in attackers where attacker.isReading {
            bus.take(from: attacker.connection, most: 256 << 10)
        }
        for attacker in attackers where isClosing(attacker.connection) {
            engine.disconnect(attacker.connection)
        }
        attackers.removeAll { isGone($0.connection) }
    }

    private var isDue = false
    private var gone: Set<ConnectionID> = []
    /// Those whose end is found when they are read.
    private var leaving: Set<ConnectionID> = []

    private func isClosing(_ id: ConnectionID) -> Bool {
        guard case .closing = engine.status(of: id) else { return false }
        gone.insert(id)
        return true
    }

    private func isGone(_ id: ConnectionID) -> Bool { gone.remove(id) != nil }

    private func offer(_ attacker: Attacker) {
        guard case .reading = engine.status(of: attacker.connection) else { return }
        if engine.isUncontended { send(attacker) } else { engine.awaitTurn(attacker.connection) }
    }

    private func send(_ attacker: Attacker) {
        attacker.bytes.withUnsafeBytes { engine.receive(attacker.connection, $0) }
        attacker.sent += 1
    }

    private func offerInnocent() {
        guard case .reading = engine.status(of: innocent) else { return }
        if engine.isUncontended { sendInnocent() } else { engine.awaitTurn(innocent) }
    }

    private func sendInnocent() {
        isDue = false
        bus.give(request, from: innocent)
    }

    private func hear() throws {
        for reply in try bus.lines(of: innocent) where reply["ok"] != nil {
            awaited = 0
            longestWait = max(longestWait, waitedFor)
            if reply["ok"] == false { refusals.append("\(reply)") }
        }
    }
}
