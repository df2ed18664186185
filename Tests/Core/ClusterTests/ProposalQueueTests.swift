import BusCluster
import BusMachine
import TestSupport
import Testing

/// Entries wait for the shared log as lines wait for a turn.
@Suite struct ProposalQueueTests {
    private func member() throws -> ClusterMember {
        let replica = Replica(try ClusterBuild.usual.machine(), history: ClusterSimulation.history)
        return ClusterMember(name: "m", replica: replica, now: 0)
    }

    /// A member that has read the log and may propose.
    private func present() throws -> ClusterMember {
        let member = try member()
        member.receive([.attached(cluster: "c")], now: 0)
        let barriers = member.takeOutputs().compactMap {
            if case .barrier(let number) = $0 { number } else { nil }
        }
        member.receive(barriers.map { .barrier($0) }, now: 0)
        let joined = OrderedEntry(place: 1, .joined(member: "m", report: []))
        member.receive([.joined(incarnation: 1), .entry(joined)], now: 0)
        #expect(member.canPropose)
        // It says at once what it knows.
        for case .propose(let name, let content) in member.takeOutputs() {
            let entry = OrderedEntry(place: 2, .proposal(name, content))
            member.receive([.proposed(name, .acknowledged(place: 2)), .entry(entry)], now: 0)
        }
        return member
    }

    private func entry(_ session: Int, _ line: String) -> ClusterEntry {
        ClusterEntry(session: session, by: ClusterEntry.daemon, .request(Array(line.utf8)))
    }

    /// The sessions and lines of the proposal that the member wants in the log.
    private func proposed(by member: ClusterMember) throws -> [(session: Int, line: String)] {
        let contents = member.takeOutputs().compactMap {
            if case .propose(_, let content) = $0 { content } else { nil }
        }
        return try ProposalContent(#require(contents.last)).entries.map {
            guard case .request(let line) = $0.command else { return ($0.session, "") }
            return ($0.session, String(decoding: line, as: UTF8.self))
        }
    }

    @Test func usersAndThenTheirSessionsTakeTurns() throws {
        let member = try present()
        let many = (0..<400).map { (entry: entry($0 % 40, "\($0)"), ticket: $0, user: 1) }
        let few = (0..<10).map { (entry: entry(99, "\($0)"), ticket: 1000 + $0, user: 2) }
        member.submit(many + few, now: 0)
        let proposed = try proposed(by: member)
        #expect(proposed.count == 410)
        // Half of the first ones are of the user who has few, though the others came before.
        #expect((9...11).contains(proposed.prefix(20).count { $0.session == 99 }))
        // Each of the first user's sessions has had a turn before one has its second.
        let others = proposed.filter { $0.session != 99 }
        #expect(Set(others.prefix(40).map(\.session)).count == 40)
        for session in Set(proposed.map(\.session)) {
            let lines = proposed.filter { $0.session == session }.compactMap { Int($0.line) }
            #expect(lines == lines.sorted())
        }
    }

    /// Whoever sends as much as it can leaves as much for others.
    @Test func oneUserDoesNotFillTheQueue() throws {
        let member = try member()
        let line = String(repeating: "x", count: 100_000)
        func accepted(of user: Int) -> Int {
            var accepted = 0
            while accepted < 1000 {
                member.submit(entry(user, line), ticket: 0, user: user, now: 0)
                let isRefused = member.takeOutputs().contains { if case .failed = $0 { true } else { false } }
                if isRefused { break }
                accepted += 1
            }
            return accepted
        }
        let most = ClusterLimits.waiting / line.utf8.count
        #expect((most / 2 - 2...most / 2).contains(accepted(of: 1)))
        #expect((most / 4 - 2...most / 4 + 1).contains(accepted(of: 2)))
        #expect(accepted(of: 3) > most / 10)
    }
}
