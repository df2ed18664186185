import Foundation
import Testing

/// What a client may not see makes no difference to what it receives, under random rules.
///
/// FLUXBUS_WORLD_REQUESTS sets how many requests are made, FLUXBUS_MODEL_SEED the first seed.
@Suite struct TwoWorldsTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let requests = Int(environment["FLUXBUS_WORLD_REQUESTS"] ?? "") ?? 2000
    private static let seed = UInt64(environment["FLUXBUS_MODEL_SEED"] ?? "") ?? 1
    private static let requestsOfSeed = 200

    @Test func whatIsHiddenMakesNoDifference() throws {
        var requests = 0
        var seed = Self.seed
        while requests < Self.requests {
            do {
                requests += try WorldRun(seed: seed).run(requests: Self.requestsOfSeed)
            } catch let found as WorldRun.Found {
                Issue.record("\(found)")
                return
            }
            seed += 1
        }
    }
}
