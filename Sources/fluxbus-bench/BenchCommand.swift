import ArgumentParser
import BusJSON
import FluxBus

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// `fluxbus-bench`: how much a bus carries, how fast it answers, and what that costs the server.
struct BenchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fluxbus-bench",
        abstract: "Load a bus, and measure dispatches, deliveries, latency and server CPU.",
        discussion: """
            Examples:
              fluxbus-bench                                        50 connections, 64 requests each on their way
              fluxbus-bench --connections 1 --pipeline 1 --subscribers 1
              fluxbus-bench --scenario all
              fluxbus-bench --scenario client              the library against the raw loop
              fluxbus-bench --scenario stores --stores 10000 --json

            Scenarios, each a set of options that may be overridden:
              dispatch   one store; 1 and 50 connections, with and without pipelining, with and without a subscriber
              fanout     one store, 100 and 1000 subscribers
              latency    one action at a time, the next when its reply and its delivery are in
              stores     one action over 1000 stores, with a subscriber
              engine     the parts of the daemon inside this process, without a bus: nanoseconds of CPU each
              growth     the same for one commit, as stores, idle subscribers, state and history grow a thousandfold
              client     what the client library costs: the same load from this program's loop of prepared lines, from \
            one task with startDispatch, and from that with keys; then the shares of the first that the others reach

            The stores it makes are ephemeral and named bench-…; with one store only that one is dispatched to, with \
            more every store of the type is, also yours. Every reply and every delivery is counted: the code is 1 when \
            one is missing or too many, 69 when the bus can't be reached.

            One thread generates the load; the client library adds its own. Where the server's share of a core is well below 100 %, the rate is this \
            program's limit, and CPU per dispatch is what to compare.
            """,
        version: "0.1.0")

    @Option(help: "Where the bus listens: unix:/PATH or tcp:HOST:PORT; as for fluxbus by default.")
    var address: String?

    @Option(
        help:
            "A set of runs: dispatch, fanout, latency, stores, client, engine, growth or all (that need a bus)."
    )
    var scenario: Scenario?

    @Option(name: .shortAndLong, help: "Connections that dispatch. (default: 50)")
    var connections: Int?

    @Option(name: [.customShort("P"), .long], help: "Requests on their way per connection. (default: 64)")
    var pipeline: Int?

    @Option(name: .shortAndLong, help: "Connections that subscribe. (default: 0)")
    var subscribers: Int?

    @Option(help: "Stores of the type. (default: 1)")
    var stores: Int?

    @Option(help: "The state type.")
    var type = "counter"

    @Option(help: "The action; it must change the state each time, or nothing is delivered.")
    var action = "increment"

    @Option(help: "The payload, a JSON object.")
    var payload = "{}"

    @Option(name: [.customShort("n"), .long], help: "Requests per run; without it, runs go by --duration.")
    var requests: Int?

    @Option(help: "Seconds per run.")
    var duration = 2.5

    @Option(help: "The server's process, for its CPU. (default: the peer of a Unix socket)")
    var pid: Int32?

    @Flag(help: "Never sleep: poll for events, so that waking this program adds no latency.")
    var spin = false

    @Flag(help: "Dispatch to the type also with one store.")
    var global = false

    @Flag(help: "Print one JSON object per run.")
    var json = false

    @Option(help: "With --scenario growth: a file for the picture of its curves (SVG).")
    var picture: String?

    func validate() throws {
        for (name, value) in [("connections", connections), ("pipeline", pipeline), ("stores", stores)] {
            guard value ?? 1 >= 1 else { throw ValidationError("--\(name) must be at least 1.") }
        }
        guard subscribers ?? 0 >= 0 else { throw ValidationError("--subscribers can't be negative.") }
        guard requests ?? 1 >= 1 else { throw ValidationError("--requests must be at least 1.") }
        guard picture == nil || scenario == .growth else {
            throw ValidationError("--picture goes with --scenario growth.")
        }
        guard duration > 0, duration <= 86_400 else {
            throw ValidationError("--duration must be above 0 and at most a day.")
        }
        guard (try? JSON(parsing: payload))?.object != nil else {
            throw ValidationError("--payload must be a JSON object, as in '{\"by\": 1}'.")
        }
    }

    func run() throws {
        signal(SIGPIPE, SIG_DFL)
        if scenario == .engine { return try measureEngine() }
        if scenario == .growth { return try measureGrowth() }
        Self.raiseDescriptorLimit()
        let loads = (scenario?.loads ?? [Load(name: "custom", connections: 50, pipeline: 64)]).map(overridden)
        var distinct: [Load] = []
        for load in loads where !distinct.contains(load) { distinct.append(load) }
        do {
            var complete = true
            var comparison = ClientComparison()
            for load in distinct {
                let bench = try Bench(load: load, command: self)
                let result = try bench.run()
                complete = complete && result.shortfall == nil
                print(json ? result.json.encoded : result.text)
                comparison.add(result)
                fflush(nil)
            }
            if !json, let text = comparison.text { print(text) }
            if !complete { throw ExitCode(1) }
        } catch let error as BusError {
            let message = Array("fluxbus-bench: \(error.message)\n".utf8)
            _ = message.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
            throw ExitCode(Self.status(of: error))
        }
    }

    private func measureEngine() throws {
        try EngineBench(duration: duration).run { figures in
            print(json ? figures.json.encoded : figures.text)
            fflush(nil)
        }
    }

    private func measureGrowth() throws {
        let curves = try GrowthBench(duration: duration).run { curve in
            print(json ? curve.json.encoded : curve.text)
            fflush(nil)
        }
        guard let picture else { return }
        guard let file = fopen(picture, "w") else {
            throw ValidationError("\(picture) can't be written; name a file in a directory that is yours.")
        }
        fputs(GrowthPicture(curves: curves).svg, file)
        fclose(file)
    }

    private func overridden(_ load: Load) -> Load {
        var load = load
        // The library is measured on one connection, and what it is compared with too.
        if !load.name.hasPrefix("client") { load.connections = connections ?? load.connections }
        load.pipeline = pipeline ?? load.pipeline
        if !load.name.hasPrefix("client") { load.subscribers = subscribers ?? load.subscribers }
        load.stores = stores ?? load.stores
        if global { load.isGlobal = true }
        return load
    }

    private static func status(of error: BusError) -> Int32 {
        switch error.code {
        case .unreachable, .closed: 69
        case .invalidAddress: 64
        case .timedOut, .limit, .unavailable: 75
        case .forbidden, .unauthorized: 77
        case .internal, .unexpectedReply: 70
        default: 65
        }
    }

    /// As many descriptors as the system lets this process have: each connection takes one.
    private static func raiseDescriptorLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
