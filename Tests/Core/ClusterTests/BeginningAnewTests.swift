import BusCluster
import BusMachine
import TestSupport
import Testing

/// A bus starts over with the states of one member, where its log goes on from nothing that anybody has; and who holds a
/// session by its name.
@Suite struct BeginningAnewTests {
    private static let anna = Array(#"{"token":"anna","address":"a"}"#.utf8)

    private func replica() throws -> Replica {
        let replica = Replica(try ClusterBuild.usual.machine(), history: ClusterSimulation.history)
        _ = try replica.apply(OrderedEntry(place: 1, .joined(member: "m", report: [])))
        return replica
    }

    private func copy(_ replica: Replica) throws -> Replica {
        try replica.snapshot().withUnsafeBytes {
            try Replica(restoring: $0, hashSeed: 1, history: ClusterSimulation.history)
        }
    }

    private func entry(_ session: Int, _ command: ClusterEntry.Command) -> ClusterEntry {
        ClusterEntry(session: session, by: Self.anna, command)
    }

    private func request(_ session: Int, _ line: String) -> ClusterEntry {
        entry(session, .request(Array(line.utf8)))
    }

    /// The n-th proposal of a member that has joined at a place, by what a replica has seen.
    private func proposal(
        _ entries: [ClusterEntry], of member: String = "m", _ number: Int, joined: Int = 1, at place: Int,
        seenBy replica: Replica
    ) -> OrderedEntry {
        let content = ProposalContent(
            clock: ClusterSimulation.begin, evidence: replica.evidence, entries: entries)
        return OrderedEntry(
            place: place,
            .proposal(ProposalName(member: member, incarnation: joined, number: number), content.encoded))
    }

    private func beginning(of replica: Replica) -> ClusterEntry {
        let beginning = BusBeginning(
            epoch: replica.machine.epoch, revision: replica.machine.revision,
            digest: replica.machine.stateDigest)
        return entry(0, .configure(Array("{\"begin\":\(beginning.json.encoded)}".utf8)))
    }

    /// A member waits for a snapshot because the log was trimmed, and meanwhile the log goes back. The snapshot that it gets is
    /// older than what it has, and behind a barrier: so what it had is lost, and it shows that to all.
    @Test func currentSnapshotThatIsOlderShowsALoss() throws {
        let full = try replica()
        let older = try copy(full)
        let add = #"{"op":"dispatch","store":"counter/a","action":"add","payload":{"mark":1}}"#
        _ = try full.apply(proposal([request(1, add)], 1, at: 2, seenBy: full))
        for isCurrent in [false, true] {
            let member = ClusterMember(name: "m", replica: try copy(full), cluster: "c", now: 0)
            member.receive([.attached(cluster: "c")], now: 0)
            member.receive([.trimmedAway(through: 90)], now: 0)
            _ = member.takeOutputs()
            member.begin(with: try copy(older), isFromMember: isCurrent, now: 0)
            #expect(member.proof == (isCurrent ? full.evidence : nil))
        }
    }

    @Test func onlyWhoHasTheSameBeginsAnew() throws {
        let first = try replica()
        let behind = try copy(first)
        let add = #"{"op":"dispatch","store":"counter/a","action":"add","payload":{"mark":1}}"#
        _ = try first.apply(proposal([request(1, add)], 1, at: 2, seenBy: first))
        let (same, follower) = (try copy(first), try copy(first))
        let epoch = first.machine.epoch
        for replica in [first, same, behind] { replica.beginAnew(behind: 40) }
        // Whoever has the same of it chooses the same.
        #expect(first.machine.epoch == same.machine.epoch && first.machine.epoch != behind.machine.epoch)
        #expect(first.machine.epoch != epoch && first.earlierEpochs == [epoch])
        let joined = OrderedEntry(place: 50, .joined(member: "n", report: []))
        // Of what is asked for before there is a bus, nothing counts.
        let early = proposal([request(1, add)], of: "n", 1, joined: 50, at: 51, seenBy: first)
        let begin = proposal([beginning(of: first)], of: "n", 2, joined: 50, at: 52, seenBy: first)
        for replica in [first, same] {
            for entry in [joined, early, begin] { _ = try replica.apply(entry) }
            #expect(replica.hasBegun && replica.machine.state(at: "counter/a")?["count"] == 1)
        }
        #expect(first.digest == same.digest)
        // Who has less, and who goes on from a log that others do not have, need a snapshot.
        for replica in [behind, follower] {
            for entry in [joined, early] { _ = try replica.apply(entry) }
            #expect(throws: ReplicaStop.otherBeginning(place: 52)) { _ = try replica.apply(begin) }
        }
        // What was seen in the epoch before is no news.
        let proof = ProposalContent(
            clock: ClusterSimulation.begin,
            evidence: Evidence(epoch: epoch, link: ChainLink(place: 51, input: .zero, output: .zero)),
            entries: [])
        let shown = try first.apply(
            OrderedEntry(
                place: 53, .proposal(ProposalName(member: "n", incarnation: 50, number: 3), proof.encoded)))
        #expect(shown?.void == .lostLog && shown?.epoch == nil)
    }

    /// A session in which nothing is left any more keeps no name from the one in which there is something.
    @Test func emptiedSessionIsNotFoundByItsName() throws {
        let replica = try replica()
        let will =
            #"{"op":"will","actions":[{"store":"counter/w","action":"add","payload":{"mark":7}}]}"#
        let hello = ClusterEntry.Command.sessionNamed("s", linger: 900)
        var resumed: [Bool?] = []
        let entries = [
            entry(1, hello), request(1, will), request(1, #"{"op":"will","actions":[]}"#),
            entry(2, hello), request(2, will), entry(3, hello),
        ]
        for (index, entry) in entries.enumerated() {
            let applied = try replica.apply(
                proposal([entry], index + 1, at: 2 + index, seenBy: replica))
            guard case .done(let reply)? = applied?.outcomes.first else {
                Issue.record("\(entry) is refused.")
                return
            }
            if case .sessionNamed = entry.command { resumed.append(reply.isResumed) }
        }
        #expect(resumed == [false, false, true])
        #expect(replica.strayedSessions.isEmpty)
        // It ends with who has it now.
        _ = try replica.apply(
            OrderedEntry(place: 20, .ended(members: ["m"])))
        _ = try replica.apply(OrderedEntry(place: 21, .joined(member: "m", report: [])))
        let late = ProposalContent(
            clock: ClusterSimulation.begin + 2000, evidence: replica.evidence, entries: [])
        _ = try replica.apply(
            OrderedEntry(
                place: 22, .proposal(ProposalName(member: "m", incarnation: 21, number: 1), late.encoded)))
        #expect(replica.machine.state(at: "counter/w")?["count"] == 1)
        #expect(replica.machine.sessionCount == 0)
    }
}
