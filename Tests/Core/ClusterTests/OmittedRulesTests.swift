import BusCluster
import Testing

/// The simulation is worth what it finds: each rule that is left out comes to light, within so many seeds.
@Suite struct OmittedRulesTests {
    struct Omission: CustomTestStringConvertible {
        let name: String
        var rule: OmittedRules = []
        var handOver: HandOverRules = []
        /// Seeds within which it is found.
        var within: UInt64 = 20
        var isFirstOther = false
        var hasNewerRules = false

        var testDescription: String { name }
    }

    static let omissions = [
        Omission(name: "a proposal of an ended incarnation counts", rule: .incarnations),
        Omission(name: "a proposal counts twice", rule: .numbers),
        Omission(name: "sessions outlive their member", rule: .endsOfMembers),
        Omission(name: "time goes back", rule: .timeNeverBack),
        Omission(name: "a clock far ahead is believed", rule: .clockLead),
        Omission(name: "users of two machines are one", rule: .machineOfUser),
        Omission(name: "keys are not remembered", rule: .keys),
        Omission(name: "a lost log goes on in the same epoch", rule: .lostLog),
        Omission(name: "what rests on a lost log counts", rule: .voidAfterLoss),
        Omission(name: "every member chooses an epoch", rule: .agreedEpoch),
        Omission(name: "sessions do not wait for their clients", rule: .lingering),
        Omission(name: "what is due comes behind what is asked for", rule: .dueBeforeEntries),
        Omission(name: "a snapshot has no members", rule: .snapshotMembers),
        Omission(name: "a snapshot does not know whose sessions are", rule: .snapshotSessions),
        Omission(name: "a snapshot has one link of the chain", rule: .snapshotLinks),
        Omission(name: "an answer comes before it is durable", rule: .durableBeforeAnswer, within: 200),
        Omission(name: "an unknown outcome is said to be none", rule: .unknownOutcome),
        Omission(name: "what is proposed again is something else", rule: .sameAgain, within: 100),
        Omission(name: "what was read is not compared again", rule: .overlap, within: 100),
        Omission(name: "nobody shows what the log has lost", rule: .proofOfLoss, within: 100),
        Omission(name: "a barrier does not wait", rule: .barrier),
        Omission(
            name: "what was under way is forgotten with an incarnation", rule: .newIncarnation, within: 200),
        Omission(name: "a session's requests change their order", rule: .orderOfSession, within: 400),
        Omission(name: "a quiet member shows nothing", rule: .heartbeat),
        Omission(name: "divergence is not looked for", rule: .divergence, isFirstOther: true),
        Omission(name: "later rules are guessed at", rule: .rulesNumber, hasNewerRules: true),
    ]

    @Test(arguments: omissions)
    func omittedRuleIsFound(_ omission: Omission) throws { expectFinding(omission) }

    private func expectFinding(_ omission: Omission) {
        var setup = ClusterSimulation.Setup(omitted: omission.rule)
        setup.isFirstOther = omission.isFirstOther
        setup.hasNewerRules = omission.hasNewerRules
        (setup.handsOver, setup.unruly) = (!omission.handOver.isEmpty, omission.handOver)
        for seed in 0..<omission.within {
            do { try ClusterSimulation(seed: seed, setup).run() } catch { return }
        }
        Issue.record("Not found in \(omission.within) seeds: \(omission.name)")
    }

    static let handOverOmissions = [
        Omission(name: "a process leaves while something is on its way", handOver: .rest),
        Omission(name: "a process goes on with another copy", handOver: .place),
        Omission(name: "a process numbers its proposals anew", handOver: .number),
        Omission(name: "a process goes on as another member", handOver: .incarnation),
    ]

    @Test(arguments: handOverOmissions)
    func omittedRuleOfHandOverIsFound(_ omission: Omission) throws { expectFinding(omission) }

    /// The same without the omission is right.
    @Test func otherBuildAndLaterRulesStopWhoTheyConcern() throws {
        for seed in 0..<10 as Range<UInt64> {
            var setup = ClusterSimulation.Setup()
            setup.isFirstOther = seed % 2 == 0
            setup.hasNewerRules = seed % 2 == 1
            do {
                try ClusterSimulation(seed: seed, setup).run()
            } catch {
                Issue.record("Seed \(seed): \(error)")
            }
        }
    }
}
