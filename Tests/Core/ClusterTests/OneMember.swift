import BusCluster
import BusMachine
import Testing

/// Tests of one member, whose log is what they tell it.
protocol OneMember {}

extension OneMember {
    static var begin: Int { ClusterSimulation.begin }

    func replica() throws -> Replica {
        Replica(try ClusterBuild.usual.machine(), history: ClusterSimulation.history)
    }

    func joined(_ member: String, at place: Int, stored: Int = 0) -> OrderedEntry {
        let report = MemberReport(stored: stored, revision: 0).encoded
        return OrderedEntry(place: place, .joined(member: member, report: report))
    }

    func proposal(
        of member: String, joined incarnation: Int, _ number: Int, at place: Int, clock: Int = Self.begin,
        _ evidence: Evidence, _ entries: [ClusterEntry] = []
    ) -> OrderedEntry {
        let content = ProposalContent(clock: clock, evidence: evidence, entries: entries)
        let name = ProposalName(member: member, incarnation: incarnation, number: number)
        return OrderedEntry(place: place, .proposal(name, content.encoded))
    }

    /// The names of what a member wants to have in the log.
    func proposed(_ outputs: [MemberOutput]) -> [ProposalName] {
        outputs.compactMap { if case .propose(let name, _) = $0 { name } else { nil } }
    }

    /// Tells a member that the log can be reached, what it has, and that this is all.
    func attach(_ member: ClusterMember, _ entries: [OrderedEntry]) {
        member.receive([.attached(cluster: "c")], now: Self.begin)
        let barriers = member.takeOutputs().compactMap { output in
            if case .barrier(let number) = output { OrderedLogEvent.barrier(number) } else { nil }
        }
        member.receive(entries.map { .entry($0) } + barriers, now: Self.begin)
    }

    func detach(_ member: ClusterMember) {
        member.receive([.detached(OrderedLogFailure(.unreachable, "It is away."))], now: Self.begin)
    }

    /// A member that has joined at place 1 and said at place 2 what it knows; and those entries.
    func present() throws -> (member: ClusterMember, entries: [OrderedEntry]) {
        let member = ClusterMember(name: "m", replica: try replica(), now: Self.begin)
        attach(member, [])
        var entries = [joined("m", at: 1)]
        member.receive([.joined(incarnation: 1), .entry(entries[0])], now: Self.begin)
        for case .propose(let name, let content) in member.takeOutputs() {
            entries.append(OrderedEntry(place: 2, .proposal(name, content)))
            member.receive([.proposed(name, .acknowledged(place: 2)), .entry(entries[1])], now: Self.begin)
        }
        try #require(entries.count == 2 && member.canPropose)
        _ = member.takeOutputs()
        return (member, entries)
    }

    func request() -> ClusterEntry {
        ClusterEntry(session: 1, by: ClusterEntry.daemon, .request(Array(#"{"op":"ping"}"#.utf8)))
    }
}
