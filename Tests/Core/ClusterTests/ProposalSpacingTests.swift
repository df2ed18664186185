import BusCluster
import BusMachine
import TestSupport
import Testing

/// How often busy members propose: etcd works for each proposal and each reader of it.
@Suite struct ProposalSpacingTests {
    private static let begin = ClusterSimulation.begin

    /// Members over a log that takes a proposal at once and tells everybody of it some milliseconds later.
    private final class Bus {
        /// In milliseconds.
        static let latency = 5
        let members: [ClusterMember]
        private var now = begin
        private var place = 0
        private var ticket = 1
        /// What is told, and when.
        private var told: [(time: Int, event: OrderedLogEvent, to: Int?)] = []
        /// When each was made, and by which member.
        private var proposals: [(time: Int, member: Int)] = []
        /// When each entry was submitted, until it is answered.
        private var asked: [Int: Int] = [:]
        private(set) var waits: [Int] = []

        init(_ count: Int) throws {
            members = try (0..<count).map {
                ClusterMember(
                    name: "m\($0)", replica: Replica(try ClusterBuild.usual.machine()), now: begin)
            }
            for member in members { member.receive([.attached(cluster: "c")], now: now) }
        }

        /// Each of the first members is asked for something every so often.
        func run(milliseconds: Int, asking busy: Int, every interval: Int = 1) throws {
            for _ in 0..<milliseconds {
                now += 1
                let due = told.prefix { $0.time <= now }
                told.removeFirst(due.count)
                for (_, event, to) in due {
                    for (index, member) in members.enumerated() where to ?? index == index {
                        member.receive([event], now: now)
                    }
                }
                for (index, member) in members.enumerated() {
                    if index < busy, (now + index) % interval == 0 { ask(index, times: 1) }
                    member.tick(now: now)
                    for output in member.takeOutputs() { carryOut(output, of: index) }
                }
            }
        }

        /// Asks a member for so many things at once.
        func ask(_ index: Int, times: Int) {
            let add = #"{"op":"dispatch","store":"counter/a","action":"add","payload":{"mark":1}}"#
            let entry = ClusterEntry(
                session: 1, by: Array(#"{"token":"anna","address":"a"}"#.utf8), .request(Array(add.utf8)))
            let entries = (0..<times).map { number in
                asked[ticket + number] = now
                return (entry: entry, ticket: ticket + number, user: 0)
            }
            ticket += times
            members[index].submit(entries, now: now)
        }

        private func carryOut(_ output: MemberOutput, of index: Int) {
            let member = members[index]
            func tell(_ event: OrderedLogEvent, to: Int? = nil) {
                told.append((now + Self.latency, event, to))
            }
            func append(_ content: OrderedEntry.Content) {
                place += 1
                tell(.entry(OrderedEntry(place: place, content)))
            }
            switch output {
            case .barrier(let number): tell(.barrier(number), to: index)
            case .join(let report):
                append(.joined(member: member.name, report: report))
                tell(.joined(incarnation: place), to: index)
            case .propose(let name, let content):
                proposals.append((now, index))
                append(.proposal(name, content))
                tell(.proposed(name, .acknowledged(place: place)), to: index)
            case .applied(_, let applied): member.stored(through: applied.link.place, now: now)
            case .answered(let ticket, _, _): waits.append(now - asked.removeValue(forKey: ticket)!)
            default: break
            }
        }

        func proposals(inLast milliseconds: Int) -> Int { proposals.count { $0.time > now - milliseconds } }
        func proposals(of member: Int) -> Int { proposals.count { $0.member == member } }

        /// The longest wait of those that were answered.
        func takeLongestWait() -> Int {
            defer { waits = [] }
            return waits.max() ?? 0
        }
    }

    @Test func aHundredBusyMembersMake500ProposalsASecond() throws {
        let bus = try Bus(100)
        try bus.run(milliseconds: 500, asking: 100, every: 40)
        _ = bus.takeLongestWait()
        try bus.run(milliseconds: 1000, asking: 100, every: 40)
        let (proposals, wait) = (bus.proposals(inLast: 1000), bus.takeLongestWait())
        print("100 busy members: \(proposals) proposals a second, the longest wait is \(wait) ms")
        #expect((450...500).contains(proposals) && (200...220).contains(wait))
    }

    /// Each proposes as soon as its last proposal has come through.
    @Test(arguments: [1, 3, 7]) func fewMembersDoNotWait(count: Int) throws {
        #expect(ClusterLimits.spacing(of: count, among: count) == 0)
        let bus = try Bus(count)
        try bus.run(milliseconds: 500, asking: count)
        #expect(
            bus.proposals(inLast: 200) >= count * 200 / (Bus.latency + 1), "\(bus.proposals(inLast: 200))")
    }

    /// Many that are idle keep a busy one from nothing: what it is asked for waits for one round trip and two milliseconds.
    @Test func idleMembersHoldNobodyUp() throws {
        let bus = try Bus(100)
        try bus.run(milliseconds: 2500, asking: 0)
        try bus.run(milliseconds: 1000, asking: 1)
        #expect(bus.takeLongestWait() <= 2 * Bus.latency + 4)
    }

    /// What fills a proposal is not gathered any further.
    @Test func fullProposalsDoNotWait() throws {
        let bus = try Bus(60)
        try bus.run(milliseconds: 300, asking: 60, every: 60)
        let before = bus.proposals(of: 0)
        bus.ask(0, times: ClusterLimits.entries)
        // One may be on its way.
        try bus.run(milliseconds: 2 * Bus.latency + 2, asking: 0)
        #expect(bus.proposals(of: 0) > before)
    }
}

/// The name of a member, where another one has it.
@Suite struct MemberNameTests {
    private static let begin = ClusterSimulation.begin
    private static let lease = 2000

    /// Who has the name.
    enum Holder: CaseIterable {
        case earlierRun, otherMachine
        /// While the log can't be reached, its leases may start over.
        case otherMachineBehindALostConnection
    }

    private func answerBarriers(_ member: ClusterMember, now: Int) -> [MemberOutput] {
        let outputs = member.takeOutputs()
        let barriers = outputs.compactMap {
            if case .barrier(let number) = $0 { OrderedLogEvent.barrier(number) } else { nil }
        }
        if !barriers.isEmpty { member.receive(barriers, now: now) }
        return outputs
    }

    /// An earlier run that the copy does not know of ends with its lease, and then the member joins. Whoever stays is another
    /// machine.
    @Test(arguments: Holder.allCases) func aNameIsWaitedForAsLongAsALeaseMayLast(holder: Holder) throws {
        let lease = Self.lease
        let member = ClusterMember(
            name: "m", replica: Replica(try ClusterBuild.usual.machine()), now: Self.begin)
        member.receive([.attached(cluster: "c")], now: Self.begin)
        let other = OrderedLogMember(name: "m", incarnation: 7, report: [])
        var (now, attempts, isTold, hasJoined) = (Self.begin, 0, false, false)
        while now < Self.begin + 10 * lease, !isTold, !hasJoined {
            if holder == .otherMachineBehindALostConnection, now == Self.begin + lease * 3 / 2 {
                member.receive([.detached(OrderedLogFailure(.unreachable, "It is away."))], now: now)
                member.receive([.attached(cluster: "c")], now: now)
            }
            for output in answerBarriers(member, now: now) {
                switch output {
                case .notice(.nameTaken): isTold = true
                case .remember(incarnation: 9): hasJoined = true
                case .join:
                    attempts += 1
                    let isFree = holder == .earlierRun && now >= Self.begin + lease
                    member.receive(
                        [isFree ? .joined(incarnation: 9) : .nameTaken(by: other, lease: lease)], now: now)
                default: break
                }
            }
            now += 100
            member.tick(now: now)
        }
        let (took, again) = (now - Self.begin, 1300)
        switch holder {
        case .earlierRun: #expect(hasJoined && took >= lease && took <= lease + again)
        case .otherMachine: #expect(isTold && took > 2 * lease && took <= 2 * lease + again)
        case .otherMachineBehindALostConnection:
            #expect(isTold && took > lease * 7 / 2 && took <= lease * 7 / 2 + again)
        }
        #expect(attempts <= 2 + took / 1000)
    }

    /// While it waits for an answer the log may be out of reach; the question is still on its way then.
    @Test func aJoinOnItsWayIsAskedForOnce() throws {
        let member = ClusterMember(
            name: "m", replica: Replica(try ClusterBuild.usual.machine()), now: Self.begin)
        member.receive([.attached(cluster: "c")], now: Self.begin)
        _ = answerBarriers(member, now: Self.begin)
        let other = OrderedLogMember(name: "m", incarnation: 7, report: [])
        member.receive([.nameTaken(by: other, lease: Self.lease)], now: Self.begin)
        func joins(at now: Int) -> Int {
            member.tick(now: now)
            return answerBarriers(member, now: now).count { if case .join = $0 { true } else { false } }
        }
        _ = member.takeOutputs()
        #expect(joins(at: Self.begin + 1100) == 1)
        member.receive(
            [.detached(OrderedLogFailure(.unreachable, "It is away.")), .attached(cluster: "c")],
            now: Self.begin + 1200)
        for wait in stride(from: 1300, to: 5000, by: 100) { #expect(joins(at: Self.begin + wait) == 0) }
    }
}
