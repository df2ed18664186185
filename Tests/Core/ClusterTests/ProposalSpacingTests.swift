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
        private var ticket = 0
        /// What is told, and when.
        private var told: [(time: Int, event: OrderedLogEvent, to: Int?)] = []
        private(set) var proposals: [Int] = []
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
                    if index < busy, (now + index) % interval == 0 {
                        ticket += 1
                        asked[ticket] = now
                        let add =
                            #"{"op":"dispatch","store":"counter/a","action":"add","payload":{"mark":1}}"#
                        member.submit(
                            ClusterEntry(
                                session: 1, by: Array(#"{"token":"anna","address":"a"}"#.utf8),
                                .request(Array(add.utf8))),
                            ticket: ticket, now: now)
                    }
                    member.tick(now: now)
                    for output in member.takeOutputs() { carryOut(output, of: index) }
                }
            }
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
                proposals.append(now)
                append(.proposal(name, content))
                tell(.proposed(name, .acknowledged(place: place)), to: index)
            case .applied(_, let applied): member.stored(through: applied.link.place, now: now)
            case .answered(let ticket, _, _): waits.append(now - asked.removeValue(forKey: ticket)!)
            default: break
            }
        }

        func proposals(inLast milliseconds: Int) -> Int { proposals.count { $0 > now - milliseconds } }

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

    /// Another one of its name may be an earlier run that its copy does not know of: its lease ends, and then it joins. One that
    /// stays is another machine.
    @Test(arguments: [false, true]) func aNameIsWaitedForAsLongAsALeaseMayLast(isAnotherMachine: Bool) throws
    {
        let lease = 2000
        let member = ClusterMember(
            name: "m", replica: Replica(try ClusterBuild.usual.machine()), now: Self.begin)
        member.receive([.attached(cluster: "c")], now: Self.begin)
        let barriers = member.takeOutputs().compactMap {
            if case .barrier(let number) = $0 { OrderedLogEvent.barrier(number) } else { nil }
        }
        member.receive(barriers, now: Self.begin)
        let other = OrderedLogMember(name: "m", incarnation: 7, report: [])
        var (now, attempts) = (Self.begin, 0)
        while now < Self.begin + 10 * lease {
            let outputs = member.takeOutputs()
            if outputs.contains(where: { if case .notice(.nameTaken) = $0 { true } else { false } }) { break }
            if outputs.contains(where: { if case .join = $0 { true } else { false } }) {
                attempts += 1
                if !isAnotherMachine, now >= Self.begin + lease {
                    member.receive([.joined(incarnation: 9)], now: now)
                    break
                }
                member.receive([.nameTaken(by: other, lease: lease)], now: now)
                #expect(member.isNameTaken || now > Self.begin + 2 * lease)
            }
            now += 100
            member.tick(now: now)
        }
        #expect(!member.isNameTaken)
        if isAnotherMachine {
            #expect(now > Self.begin + 2 * lease && now <= Self.begin + 2 * lease + 1100)
            #expect(attempts <= 7)
        } else {
            let joins = member.takeOutputs().contains {
                if case .remember(incarnation: 9) = $0 { true } else { false }
            }
            #expect(joins)
            #expect(now < Self.begin + lease + 1100)
        }
    }
}
