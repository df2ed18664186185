import BusCluster
import BusMachine
import TestSupport
import Testing

/// Rules of members that random runs hardly need, one by one.
@Suite struct MemberRuleTests: OneMember {
    /// The only member with a clock has gone. The first one of those after it can't move the time as it likes.
    @Test func clocksOfNewcomersAreBounded() throws {
        let replica = try replica()
        _ = try replica.apply(joined("m", at: 1))
        _ = try replica.apply(proposal(of: "m", joined: 1, 1, at: 2, replica.evidence))
        _ = try replica.apply(OrderedEntry(place: 3, .ended(members: ["m"])))
        for (member, place) in [("n", 4), ("o", 5)] { _ = try replica.apply(joined(member, at: place)) }
        let late = Self.begin + 3_600_000
        let applied = try replica.apply(
            proposal(of: "n", joined: 4, 1, at: 6, clock: late, replica.evidence))
        #expect(replica.machine.time == Self.begin + ClusterLimits.clockLead)
        #expect(applied?.clockAhead == 3_600_000 - ClusterLimits.clockLead)
    }

    /// Two members have seen the history that the log has lost. There is one new epoch, not one for each of them.
    @Test func aLossIsNoticedOnce() throws {
        let lost = try replica()
        _ = try lost.apply(joined("x", at: 1))
        _ = try lost.apply(proposal(of: "x", joined: 1, 1, at: 2, lost.evidence))
        let replica = try replica()
        _ = try replica.apply(joined("m", at: 1))
        _ = try replica.apply(proposal(of: "m", joined: 1, 1, at: 2, replica.evidence))
        let seen = Evidence(epoch: "lost", link: lost.link)
        for (member, place) in [("n", 3), ("o", 4)] { _ = try replica.apply(joined(member, at: place)) }
        let first = try replica.apply(proposal(of: "n", joined: 3, 1, at: 5, seen))
        #expect(first?.epoch != nil)
        let second = try replica.apply(proposal(of: "o", joined: 4, 1, at: 6, seen))
        #expect(second?.epoch == nil && replica.machine.epoch == first?.epoch)
    }

    /// Each shows its clock less often, so that idle members cost less; yet more often than a lead may be long.
    @Test(arguments: [(3, 10_000), (10, 10_000), (30, 30_000), (250, 50_000)])
    func manyMembersShowTheirClocksLessOften(members: Int, interval: Int) throws {
        let (member, _) = try present()
        let others = (1..<members).map { OrderedLogEvent.entry(joined("m\($0)", at: 2 + $0)) }
        member.receive(others, now: Self.begin)
        let before = Self.begin + interval - 1
        let clock = proposal(
            of: "m1", joined: 3, 1, at: 2 + members, clock: before, member.replica.evidence)
        member.receive([.entry(clock)], now: before)
        member.tick(now: before)
        #expect(proposed(member.takeOutputs()) == [])
        member.tick(now: Self.begin + interval)
        #expect(proposed(member.takeOutputs()).count == 1)
        #expect(interval < ClusterLimits.clockLead)
    }

    /// However seldom each of them does, the time of the bus goes on.
    @Test func theFirstMemberMovesTheTimeOn() throws {
        let (member, _) = try present()
        let others = (1..<250).map { OrderedLogEvent.entry(joined("m\($0)", at: 2 + $0)) }
        member.receive(others, now: Self.begin)
        member.tick(now: Self.begin + ClusterLimits.heartbeat - 1)
        #expect(proposed(member.takeOutputs()) == [])
        member.tick(now: Self.begin + ClusterLimits.heartbeat)
        #expect(proposed(member.takeOutputs()).count == 1)
    }

    /// One that is idle proposes seldom; its reports say how far it has come.
    @Test func reportsShowRevisions() throws {
        let (member, _) = try present()
        func revision() -> Int? { member.members.first { $0.name == "n" }?.revision }
        member.receive([.entry(joined("n", at: 3))], now: Self.begin)
        #expect(revision() == 0)
        let report = MemberReport(stored: 3, revision: 70).encoded
        let reported = OrderedEntry(place: 4, .reported(member: "n", incarnation: 3, report: report))
        member.receive([.entry(reported)], now: Self.begin)
        #expect(revision() == 70)
        // What it proposes shows less.
        let proposal = proposal(of: "n", joined: 3, 1, at: 5, member.replica.evidence)
        member.receive([.entry(proposal)], now: Self.begin)
        #expect(revision() == 70)
    }

    /// While the log can't be reached each would fail at once, and an outage would be spent on them.
    @Test func failedBarriersWaitForTheLog() throws {
        let (member, entries) = try present()
        func barriers() -> [Int] {
            member.takeOutputs().compactMap { if case .barrier(let number) = $0 { number } else { nil } }
        }
        func fail(_ number: Int) {
            let failure = OrderedLogFailure(.unreachable, "It is away.")
            member.receive([.barrierFailed(number, failure)], now: Self.begin)
        }
        member.sync(ticket: 7, now: Self.begin)
        let first = try #require(barriers().first)
        // It can be reached: not before the next tick.
        fail(first)
        #expect(barriers() == [])
        member.tick(now: Self.begin)
        let second = try #require(barriers().first)
        detach(member)
        fail(second)
        member.tick(now: Self.begin)
        #expect(barriers() == [])
        // Reading asks for its own one, and for that of the client.
        member.receive([.attached(cluster: "c")], now: Self.begin)
        let renewed = barriers()
        #expect(renewed.count == 2)
        member.receive(entries.map { .entry($0) } + renewed.map { .barrier($0) }, now: Self.begin)
        member.stored(through: 2, now: Self.begin)
        let synced = member.takeOutputs().contains { if case .synced(7, _) = $0 { true } else { false } }
        #expect(synced)
    }

    /// Said once, not with each of its proposals; and again where it has doubled.
    @Test func aClockThatIsAheadIsReportedOnce() throws {
        let (member, _) = try present()
        member.receive([.entry(joined("n", at: 3))], now: Self.begin)
        var place = 3
        func reports(clock: Int) -> Int {
            place += 1
            let entry = proposal(
                of: "n", joined: 3, place - 3, at: place, clock: clock, member.replica.evidence)
            member.receive([.entry(entry)], now: Self.begin)
            return member.takeOutputs().count {
                if case .notice(.clockAhead("n", _)) = $0 { true } else { false }
            }
        }
        let most = Self.begin + ClusterLimits.clockLead
        let (little, far) = (most + 999, most + 60_000)
        #expect([little, far, far + 1, far + 60_000].map(reports) == [0, 1, 0, 1])
        // It is right, and wrong again.
        #expect([Self.begin, far].map(reports) == [0, 1])
    }

    /// Nobody waits until it shows the same time again.
    @Test func clocksMayBeSetBack() throws {
        let (member, _) = try present()
        let back = Self.begin - 3_600_000
        member.sync(ticket: 7, now: Self.begin)
        member.tick(now: back)
        #expect(proposed(member.takeOutputs()) == [])
        member.tick(now: back + ClusterLimits.propose)
        let failed = member.takeOutputs().contains { if case .failed(7, _) = $0 { true } else { false } }
        #expect(failed)
        member.tick(now: back + ClusterLimits.heartbeat - 1)
        #expect(proposed(member.takeOutputs()) == [])
        member.tick(now: back + ClusterLimits.heartbeat)
        let clocks = try member.takeOutputs().compactMap { output in
            if case .propose(_, let content) = output { try ProposalContent(content).clock } else { nil }
        }
        #expect(clocks == [back + ClusterLimits.heartbeat])
    }

    /// Heartbeats alone hardly fill the log, and every member reads each report.
    @Test(arguments: [false, true]) func idleMembersReportSeldom(isIdle: Bool) throws {
        let (member, _) = try present()
        member.receive([.entry(joined("n", at: 3))], now: Self.begin)
        let line = #"{"op":"create","store":"counter/s"#
        func reports(after numbers: ClosedRange<Int>) -> Int {
            for number in numbers {
                let create = ClusterEntry(
                    session: 1, by: Array(ReplicaBus.anna.utf8), .request(Array("\(line)\(number)\"}".utf8)))
                let entry = proposal(
                    of: "n", joined: 3, number, at: 3 + number, member.replica.evidence,
                    isIdle ? [] : [create])
                member.receive([.entry(entry)], now: Self.begin)
            }
            member.stored(through: 3 + numbers.upperBound, now: Self.begin)
            return member.takeOutputs().count { if case .report = $0 { true } else { false } }
        }
        let trim = ClusterSimulation.history.trim
        #expect(reports(after: 1...trim / 4) == (isIdle ? 0 : 1))
        #expect(reports(after: trim / 4 + 1...trim) == 1)
    }

    /// Nothing is trimmed that a member which is present has not stored.
    @Test func trimmingWaitsForTheSlowest() throws {
        let (member, _) = try present()
        member.receive([.entry(joined("n", at: 3, stored: 3))], now: Self.begin)
        let count = ClusterSimulation.history.left + 2 * ClusterSimulation.history.trim
        for number in 1...count {
            let entry = proposal(of: "n", joined: 3, number, at: 3 + number, member.replica.evidence)
            member.receive([.entry(entry)], now: Self.begin)
        }
        func trims() -> [Int] {
            member.takeOutputs().compactMap { if case .trim(let through) = $0 { through } else { nil } }
        }
        member.stored(through: 3 + count, now: Self.begin)
        #expect(trims() == [])
        let report = MemberReport(stored: 3 + count, revision: 0).encoded
        let reported = OrderedEntry(
            place: 4 + count, .reported(member: "n", incarnation: 3, report: report))
        member.receive([.entry(reported)], now: Self.begin)
        #expect(trims().count == 1)
    }

    /// Nor what comes behind a snapshot that another member is being given: neither here nor, by the report, elsewhere.
    @Test func trimmingWaitsForWhoJoins() throws {
        let (member, _) = try present()
        let count = ClusterSimulation.history.left + 2 * ClusterSimulation.history.trim
        member.hold(behind: 2)
        for number in 1...count {
            let entry = joined("n\(number)", at: 2 + 2 * number)
            member.receive([.entry(entry)], now: Self.begin)
            let end = OrderedEntry(place: 3 + 2 * number, .ended(members: ["n\(number)"]))
            member.receive([.entry(end)], now: Self.begin)
        }
        func outputs() -> (trims: Int, stored: Int?) {
            var found: (trims: Int, stored: Int?) = (0, nil)
            for output in member.takeOutputs() {
                if case .trim = output { found.trims += 1 }
                if case .report(let bytes) = output { found.stored = MemberReport(bytes)?.stored }
            }
            return found
        }
        member.stored(through: 3 + 2 * count, now: Self.begin)
        #expect(outputs() == (0, nil))
        member.hold(behind: nil)
        member.tick(now: Self.begin)
        #expect(outputs() == (1, 3 + 2 * count))
    }

    /// An earlier run that the log has brought back is ended; another machine with this name is not.
    @Test(arguments: [(1, true), (9, false)])
    func onlyOwnRunsAreEnded(incarnation: Int, isOwn: Bool) throws {
        let (member, _) = try present()
        member.receive([.leaseLost(incarnation: 1)], now: Self.begin)
        _ = member.takeOutputs()
        let other = OrderedLogMember(name: "m", incarnation: incarnation, report: [])
        member.receive([.nameTaken(by: other, lease: 1000)], now: Self.begin)
        let outputs = member.takeOutputs()
        let ended = outputs.contains { if case .end("m", incarnation) = $0 { true } else { false } }
        // This run has had the name, so whoever has it now is no earlier one.
        let told = outputs.contains { if case .notice(.nameTaken) = $0 { true } else { false } }
        #expect(ended == isOwn && told == !isOwn)
    }

    /// Its end may come in order before anybody has told it.
    @Test func itsEndInTheLogIsItsEnd() throws {
        let (member, _) = try present()
        member.receive([.entry(OrderedEntry(place: 3, .ended(members: ["m"])))], now: Self.begin)
        #expect(!member.canPropose)
        let joins = member.takeOutputs().contains { if case .join = $0 { true } else { false } }
        #expect(joins)
    }

    /// As soon as the log is known to have lost what was there, nobody waits for the answer any longer.
    @Test func whoWaitsIsToldOfALossAtOnce() throws {
        let (member, _) = try present()
        member.submit(request(), ticket: 7, now: Self.begin)
        #expect(proposed(member.takeOutputs()).count == 1)
        detach(member)
        attach(member, [joined("other", at: 1)])
        let failures = member.takeOutputs().compactMap { output in
            if case .failed(7, let failure) = output { failure.outcome } else { nil }
        }
        #expect(failures == [.unknown])
    }

    /// What the log had acknowledged and has lost since, before it was read here, is proposed again.
    @Test func acknowledgedProposalsMayBeLost() throws {
        let (member, entries) = try present()
        member.submit(request(), ticket: 7, now: Self.begin)
        let name = try #require(proposed(member.takeOutputs()).first)
        member.receive([.proposed(name, .acknowledged(place: 3))], now: Self.begin)
        detach(member)
        attach(member, entries)
        member.tick(now: Self.begin)
        #expect(proposed(member.takeOutputs()) == [name])
    }

    /// Numbers that are out of step are under the next incarnation in step again.
    @Test func numbersOutOfStepBeginAnew() throws {
        let (member, _) = try present()
        let foreign = proposal(of: "m", joined: 1, 2, at: 3, member.replica.evidence)
        member.receive([.entry(foreign)], now: Self.begin)
        member.submit(request(), ticket: 7, now: Self.begin)
        let outputs = member.takeOutputs()
        guard
            case .propose(let name, let content) = outputs.first(where: {
                if case .propose = $0 { true } else { false }
            })
        else { return #expect(Bool(false), "Nothing was proposed.") }
        #expect(name.number == 2)
        member.receive([.entry(OrderedEntry(place: 4, .proposal(name, content)))], now: Self.begin)
        let leaves = member.takeOutputs().contains { if case .leave = $0 { true } else { false } }
        #expect(leaves)
    }

    /// A relay may pass on what the log has lost, before it knows: what is read without it is compared with that.
    @Test func whatARelayHasPassedOnIsComparedWithTheLog() throws {
        let (member, entries) = try present()
        let passed = OrderedLogEvent.reads(from: "tls:a:1", because: nil)
        member.receive([passed, .entry(joined("lost", at: 3))], now: Self.begin)
        _ = member.takeOutputs()
        member.receive([.reads(from: nil, because: "It is away.")], now: Self.begin)
        let readsAgain = member.takeOutputs().contains {
            if case .read(behind: 0, _) = $0 { true } else { false }
        }
        #expect(readsAgain)
        member.receive((entries + [joined("other", at: 4)]).map { .entry($0) }, now: Self.begin)
        let isLost = member.takeOutputs().contains {
            if case .notice(.logLost(behind: 2)) = $0 { true } else { false }
        }
        #expect(isLost)
        // Without a relay before, this changes nothing.
        member.receive([.reads(from: nil, because: nil)], now: Self.begin)
        #expect(member.takeOutputs().isEmpty)
    }
}
