import Foundation
import TestServer
import Testing

/// What the engine executes for a request, counted and not timed: a change that costs is seen here on any machine, however busy.
@Suite("The instructions that a request takes") struct InstructionTests {
    /// What a request took when this was written; for another processor, or by another compiler, it is something else.
    #if arch(x86_64) && compiler(>=6.3) && compiler(<6.4) && !DEBUG
        private static let hasFigures = true
    #else
        private static let hasFigures = false
    #endif
    private static let figures = [
        "one store, nobody watches": 2811.0,
        "one store, 1 subscriber": 3374,
        "one store, 100 subscribers": 7761,
        "kind: varied, of 100 stores, 1 subscriber": 3892,
        "kind: keyed, of 100 stores, 1 subscriber": 4626,
        "kind: rules, of 100 stores, 1 subscriber": 6926,
        "kind: get, of 100 stores, 1 subscriber": 2389,
        "kind: batch, of 100 stores, 1 subscriber": 7449,
    ]

    @Test func requestsTakeNoMoreInstructionsThanBefore() throws {
        // Some machines take more than a minute for a million steps.
        let bench = try RunningProgram("fluxbus-bench", ["--scenario", "instructions", "--json"])
        let outcome = try bench.wait(atMost: 600)
        if outcome.errors.contains("allow ptrace") {
            // As in some containers.
            return withKnownIssue { Issue.record("\(outcome.errors)") }
        }
        #expect(outcome.status == 0, "\(outcome.errors)")
        var counted: [String: Double] = [:]
        for line in outcome.output.split(separator: "\n") {
            let part = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            counted[try #require(part?["name"] as? String)] = part?["value"] as? Double
        }
        #expect(Set(counted.keys) == Set(Self.figures.keys))
        for (name, figure) in Self.figures {
            let count = try #require(counted[name])
            #expect(count > 1000, "\(name)")
            if Self.hasFigures { #expect(count < 1.1 * figure, "\(name)") }
        }
    }
}
