import Foundation
import TestEtcd
import Testing

/// The daemon answers as the model, over sockets, killed and started again on its log; and so do two members of one bus, to whose
/// clients it is one.
///
/// FLUXBUS_DAEMON_REQUESTS sets how many requests are made of each, FLUXBUS_MODEL_SEED the first seed.
@Suite(.serialized) struct DaemonModelTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let requests = Int(environment["FLUXBUS_DAEMON_REQUESTS"] ?? "") ?? 400
    private static let seed = UInt64(environment["FLUXBUS_MODEL_SEED"] ?? "") ?? 1
    private static let requestsOfSeed = 400

    private func run(on ground: ModelRun.Ground) throws {
        var requests = 0
        var seed = Self.seed
        while requests < Self.requests {
            let figures = try ModelRun(seed: seed, on: ground).run(
                requests: min(Self.requests, Self.requestsOfSeed))
            requests += figures["requests"] ?? 0
            seed += 1
        }
    }

    @Test func daemonAnswersAsTheModel() throws { try run(on: .daemon) }

    @Test(.enabled(if: TestEtcd.isInstalled, "\(TestEtcd.isMissing)"))
    func membersOfOneBusAnswerAsTheModel() throws { try run(on: .members(2)) }
}
