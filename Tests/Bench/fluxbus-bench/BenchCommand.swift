import ArgumentParser
import BusJSON
import FluxBus
import Glibc

/// `fluxbus-bench`: the throughput and latency of a bus, and what they cost the server.
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
              kinds      what real clients mix: one store, 1000 stores in turn, keys, rules, reads, batches of two, \
            and all of them; beside each other
              fanout     one store, 100 and 1000 subscribers; with pipelining, and one action at a time
              latency    one action at a time, the next when its reply and its delivery are in; 50 clients with one each
              stores     one action over 1000 stores, and over 100 000, with a subscriber
              durable    dispatches to a bus with a log, synced always and at an interval; 50 connections, with and \
            without pipelining
              transfer   one of 100 000 accounts pays another, drawn alike and by Zipf's law; 64 connections, 40 on their way \
            each; without a log and synced always; deploy/compare-transfer measures PostgreSQL and Redis beside it
              memory     bytes per idle subscriber, of 10 000, and per store, of 1 000 000
              start      milliseconds to start on a log of 1 000 000 commits, from a snapshot and by replaying them
              engine     the parts of the daemon inside this process, without a bus: nanoseconds of CPU each
              values     the same beside 1 000 000 stores, with views, conditions of subscribers, and an index
              instructions  what the engine executes for a request of each kind, counted step by step
              growth     the same for one commit, as stores, idle subscribers, state and history grow a thousandfold
              client     what the client library costs: the same load from this program's loop of prepared lines, from \
            one task with startDispatch, and from that with keys; then the shares of the first that the others reach
              flux       nanoseconds of CPU for a dispatch to a store of the Flux library, inside this process, observed by \
            nobody, by one and by 3000 (--subscribers); deploy/compare-reswift measures ReSwift beside it
              hostile    what an innocent client at 1000 dispatches a second sees beside attacks, each with one hostile \
            connection and with many, and what they cost the daemon; not part of all

            The scenarios kinds, durable, transfer, memory, start and hostile have daemons of their own, which --daemon names; so have \
            all others with --daemon or --scenario all, unless --address names a bus. At its end, a table shows all \
            results.

            Of an attack the table shows reply latency from when a request was due, the longest silence (of replies, or \
            of events for a subscriber) while something was due, requests that failed, the daemon's CPU, the most \
            memory, what of it stays, and the longest time between two beats of its watchdog; the code is 1 when any \
            of it is worse than it may be. The attack nobody tells what the machine itself does. --seconds, --attack, \
            --stores, --memory and --list go with it.

            The stores it makes are ephemeral and named bench-…; with one store only that one is dispatched to, with \
            more every store of the type is, also yours. Every reply and every delivery is counted: the code is 1 when \
            one is missing or too many, 69 when the bus can't be reached.

            One thread generates the load; the client library adds its own. Where the server's share of a core is well \
            below 100 %, the rate is this program's limit, and CPU per dispatch is what to compare.
            """)

    @Option(
        help: "Where the bus listens: unix:/PATH, tcp:HOST:PORT or tls:HOST:PORT; as for fluxbus by default.")
    var address: String?

    @Option(help: "A file with the token for a bus on TCP (or $FLUXBUS_TOKEN).")
    var tokenFile: String?

    @Option(help: "The authorities that sign the certificates of buses on TLS (or $FLUXBUS_CA).")
    var ca: String?

    @Option(help: "A certificate that a bus on TLS knows this program by (or $FLUXBUS_CERTIFICATE).")
    var certificate: String?

    @Option(help: "The key of the certificate (or $FLUXBUS_KEY).")
    var key: String?

    /// What TLS needs, of options and environment.
    var tls: TLSOptions {
        TLSOptions(ca: ca, certificate: certificate, key: key).filled(from: BenchEnvironment.variables())
    }

    @Option(
        help:
            "A set of runs: dispatch, kinds, fanout, latency, stores, durable, transfer, client, flux, memory, start, engine, values, instructions, growth, hostile or all."
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

    @Option(
        name: .customLong("duration"),
        help: ArgumentHelp(
            "Seconds per run. (default: $FLUXBUS_BENCH_DURATION, else 2.5)", valueName: "duration"))
    var givenDuration: Double?

    var duration: Double { givenDuration ?? BenchEnvironment.duration ?? 2.5 }

    @Option(help: "The server's process, for its CPU. (default: the peer of a Unix socket)")
    var pid: Int32?

    @Option(help: "The daemon to start where one is needed. (default: fluxbusd beside this program)")
    var daemon: String?

    @Option(help: "Where its log is, inside a directory that goes afterwards: on the disk to be measured.")
    var directory = "/var/tmp"

    @Flag(help: "Never sleep: poll for events, so that waking this program adds no latency.")
    var spin = false

    @Flag(help: "Dispatch to the type also with one store.")
    var global = false

    @Flag(help: "Print one JSON object per run.")
    var json = false

    @Option(help: "With --scenario growth: a file for the picture of its curves (SVG).")
    var picture: String?

    @Option(
        name: .customLong("seconds"),
        help: ArgumentHelp(
            "With --scenario hostile: seconds per attack. (default: $FLUXBUS_BENCH_DURATION, else 10)",
            valueName: "seconds"))
    var givenSeconds: Double?

    var seconds: Double { givenSeconds ?? BenchEnvironment.duration ?? 10 }

    @Option(help: "With --scenario hostile: only this attack; may stand several times.")
    var attack: [String] = []

    @Option(help: "With --scenario hostile: the daemon's limits.memory, in MiB.")
    var memory = 256

    @Option(
        help:
            "With --scenario hostile, as root: attack as the user with this uid. The innocent client is the one with the next, and each attack is measured beside a busy client."
    )
    var user: UInt32?

    @Flag(help: "With --scenario hostile: only list the attacks.")
    var list = false

    /// Only execute what --scenario instructions counts.
    @Flag(help: .hidden)
    var counted = false

    func validate() throws {
        for (name, value) in [("connections", connections), ("pipeline", pipeline), ("stores", stores)] {
            guard value ?? 1 >= 1 else { throw ValidationError("--\(name) must be at least 1.") }
        }
        guard subscribers ?? 0 >= 0 else { throw ValidationError("--subscribers can't be negative.") }
        guard requests ?? 1 >= 1 else { throw ValidationError("--requests must be at least 1.") }
        guard picture == nil || scenario == .growth else {
            throw ValidationError("--picture goes with --scenario growth.")
        }
        if let scenario, scenario.needsOwnDaemon {
            guard address == nil else {
                throw ValidationError(
                    "--scenario \(scenario.rawValue) has its own daemon; leave --address out.")
            }
            guard type == "counter", action == "increment" else {
                throw ValidationError("The daemon of this scenario knows only counter and increment.")
            }
        }
        guard scenario != .transfer || stores == nil else {
            throw ValidationError("--scenario transfer has 100000 accounts; leave --stores out.")
        }
        guard scenario == .hostile || (attack.isEmpty && !list) else {
            throw ValidationError("--attack and --list go with --scenario hostile.")
        }
        guard user == nil || scenario == .hostile && geteuid() == 0 else {
            throw ValidationError("--user goes with --scenario hostile, and takes root.")
        }
        guard seconds > 0, seconds <= 86_400 else {
            throw ValidationError("--seconds must be above 0 and at most a day.")
        }
        guard (16...1 << 20).contains(memory) else {
            throw ValidationError("--memory must be within 16 and 1048576 MiB.")
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
        Self.raiseDescriptorLimit()
        do {
            let run = try BenchRun(self)
            if let scenario {
                for part in scenario.parts { try run.measure(part) }
            } else {
                try run.measure(nil)
            }
            run.end()
            if !run.isComplete { throw ExitCode(1) }
        } catch let error as BusError {
            let message = Array("fluxbus-bench: \(error.message)\n".utf8)
            _ = message.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
            throw ExitCode(Self.status(of: error))
        }
    }

    /// The load with the overrides of the options.
    func overridden(_ load: Load) -> Load {
        var load = load
        // The library is measured on one connection, and so is the load it is compared with.
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
        case .invalidAddress, .invalidOptions: 64
        case .timedOut, .limit, .unavailable: 75
        case .forbidden, .unauthorized, .untrusted: 77
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
