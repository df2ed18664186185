import BusJSON
import TestSupport
import Testing

/// One seed: random types, and random steps until there were enough requests.
struct ModelRun {
    let seed: UInt64
    let types: [JSON]
    let stores: [String]
    private let outbox: Int
    /// How the bus is given the definitions that the model has: with half of the seeds, as text where that says the same.
    private let written: (JSON) -> JSON

    /// On what it runs.
    enum Ground {
        /// An engine in memory, whose time is set by hand.
        case memory
        /// The same, as a member of a shared bus.
        case sharedMemory
        /// The daemon, as a process.
        case daemon
        /// Daemons that share a bus.
        case members(Int)
    }

    private let ground: Ground
    private let isOfProcesses: Bool
    /// What stands between the bus and its clients.
    var between: (any BusUnderTest) -> any BusUnderTest = { $0 }

    init(seed: UInt64, on ground: Ground = .memory) {
        var random = SeededGenerator(seed: seed)
        self.seed = seed
        self.ground = ground
        isOfProcesses =
            switch ground {
            case .memory, .sharedMemory: false
            case .daemon, .members: true
            }
        types = RandomTypes(isTimed: !isOfProcesses, &random).definitions
        stores = types.filter { _ in random.oneIn(2) }.map { "\($0["type"]!.string!)/a" }
        outbox = random.oneIn(2) ? 700 : 4 << 20
        written = { seed % 2 == 0 ? TextDefinition.written($0) : $0 }
    }

    func execution() throws -> Execution {
        let given = types.map(written)
        let bus: any BusUnderTest =
            switch ground {
            case .memory: try MemoryBusUnderTest(types: given, stores: stores, outbox: outbox)
            case .sharedMemory:
                try MemoryBusUnderTest(types: given, stores: stores, outbox: outbox, isShared: true)
            case .daemon: try DaemonBusUnderTest(types: given, stores: stores)
            case .members(let count): try DaemonBusUnderTest(types: given, stores: stores, members: count)
            }
        return Execution(between(bus), types: types, stores: stores, written: written)
    }

    /// Runs until it has made this number of requests. Returns the figures, or throws what differs.
    func run(requests: Int) throws -> [String: Int] {
        var random = SeededGenerator(seed: seed &+ 0x5eed)
        let execution = try execution()
        var steps: [Step] = []
        do {
            while execution.requests < requests {
                let step = RandomSteps.step(execution, &random)
                steps.append(step)
                try execution.run(step)
            }
        } catch let difference as Difference {
            throw Found(seed: seed, step: steps.count, difference: difference, run: shrunk(steps, difference))
        }
        var figures = execution.figures
        figures["requests"] = execution.requests
        return figures
    }

    /// The figures of one seed after the other, until all of them have made this number of requests. A seed that finds a
    /// difference is recorded as an issue, and the next one goes on, up to five.
    static func figures(
        from first: UInt64, requests: Int, of seed: Int, on ground: Ground
    ) throws -> [String: Int] {
        var figures: [String: Int] = [:]
        var next = first
        var found = 0
        while figures["requests", default: 0] < requests, found < 5 {
            do {
                figures.merge(try ModelRun(seed: next, on: ground).run(requests: seed), uniquingKeysWith: +)
            } catch {
                Issue.record(error is Found ? "\(error)" : "Seed \(next): \(error)")
                found += 1
            }
            next += 1
        }
        return figures
    }

    /// What a run found, with the fewest steps that still find it.
    struct Found: Error, CustomStringConvertible {
        let seed: UInt64
        let step: Int
        let difference: Difference
        let run: (transcript: [String], difference: Difference, types: [JSON])

        var description: String {
            let types = run.types.map { "type: \($0.encoded)\n" }.joined()
            return """
                Seed \(seed), step \(step): \(difference)
                In the fewest steps that show it, \(run.difference)
                \(types)\(run.transcript.suffix(60).joined(separator: "\n"))
                """
        }
    }

    // MARK: Fewer steps

    private func attempt(_ steps: [Step]) -> (execution: Execution, difference: Difference?, made: Int)? {
        guard let execution = try? execution() else { return nil }
        var made = 0
        do {
            for step in steps {
                made += 1
                try execution.run(step)
            }
        } catch { return (execution, error as? Difference, made) }
        return (execution, nil, made)
    }

    private func shrunk(
        _ steps: [Step], _ difference: Difference
    ) -> (transcript: [String], difference: Difference, types: [JSON]) {
        // A bus of processes takes seconds to start.
        let kept = fewest(of: steps, to: difference.subject, budget: isOfProcesses ? 1000 : 40_000) { steps in
            let attempt = attempt(steps)
            return (attempt?.difference?.subject, attempt?.made ?? 0)
        }
        guard let (execution, found, _) = attempt(kept), let found else { return ([], difference, types) }
        return (execution.transcript, found, types)
    }
}
