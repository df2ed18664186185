import BusJSON
import FluxBus
import Synchronization
import TestSupport

/// A client session and a whole bus in memory, run from a seed: lines in pieces, connections that end at any byte in
/// either direction, and bytes of a dead connection that reach the bus after the next one is open.
final class SessionSimulation {
    struct Violation: Error, CustomStringConvertible { let description: String }

    /// One connection as it is under way.
    private final class Wire {
        let client: MemoryClient
        /// Bytes that have left the client, of which `delivered` have reached the bus.
        var outgoing: [UInt8] = []
        var delivered = 0

        init(_ client: MemoryClient) { self.client = client }

        func deliver(_ count: Int) {
            let end = min(outgoing.count, delivered + count)
            client.send(bytes: Array(outgoing[delivered..<end]))
            delivered = end
        }
    }

    /// What a subscription of the simulated program knows.
    final class Observer: Sendable {
        let mirror: Mutex<BusMirror>
        let failure = Mutex<BusError?>(nil)
        let rests = Mutex(SeededGenerator(seed: 0))
        let isResting = Mutex(false)
        /// False from when it rests until the first event after it went on.
        let isCurrent = Mutex(false)
        let format: BusMirror.Format

        init(_ format: BusMirror.Format, seed: UInt64) {
            self.format = format
            mirror = Mutex(BusMirror(format: format))
            rests.withLock { $0 = SeededGenerator(seed: seed) }
        }

        func take(_ event: SubscriptionEvent) -> SubscriptionRequest.Verdict {
            if case .ended(let error) = event { failure.withLock { $0 = error } }
            mirror.withLock { mirror in
                do throws(BusError) { _ = try mirror.fold(event) } catch { failure.withLock { $0 = error } }
            }
            let rests = rests.withLock { $0.oneIn(40) }
            isCurrent.withLock { $0 = !rests }
            if rests { isResting.withLock { $0 = true } }
            return rests ? .rest : .goOn
        }
    }

    /// What became of the dispatches.
    struct Tally {
        var total = 0
        var succeeded = 0
        var failures: [BusError] = []
        var open = 0
        /// Mirrors that had not got as far as a reply when it was given.
        var staleReads = 0

        mutating func note(_ outcome: ReplyOutcome) {
            open -= 1
            if case .failure(let error) = outcome { failures.append(error) }
        }
    }

    private final class Score: Sendable {
        let tally = Mutex(Tally())
        var open: Int { tally.withLock { $0.open } }
        func note(_ outcome: ReplyOutcome) { tally.withLock { $0.note(outcome) } }
    }

    let bus: MemoryBus
    private(set) var session: ClientSession
    private(set) var observers: [Observer] = []
    private(set) var kills = 0
    private let score = Score()
    /// How many dispatches were made.
    var dispatches: Int { score.tally.withLock { $0.total } }
    private let writer = ByteWriter()
    private var random: SeededGenerator
    private var now = 1_000_000_000
    private var wire: Wire?
    /// Connections that the client has lost and the bus still holds.
    private var dying: [Wire] = []

    init(seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        var setup = MemoryBus.Setup()
        setup.stores = ["counter/main"]
        bus = try MemoryBus(setup)
        var options = BusOptions()
        options.backOff = BackOff(first: .milliseconds(1), longest: .milliseconds(4))
        options.keepAlive = nil
        options.patience = .seconds(3600)
        options.connectTimeout = .seconds(3600)
        session = ClientSession(options: options, seed: seed, now: now)
    }

    // MARK: - Running

    /// Runs so many steps, then lets everything arrive and checks it all.
    func run(steps: Int, killOneIn: Int) throws {
        for index in 0..<3 { subscribe(index) }
        setUpStores()
        for _ in 0..<steps {
            if score.open < 40 { submitSomething() }
            try step(mayKill: random.oneIn(killOneIn))
        }
        for _ in 0..<5000 where !isSettled { try step(mayKill: false, isGenerous: true) }
        guard isSettled else { throw Violation(description: "It never came to rest.") }
        // One more change for each observer, so that all come up to the bus.
        dispatch("increment", ["by": 1])
        for _ in 0..<50 { try step(mayKill: false, isGenerous: true) }
        try check()
    }

    private var isSettled: Bool { score.open == 0 && session.isIdle && dying.isEmpty }

    private func step(mayKill: Bool, isGenerous: Bool = false) throws {
        now += Int.random(in: 0..<2_000_000, using: &random)
        session.tick(at: now)
        perform()
        if wire == nil, session.wantsConnection(at: now) {
            wire = Wire(bus.connect())
            session.connected(at: now)
        }
        if let wire {
            writer.clear()
            session.write(to: writer, room: 1 << 16)
            perform()
            wire.outgoing += Array(writer.bytes)
            let left = wire.outgoing.count - wire.delivered
            wire.deliver(isGenerous ? left : Int.random(in: 0...left, using: &random))
            receive(from: wire, most: isGenerous ? .max : Int.random(in: 0..<30, using: &random))
            if let reason = session.disconnectReason { throw Violation(description: "\(reason)") }
            if wire.client.isEnded || mayKill { kill(wire) }
        }
        for observer in observers where observer.isResting.withLock({ $0 }) {
            if random.oneIn(5) || isGenerous { goOn(observer) }
        }
        if isGenerous || random.oneIn(4) { bury() }
        if random.oneIn(20) { bus.advance(milliseconds: Int.random(in: 0..<5000, using: &random)) }
    }

    private func receive(from wire: Wire, most: Int) {
        var count = 0
        while count < most, let line = wire.client.nextLine() {
            count += 1
            Array(line.utf8).withUnsafeBytes { session.receive($0, at: now) }
            perform()
        }
    }

    /// The connection ends for the client. What it had sent may still be on its way, and the bus may notice later.
    private func kill(_ wire: Wire) {
        kills += 1
        let sent = Int.random(in: wire.delivered...wire.outgoing.count, using: &random)
        wire.outgoing.removeSubrange(sent...)
        self.wire = nil
        session.lost(BusError(.closed, "cut"), sent: sent, at: now)
        perform()
        dying.append(wire)
        if random.oneIn(2) { bury() }
    }

    /// What is left of dead connections reaches the bus, or is lost, and the bus sees their end.
    private func bury() {
        for wire in dying {
            if random.oneIn(2) { wire.deliver(Int.random(in: 0...wire.outgoing.count, using: &random)) }
            if !wire.client.isEnded { wire.client.close() }
        }
        dying = []
    }

    private func perform() {
        while !session.effects.isEmpty {
            let effects = session.effects
            session.effects = []
            for effect in effects {
                switch effect {
                case .complete(let submission, let outcome), .settle(let submission, let outcome):
                    submission.settle(outcome)
                case .event(let request, let event, _):
                    if request.receive(event, 0) == .rest { session.pause(request.number) }
                case .ended, .greeted, .status, .notice: break
                }
            }
        }
    }

    // MARK: - What the program does

    private func setUpStores() {
        let members: KeyValuePairs<String, JSON?> = ["store": "counter/mine", "ephemeral": true]
        submit(
            Submission(
                .request(BusRequest("create", members)), role: .createEphemeral("counter/mine", state: nil),
                repetition: .keyed,
                onOutcome: { [score] outcome in score.note(outcome) }))
    }

    private func subscribe(_ index: Int) {
        let format = BusMirror.Format.allCases[index]
        let observer = Observer(format, seed: random.next())
        observers.append(observer)
        var request = BusRequest("subscribe", ["match": "counter/*"])
        if format != .merge { request.set("format", .string(format.rawValue)) }
        let wanted = SubscriptionRequest(number: index, request: request, format: format) { event, _ in
            observer.take(event)
        }
        submit(
            Submission(
                .request(request), role: .subscribe(wanted),
                onOutcome: { [score] outcome in score.note(outcome) }))
    }

    private func goOn(_ observer: Observer) {
        observer.isResting.withLock { $0 = false }
        if let number = observers.firstIndex(where: { $0 === observer }) { session.goOn(number) }
    }

    private func submitSomething() {
        switch Int.random(in: 0..<10, using: &random) {
        case 0: dispatch("increment", ["by": 1], isAcknowledged: false)
        case 1: dispatch("increment", ["by": 1], to: .store("counter/mine"), counts: false)
        default: dispatch("increment", ["by": 1])
        }
    }

    private func dispatch(
        _ action: String, _ payload: JSONObject, to target: DispatchTarget = .store("counter/main"),
        counts: Bool = true, isAcknowledged: Bool = true
    ) {
        let body = RequestBody.DispatchBody(action: action, target: target, payload: payload)
        if counts { score.tally.withLock { $0.total += 1 } }
        let observers = observers
        submit(
            Submission(
                .dispatch(body), repetition: .keyed, isAcknowledged: isAcknowledged,
                onOutcome: { [score] outcome in
                    score.tally.withLock { tally in
                        tally.note(outcome)
                        if counts, case .success = outcome.object { tally.succeeded += 1 }
                    }
                    guard counts, case .dispatch(let reply) = outcome else { return }
                    // What was committed has been seen by every subscription that does not rest.
                    for observer in observers where observer.isCurrent.withLock({ $0 }) {
                        let seen = observer.mirror.withLock { $0.revision }
                        if seen < reply.revision { score.tally.withLock { $0.staleReads += 1 } }
                    }
                }))
    }

    private func submit(_ submission: Submission) {
        score.tally.withLock { $0.open += 1 }
        session.submit(submission)
        perform()
    }

    // MARK: - Checking

    private func check() throws {
        let tally = score.tally.withLock { $0 }
        if let failure = tally.failures.first { throw Violation(description: "A request failed: \(failure)") }
        let auditor = bus.connect()
        let reply = try auditor.ask(#"{"op":"get","match":"counter/*"}"#).last
        let states = reply?["states"]?.object ?? [:]
        guard states["counter/main"]?["count"] == .int(tally.succeeded), tally.succeeded == tally.total else {
            throw Violation(
                description: "\(tally.total) dispatches, \(tally.succeeded) succeeded, \(states) came of it.")
        }
        guard states["counter/mine"] != nil else {
            throw Violation(description: "The ephemeral store is gone.")
        }
        for observer in observers {
            if let error = observer.failure.withLock({ $0 }) { throw Violation(description: "\(error)") }
            let seen = observer.mirror.withLock { $0.states }
            for member in states where seen[member.key] != member.value {
                throw Violation(
                    description: "A \(observer.format) mirror holds \(seen), the bus \(states).")
            }
            guard seen.count == states.count else { throw Violation(description: "\(seen) is too much.") }
        }
        guard tally.staleReads == 0 else {
            throw Violation(description: "\(tally.staleReads) mirrors lagged behind a reply.")
        }
    }
}
