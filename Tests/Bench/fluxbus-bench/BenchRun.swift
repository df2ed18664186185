import FluxBus
import Glibc

/// Runs scenarios one after the other, prints their results, and a summary.
final class BenchRun {
    private let command: BenchCommand
    /// The bus to load; nil: one of our own for each load.
    private let address: BusAddress?
    private let token: String?
    private var table = ResultTable()
    private var attacks = AttackTable()
    private var comparison = ClientComparison()
    private var kinds = KindComparison()
    private var done: [Load] = []
    /// Whether everything that was sent has been answered and delivered, in all loads.
    private(set) var isComplete = true

    init(_ command: BenchCommand) throws {
        self.command = command
        let environment = BenchEnvironment.variables()
        let hasOwn =
            command.address == nil
            && (command.scenario == .all || command.daemon != nil || command.scenario?.needsOwnDaemon == true)
        address = hasOwn ? nil : try BusAddress.resolve(command.address, environment: environment)
        token = try command.tokenFile.map(BenchEnvironment.token) ?? environment["FLUXBUS_TOKEN"]
    }

    /// Runs one scenario; nil: the one load that the options describe.
    func measure(_ scenario: Scenario?) throws {
        switch scenario {
        case .flux: measureFlux()
        case .memory: try measureMemory()
        case .start: try measureStart()
        case .engine: try measureEngine { try $0.run($1) }
        case .values: try measureEngine { try $0.runByValue($1) }
        case .instructions: try command.counted ? InstructionBench.execute() : InstructionBench.run(tell)
        case .growth: try measureGrowth()
        case .hostile: try measureHostile()
        default:
            let loads = scenario?.loads ?? [Load(name: "custom", connections: 50, pipeline: 64)]
            for load in loads.map(command.overridden) where !done.contains(load) {
                done.append(load)
                try measure(load)
            }
        }
    }

    /// Prints the summary of all results.
    func end() {
        guard !command.json else { return }
        if let text = comparison.text { print(text) }
        if let text = kinds.text { print(text) }
        if let text = attacks.text { print(text) }
        if command.scenario == .all { print("\n" + table.text) }
    }

    // MARK: - Scenarios

    private func measure(_ load: Load) throws {
        let result: BenchResult
        if load.sync == nil, let address {
            result = try Bench(load: load, command: command, address: address, token: token).run()
        } else {
            let place = try DaemonPlace(in: command.directory)
            let daemon = try OwnDaemon(program: program, in: place, sync: load.sync)
            defer { daemon.stop() }
            result = try Bench(load: load, command: command, address: daemon.address, token: nil).run()
        }
        isComplete = isComplete && result.shortfall == nil
        tell(command.json ? result.json.encoded : result.text)
        table.add(result)
        comparison.add(result)
        kinds.add(result)
    }

    private func measureMemory() throws {
        let bench = MemoryBench(
            program: program, directory: command.directory, subscribers: command.subscribers ?? 10_000,
            stores: command.stores ?? 1_000_000, idle: .seconds(6 * command.duration))
        try bench.run(tell)
    }

    private func measureStart() throws {
        let bench = StartBench(
            program: program, directory: command.directory, commits: command.requests ?? 1_000_000,
            stores: command.stores ?? 1000)
        try bench.run(tell)
    }

    private func measureEngine(
        _ run: (EngineBench, (EngineBench.Figures) -> Void) throws -> Void
    ) throws {
        try run(EngineBench(duration: command.duration)) { figures in
            tell(command.json ? figures.json.encoded : figures.text)
            table.add(
                "engine", figures.name, "\(Figure.decimal(figures.nanoseconds, 1)) ns a \(figures.unit)")
        }
    }

    private func measureFlux() {
        FluxBench(duration: command.duration, observers: command.subscribers ?? 3000).run { figures in
            isComplete = isComplete && figures.isComplete
            tell(command.json ? figures.json.encoded : figures.text)
            table.add("flux", figures.name, "\(Figure.decimal(figures.nanoseconds, 1)) ns")
        }
    }

    private func measureGrowth() throws {
        let curves = try GrowthBench(duration: command.duration).run { curve in
            tell(command.json ? curve.json.encoded : curve.text)
            for (factor, cost) in zip(GrowthBench.factors, curve.nanoseconds) {
                let size = Figure.rate(Double(curve.first * factor))
                table.add("growth", "\(size) \(curve.name)", "\(Figure.decimal(cost, 0)) ns a commit")
            }
        }
        guard let picture = command.picture else { return }
        guard let file = fopen(picture, "we") else {
            throw BusError(
                .forbidden, "\(picture) can't be written; name a file in a directory that is yours.")
        }
        fputs(GrowthPicture(curves: curves).svg, file)
        fclose(file)
    }

    private func measureHostile() throws {
        if command.list { return tell(AttackCatalog.listing) }
        let bench = HostileBench(
            program: program, directory: command.directory, seconds: command.seconds,
            stores: command.stores ?? 200_000, memory: command.memory << 20, user: command.user)
        try bench.run(AttackCatalog.named(command.attack)) { result in
            isComplete = isComplete && result.faults.isEmpty
            if command.json { tell(result.json.encoded) } else { tell(result.text) }
            attacks.add(result)
        }
    }

    // MARK: - What they share

    private func tell(_ measurement: Measurement) {
        tell(command.json ? measurement.json.encoded : measurement.text)
        table.add(measurement)
    }

    private func tell(_ text: String) {
        print(text)
        fflush(nil)
    }

    /// The daemon to start.
    private var program: String { command.daemon ?? BenchEnvironment.programDirectory + "/fluxbusd" }
}
