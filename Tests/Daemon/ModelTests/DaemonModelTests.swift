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
        _ = try ModelRun.figures(
            from: Self.seed, requests: Self.requests, of: min(Self.requests, Self.requestsOfSeed), on: ground)
    }

    @Test func daemonAnswersAsTheModel() throws { try run(on: .daemon) }

    @Test(.enabled(if: TestEtcd.isInstalled, "\(TestEtcd.isMissing)"))
    func membersOfOneBusAnswerAsTheModel() throws { try run(on: .members(2)) }
}
