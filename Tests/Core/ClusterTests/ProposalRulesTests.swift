import BusCluster
import BusMachine
import Testing

/// When a member proposes again, and by which rules.
@Suite struct ProposalRulesTests: OneMember {
    /// A log that is full refuses each proposal at once, for as long as its operator needs.
    @Test func aProposalThatIsRefusedWaits() throws {
        let (member, _) = try present()
        member.submit(request(), ticket: 1, now: Self.begin)
        var sent = proposed(member.takeOutputs())
        let failure = OrderedLogFailure(.full, "It has no room.")
        var now = Self.begin
        for _ in 1...3 {
            let name = try #require(sent.first)
            for _ in 1...100 {
                member.receive([.proposed(name, .notProposed(failure))], now: now)
                #expect(proposed(member.takeOutputs()) == [])
            }
            member.tick(now: now + ClusterLimits.proposeAgain - 1)
            #expect(proposed(member.takeOutputs()) == [])
            now += ClusterLimits.proposeAgain
            member.tick(now: now)
            sent = proposed(member.takeOutputs())
            #expect(sent == [name])
        }
        // What is lost with its connection is sent on the next one.
        let lost = OrderedLogFailure(.unreachable, "It is away.")
        for outcome in [ProposalOutcome.unknown(lost), .notProposed(lost)] {
            member.receive([.proposed(sent[0], outcome)], now: now)
            #expect(proposed(member.takeOutputs()) == sent)
        }
    }

    /// New rules wait until all members that are present know them; from then on they stay.
    @Test func rulesComeIntoForceWhenAllKnowThem() throws {
        let (member, _) = try present()
        var place = member.replica.link.place
        func rules() throws -> Int? {
            member.submit(request(), ticket: 1, now: Self.begin)
            for case .propose(let name, let content) in member.takeOutputs() {
                place += 1
                member.receive(
                    [
                        .proposed(name, .acknowledged(place: place)),
                        .entry(OrderedEntry(place: place, .proposal(name, content))),
                    ], now: Self.begin)
                return try ProposalContent(content).rules
            }
            return nil
        }
        func report(_ rules: Int?) -> [UInt8] {
            let report = MemberReport(stored: 0, revision: 0, .init(rules: rules ?? 1)).encoded
            return rules == nil ? report.dropLast() : report
        }
        func tell(_ content: OrderedEntry.Content) {
            place += 1
            member.receive([.entry(OrderedEntry(place: place, content))], now: Self.begin)
        }
        #expect(MemberReport(report(nil))?.about.rules == ClusterLimits.rulesBeforeReports)
        let (before, now) = (ClusterLimits.rulesBeforeReports, ClusterLimits.rules)
        member.replica.machine.rules = before
        tell(.joined(member: "n", report: report(nil)))
        #expect(try rules() == before)
        tell(.reported(member: "n", incarnation: 3, report: report(now)))
        tell(.joined(member: "o", report: report(before)))
        #expect(try rules() == before)
        tell(.ended(members: ["o"]))
        #expect(try rules() == now)
        // It would stop at what is in the log already.
        tell(.joined(member: "o", report: report(nil)))
        #expect(try rules() == now)
    }
}
