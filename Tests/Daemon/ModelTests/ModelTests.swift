import BusJSON
import Foundation
import Testing

/// A model of the whole bus, written from the contract, and the bus answer random requests alike, on random types.
///
/// FLUXBUS_MODEL_REQUESTS sets how many requests are made, FLUXBUS_MODEL_SEED the first seed.
@Suite struct ModelTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let requests = Int(environment["FLUXBUS_MODEL_REQUESTS"] ?? "") ?? 10_000
    private static let seed = UInt64(environment["FLUXBUS_MODEL_SEED"] ?? "") ?? 1
    private static let requestsOfSeed = 500

    @Test func busAnswersAsTheModel() throws {
        let figures = try ModelRun.figures(
            from: Self.seed, requests: Self.requests, of: Self.requestsOfSeed, on: .memory)
        // It is worth something only if it drives the bus into its corners.
        for corner in [
            "change", "coalesced", "resumptions", "actions live", "actions resumed", "happened in time",
            "reloads", "refused reloads", "done revert", "done history", "done cancel", "done will",
            "refused conflict", "refused rejected", "refused forbidden", "refused exists",
            "changed by each", "changed by patch", "changed by let", "changed by text",
            "changed by each in text",
        ] {
            #expect(figures[corner, default: 0] > 0, "Nothing of \(corner) happened: \(figures)")
        }
    }

    /// So does a member of a shared bus.
    @Test func sharedBusAnswersAsTheModel() throws {
        _ = try ModelRun.figures(
            from: Self.seed, requests: Self.requests / 3, of: Self.requestsOfSeed, on: .sharedMemory)
    }

    /// What differs by one line is found, and told in few steps.
    @Test(arguments: ["matched", "dropped", "cause", "until"])
    func whatDiffersIsFound(lie: String) throws {
        var run = ModelRun(seed: 3)
        run.between = { bus in
            LyingBus(bus) { line in
                guard var members = line.object, line["event"] != nil || lie == "matched" else { return line }
                if lie == "until" { return line["event"] == "change" && line["reset"] == nil ? nil : line }
                if lie == "matched", let count = line["matched"]?.int { members["matched"] = .int(count + 1) }
                if lie != "matched" { members[lie] = nil }
                return .object(members)
            }
        }
        let found = try #require(throws: ModelRun.Found.self) {
            try run.run(requests: 2 * Self.requestsOfSeed)
        }
        #expect(found.run.transcript.count < 40, "\(found)")
    }
}
