import BusJSON
import BusWork
import CLinux
import FluxBus

/// One run: creates the stores, opens the connections, warms up, measures, and checks that all is accounted for.
final class Bench {
    /// How long any single exchange of the preparation may take.
    private static let patience = Duration.seconds(30)
    /// How far the subscribers may be behind, in bytes of one subscriber's events: well below what makes a bus
    /// merge changes.
    private static let longestLagBytes = 1 << 20
    private static let longestLag = 4096
    /// The share of the run's extent that warms up before it.
    private static let warmUpShare = 0.1

    private let load: Load
    private let command: BenchCommand
    private let address: BusAddress
    private let token: String?
    /// The connection for control requests.
    private let control: BusConnection
    /// They own the ephemeral stores, of which one connection may have only so many.
    private var owners: [BusConnection] = []
    private static let storesPerOwner = 10_000
    /// How many different lines a connection sends, before the first comes again.
    private static let linesOfKinds = 1000

    init(load: Load, command: BenchCommand, address: BusAddress, token: String?) throws {
        self.load = load
        self.command = command
        self.address = address
        self.token = token
        control = try BusConnection(
            to: address, token: token, client: "fluxbus-bench", tls: command.tls,
            until: Deadline(after: Self.patience))
    }

    func run() throws -> BenchResult {
        // Accounts are alone on a bus.
        let name =
            load.transfers == nil
            ? "bench-\(BenchEnvironment.processNumber)-\(UInt16.random(in: 0 ... .max))" : "t"
        try makeStores(named: name)
        let subscribers = try connect(load.subscribers)
        let dispatchers = try connect(load.connections)
        for subscriber in subscribers {
            try ask(
                BusRequest("subscribe", ["match": .string(pattern(name)), "initial": false]), on: subscriber)
        }
        let request = request(store: name)
        let calibration =
            load.transfers == nil ? try calibrate(request, subscribers) : Calibration(changed: 2)
        let blocks = blocks(request, name)

        let library =
            load.sender == .raw
            ? nil : try LibraryRunner(load, request, address, token: token, tls: command.tls)

        func measure(_ extent: LoadRunner.Extent) -> LoadRunner.Tally {
            if let library { return library.run(extent) }
            let runner = LoadRunner(
                load: load, blocks: blocks, dispatchers: dispatchers, subscribers: subscribers,
                extent: extent,
                longestLag: calibration.longestLag, hasParts: calibration.hasParts, isSpinning: command.spin)
            return runner.run()
        }

        let warmUp = measure(extent(share: Self.warmUpShare))
        if let shortfall = warmUp.shortfall {
            return BenchResult(load: load, tally: warmUp, changed: calibration.changed, shortfall: shortfall)
        }
        let before = try revision()
        let pid = serverProcess()
        let server = pid.flatMap(ProcessUsage.seconds)
        let own = ProcessUsage.ownSeconds()
        let tally = measure(extent(share: 1))
        var result = BenchResult(
            load: load, tally: tally, changed: calibration.changed, shortfall: tally.shortfall)
        result.ownSeconds = ProcessUsage.ownSeconds() - own
        if let server, let after = pid.flatMap(ProcessUsage.seconds) { result.serverSeconds = after - server }
        if result.shortfall == nil {
            let commits = try revision() - before
            if commits < tally.commits {
                result.shortfall = "\(tally.commits - commits) dispatches were answered but not committed"
            }
            if let transfers = load.transfers {
                let (found, all) = (try balances(named: name), transfers.accounts * Transfers.balance)
                if found != all { result.shortfall = "the balances add up to \(found), which were \(all)" }
            }
        }
        return result
    }

    // MARK: - Preparation

    private func makeStores(named name: String) throws {
        // Pipelined, so that a million stores are created in seconds.
        for first in stride(from: 0, to: load.stores, by: Self.storesPerOwner) {
            let owner = try connect(1)[0]
            owners.append(owner)
            let count = min(Self.storesPerOwner, load.stores - first)
            for type in types {
                try owner.exchange(count, patience: Self.patience) { number in
                    BusRequest(
                        "create", ["store": .string("\(type)/\(name)-\(first + number)"), "ephemeral": true])
                }
            }
        }
    }

    /// The types of the stores that requests go to.
    private var types: [String] {
        load.transfers == nil ? load.kind?.types ?? [command.type] : [Transfers.type]
    }

    private func pattern(_ name: String) -> String { "\(load.kind == nil ? types[0] : "*")/\(name)-*" }

    private func connect(_ count: Int) throws -> [BusConnection] {
        try (0..<count).map { _ in
            try BusConnection(
                to: address, token: token, client: "fluxbus-bench", tls: command.tls,
                until: Deadline(after: Self.patience))
        }
    }

    private func request(store name: String) -> BusRequest {
        let isGlobal = load.isGlobal || (load.stores > 1 && load.kind == nil)
        let payload = (try? JSON(parsing: command.payload)) ?? [:]
        return BusRequest(
            "dispatch",
            [
                isGlobal ? "type" : "store": .string(isGlobal ? command.type : "\(command.type)/\(name)-0"),
                "action": .string(command.action), "payload": payload == [:] ? nil : payload,
            ])
    }

    /// The sum of all accounts.
    private func balances(named name: String) throws -> Int {
        var (sum, next): (Int, JSON?) = (0, nil)
        repeat {
            let page = try ask(
                BusRequest("get", ["match": .string("\(Transfers.type)/\(name)-*"), "after": next]),
                on: control)
            for state in page["states"]?.object?.members ?? [] { sum += state.value["balance"]?.int ?? 0 }
            next = page["next"]
        } while next != nil
        return sum
    }

    /// What each dispatcher sends: the request again and again, or many of a kind.
    private func blocks(_ request: BusRequest, _ name: String) -> [LineBlock] {
        if let transfers = load.transfers {
            return (0..<load.connections).map { _ in
                let lines = transfers.lines(Self.linesOfKinds, prefix: name + "-")
                return LineBlock(
                    lines.map { LineBlock.Line(bytes: Array(($0 + "\n").utf8)) }, pipeline: load.pipeline)
            }
        }
        guard let kind = load.kind else {
            let writer = ByteWriter()
            request.write(to: writer)
            let line = LineBlock.Line(bytes: Array(writer.bytes))
            return (0..<load.connections).map { _ in LineBlock([line], pipeline: load.pipeline) }
        }
        let target = RequestKind.Target(
            stores: load.stores, prefix: name + "-", keys: "\(UInt32.random(in: 1 << 30 ... .max))-")
        return (0..<load.connections).map { sender in
            let lines = (0..<Self.linesOfKinds).map { number in
                LineBlock.Line(
                    bytes: Array((kind.line(number, of: sender, to: target) + "\n").utf8),
                    commits: kind.kind(of: number) != .get)
            }
            return LineBlock(
                lines, pipeline: load.pipeline, keyMark: Array(target.keyMark(of: sender).utf8),
                digitCount: RequestKind.keyDigits)
        }
    }

    @discardableResult
    private func ask(_ request: BusRequest, on connection: BusConnection) throws -> JSONObject {
        try connection.request(request, until: Deadline(after: Self.patience))
    }

    private func revision() throws -> Int { try ask(BusRequest("sync"), on: control)["revision"]?.int ?? 0 }

    /// The effect of one action.
    private struct Calibration {
        /// How many stores it changes.
        let changed: Int
        var longestLag = Bench.longestLag
        /// Whether its event comes in several lines.
        var hasParts = false
    }

    /// One action ahead of all others: whether it is accepted, how many stores it changes, how long its events are.
    private func calibrate(_ request: BusRequest, _ subscribers: [BusConnection]) throws -> Calibration {
        let reply = try ask(request, on: control)
        let changed = reply["changed"]?.int ?? 0
        var result = Calibration(changed: changed)
        guard !subscribers.isEmpty else { return result }
        guard changed > 0 else {
            throw BusError(
                .invalidRequest,
                "The action \(command.action) changes nothing, so nothing is delivered: choose another.")
        }
        for subscriber in subscribers {
            var bytes = 0
            var isWhole = false
            while !isWhole {
                let line = try subscriber.receiveLine(until: Deadline(after: Self.patience))
                bytes += line.count
                guard case .event(_, let event) = try BusMessage(parsing: line) else {
                    throw BusError(.invalidRequest, "The bus answered a subscription with something else.")
                }
                isWhole = event["more"] != true
                if !isWhole { result.hasParts = true }
            }
            result.longestLag = max(1, min(result.longestLag, Self.longestLagBytes / bytes))
        }
        return result
    }

    private func extent(share: Double) -> LoadRunner.Extent {
        if let requests = command.requests { return .requests(max(1, Int(Double(requests) * share))) }
        return .nanoseconds(UInt64(command.duration * share * 1e9))
    }

    /// The process to charge: the one requested, else the one that listens on the Unix socket. For a socket
    /// passed by systemd that is systemd.
    private func serverProcess() -> Int32? {
        if let pid = command.pid { return pid }
        guard case .unix = address else { return nil }
        var pid: Int32 = 0
        var uid: UInt32 = 0
        var gid: UInt32 = 0
        guard linux_peer_credentials(control.descriptor, &pid, &uid, &gid) == 0, pid > 1 else { return nil }
        return pid
    }
}
