import CLinux
import FluxBus

/// Runs attacks, each on a daemon of its own, beside a well-behaved client.
struct HostileBench {
    let program: String
    let directory: String
    let seconds: Double
    /// The most stores an attack has.
    let stores: Int
    /// The daemon's `limits.memory`, in bytes.
    let memory: Int
    /// Who attacks; nil: the same user as everybody. The innocent client is then another user, too, and each attack is
    /// measured beside a well-behaved client of that user with as many connections.
    let user: UInt32?

    private static let patience = Duration.seconds(60)
    /// How long the innocent client continues after the attackers have closed: cleaning up after them is work too.
    private static let tail: UInt64 = 500_000_000
    /// The attack with the most has ten thousand; each takes a descriptor here, too.
    private static let mostConnections = 12_000
    /// How often the daemon's memory is measured, in milliseconds.
    private static let lookInterval: Int32 = 20
    /// The daemon is ended when it takes more than this: other programs need the machine.
    private var fatalBytes: Int { 4 * memory + 1 << 30 }

    /// What a bus is like for the innocent client, apart from the attack.
    private struct Kind: Hashable {
        let hasLog: Bool
        let comesAnew: Bool
    }

    func run(_ attacks: [Attack], _ tell: (HostileResult) -> Void) throws {
        var idle: [Kind: (latest: Double, silence: Double)] = [:]
        for attack in attacks {
            let kind = Kind(hasLog: attack.setUp.hasLog, comesAnew: attack.setUp.comesAnew)
            for connections in attack.forms {
                if connections > 0, idle[kind] == nil {
                    var calm = AttackCatalog.calm
                    (calm.setUp.hasLog, calm.setUp.comesAnew) = (kind.hasLog, kind.comesAnew)
                    let result = try run(calm, 0)
                    idle[kind] = (result.milliseconds(0.99), result.longestSilence)
                }
                var busyLatency: Double?
                if user != nil, connections > 0, attack.name != AttackCatalog.busy.name {
                    // On the same kind of bus.
                    var busy = AttackCatalog.busy
                    (busy.setUp.hasLog, busy.setUp.comesAnew) = (kind.hasLog, kind.comesAnew)
                    busyLatency = try run(busy, connections).milliseconds(0.99)
                }
                var result = try run(attack, connections)
                result.busyLatency = busyLatency
                result.idle = connections > 0 ? idle[kind] : nil
                tell(result)
            }
        }
    }

    private func run(_ attack: Attack, _ connections: Int) throws -> HostileResult {
        Self.raiseDescriptorLimit()
        let place = try DaemonPlace(in: directory)
        let types = HostileTypes.all + (attack.setUp.hasWideTypes ? HostileTypes.wide : [])
        for type in types { try place.add(type: type.file, type.text) }
        if attack.setUp.isSecure { try place.secure() }
        place.access = attack.setUp.access
        if user != nil { place.openToOthers() }
        let ear = try BeatEar(at: place.path + "/n")
        let daemon = try OwnDaemon(
            program: program, in: place, sync: attack.setUp.hasLog ? .interval : nil,
            limits:
                "memory: \(memory >> 10)KiB, stores: 2000000, connections: \(Self.mostConnections)",
            variables: ear.variables)
        defer { daemon.stopAtOnce() }
        let world = try setUp(attack, daemon)
        let address = daemon.address
        let scene = try BenchThread(user: user.map { $0 + 1 }) { Result { try HostileScene(address) } }
            .join().get()
        let before = ProcessUsage.residentBytes(of: daemon.pid)
        guard ProcessUsage.forgetPeak(of: daemon.pid) else {
            throw BusError(
                .internal, "The daemon's peak of memory can't be counted anew; run this as its user.")
        }

        // Everything is made before the clock runs.
        let scripts = connections > 0 ? attack.scripts(connections, world) : []
        let (stopAttack, target) = (StopFlag(), AttackPlace(socket: place.socket, port: place.securePort))
        let length = UInt64(seconds * 1e9)
        let cpu = ProcessUsage.seconds(of: daemon.pid)
        ear.begin()
        let start = nanoseconds()
        let attackers = BenchThread(niceness: 5, user: user) {
            AttackForce(scripts, at: target).run(until: stopAttack)
        }
        let isOver = StopFlag()
        let comesAnew = attack.setUp.comesAnew
        let innocent = BenchThread(
            niceness: -10, isFirst: true, user: comesAnew ? user.map { $0 + 1 } : nil
        ) { [scene] in
            defer { isOver.set() }
            return comesAnew
                ? Newcomer(at: target).run(nanoseconds: length + Self.tail)
                : scene.innocent().run(nanoseconds: length + Self.tail)
        }
        var ending: String?
        while !isOver.isSet {
            ear.listen(milliseconds: Self.lookInterval)
            if nanoseconds() - start >= length { stopAttack.set() }
            if ending == nil { ending = check(daemon) }
        }
        stopAttack.set()
        let elapsed = Double(nanoseconds() - start) / 1e9
        var result = HostileResult(
            attack: attack, connections: connections, seconds: elapsed, limit: memory,
            innocent: innocent.join(), hostile: attackers.join(), ending: ending, residentBefore: before)
        if let cpu, let after = ProcessUsage.seconds(of: daemon.pid) {
            result.cpuShare = (after - cpu) / elapsed
        }
        ear.end()
        result.beatDistance = ear.longest
        result.residentAfter = residentAfter(
            daemon, ear, wanted: (before ?? 0) + HostileBars.ownBytes + attack.keeps)
        result.peak = ProcessUsage.peakBytes(of: daemon.pid)
        return result
    }

    /// Ends a daemon that takes so much memory that the machine would suffer; returns why it ended, if it did.
    private func check(_ daemon: OwnDaemon) -> String? {
        if daemon.hasEnded { return "the daemon ended" }
        guard let bytes = ProcessUsage.roughResidentBytes(of: daemon.pid), bytes > fatalBytes else {
            return nil
        }
        daemon.stopAtOnce()
        return "ended at \(Figure.decimal(Double(bytes) / 1e6, 0)) MB to save the machine"
    }

    /// The resident memory once it has been returned, or when the time for that is over.
    private func residentAfter(_ daemon: OwnDaemon, _ ear: BeatEar, wanted: Int) -> Int? {
        let end = nanoseconds() + HostileBars.givingBack
        while let bytes = ProcessUsage.residentBytes(of: daemon.pid) {
            if bytes <= wanted || nanoseconds() >= end { return bytes }
            ear.listen(milliseconds: Self.lookInterval)
        }
        return nil
    }

    // MARK: - Preparation

    /// As far as that is allowed: where it is not, some of the attack's connections are never made, and its row says how many were.
    private static func raiseDescriptorLimit() {
        var (soft, hard): (UInt64, UInt64) = (0, 0)
        guard linux_get_descriptor_limit(&soft, &hard) == 0 else { return }
        let wanted = UInt64(mostConnections + 1000)
        if soft < wanted { _ = linux_set_descriptor_limit(min(wanted, max(hard, soft)), hard) }
    }

    private func setUp(_ attack: Attack, _ daemon: OwnDaemon) throws -> HostileWorld {
        let control = try daemon.connect()
        for kind in attack.setUp.stores {
            try control.exchange(min(kind.count, stores), patience: Self.patience) { number in
                BusRequest("create", ["store": .string("\(kind.type)/\(kind.prefix)s\(number)")])
            }
        }
        let counters = attack.setUp.stores.first { $0.type == "counter" }.map { min($0.count, stores) } ?? 1
        try control.exchange(attack.setUp.commits, patience: Self.patience) { number in
            BusRequest(
                "dispatch",
                [
                    "store": .string("counter/s\(number % counters)"), "action": "increment",
                    "payload": ["by": .int(number)],
                ])
        }
        let greeting = try control.hello(client: "fluxbus-bench", until: Deadline(after: Self.patience))
        return HostileWorld(
            stores: stores, epoch: greeting["epoch"]?.string ?? "", revision: greeting["revision"]?.int ?? 0)
    }
}

/// The innocent client's stores and connections, made before an attack begins.
final class HostileScene: @unchecked Sendable {
    // The connections are made on one thread and passed to another, which alone uses them from then on.
    private let dispatcher: BusConnection
    private let subscriber: BusConnection
    private let revision: Int

    private static let patience = Duration.seconds(60)

    init(_ address: BusAddress) throws {
        let connect = { () throws in
            try BusConnection(
                to: address, client: "fluxbus-bench", until: Deadline(after: Self.patience))
        }
        dispatcher = try connect()
        subscriber = try connect()
        try dispatcher.exchange(Innocent.stores, patience: Self.patience) { number in
            BusRequest("create", ["store": .string("\(Innocent.type)/s\(number)")])
        }
        let deadline = Deadline(after: Self.patience)
        try subscriber.request(BusRequest("subscribe", ["type": .string(Innocent.type)]), until: deadline)
        guard case .event(_, let event) = try BusMessage(parsing: subscriber.receiveLine(until: deadline)),
            let revision = event["revision"]?.int
        else { throw BusError(.unexpectedReply, "The bus did not tell the states that were subscribed to.") }
        self.revision = revision
    }

    /// For the thread that owns it from then on.
    func innocent() -> Innocent {
        Innocent(dispatcher: dispatcher.descriptor, subscriber: subscriber.descriptor, revision: revision)
    }
}
