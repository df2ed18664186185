import BusCluster
import BusJSON
import BusMachine
import TestSupport
import Testing

/// What a replica makes of entries, one by one; and of bytes that nobody should have written.
@Suite struct ReplicaTests {
    private static let ben = #"{"token":"ben","address":"a"}"#
    private static let add = #"{"op":"dispatch","store":"counter/a","action":"add","payload":{"mark":1}"#

    // MARK: - How much of a proposal is carried out

    /// The first entries count, up to the one that uses the operations up; the others are as if they had not been proposed.
    @Test func entriesBeyondTheOperationsAreLeft() throws {
        let bus = try ReplicaBus()
        for index in 0..<1000 {
            #expect(try bus.ask(#"{"op":"create","store":"counter/s\#(index)"}"#).code == "ok")
        }
        let line = #"{"op":"dispatch","type":"counter","action":"add","payload":{"mark":1}}"#
        let wide = ClusterEntry(
            session: 1, by: Array(ReplicaBus.anna.utf8), .request(Array(line.utf8)))
        let all = Array(repeating: wide, count: 100)
        let first = try bus.propose(all)
        #expect(first.outcomes.count < 100 && first.outcomes.count == first.spent.count)
        let spent = first.spent.reduce(0, +)
        #expect(spent >= ClusterLimits.operations && spent - first.spent.last! < ClusterLimits.operations)
        #expect(bus.count("counter/s1") == .int(first.outcomes.count))
        // Each proposal has them anew.
        #expect(try bus.propose(all).outcomes.count == first.outcomes.count)
        // By the rules of before, all are carried out.
        bus.rules = BusLimits.rulesOfConditions - 1
        #expect(try bus.propose(all).outcomes.count == 100)
    }

    // MARK: - How a bus begins

    /// A replica of a bus that has not begun, with the one member that is to begin it.
    private func unbegun(_ machine: StateMachine) throws -> Replica {
        let replica = Replica(machine, isNew: true)
        _ = try replica.apply(OrderedEntry(place: 1, .joined(member: "m", report: [])))
        return replica
    }

    private func beginning(_ beginning: BusBeginning, number: Int) -> OrderedEntry {
        let text = "{\"begin\":\(beginning.json.encoded)}"
        let content = ProposalContent(
            clock: ClusterSimulation.begin, evidence: Evidence(epoch: "", link: .beginning),
            entries: [
                ClusterEntry(session: 0, by: ClusterEntry.daemon, .configure(Array(text.utf8)))
            ])
        return OrderedEntry(
            place: 1 + number,
            .proposal(ProposalName(member: "m", incarnation: 1, number: number), content.encoded))
    }

    @Test func newBusBeginsOnceForAll() throws {
        let blank = StateMachine(types: [], epoch: "", hashSeed: 1)
        let digest = blank.stateDigest
        let replica = try unbegun(blank)
        #expect(!replica.hasBegun)
        _ = try replica.apply(beginning(BusBeginning(epoch: "e1", revision: 0, digest: digest), number: 1))
        #expect(replica.hasBegun && replica.machine.epoch == "e1")
        // Somebody else was later.
        let second = try replica.apply(
            beginning(BusBeginning(epoch: "e2", revision: 0, digest: digest), number: 2))
        guard case .refused(let error) = try #require(second?.outcomes.first) else {
            Issue.record("A bus begins once.")
            return
        }
        #expect(error.code.rawValue == "conflict" && replica.machine.epoch == "e1")
    }

    /// Who has other states than those that the bus begins with stops before them, and needs a snapshot.
    @Test func historyOfOneMachineIsBroughtAlong() throws {
        let machine = try ClusterBuild.usual.machine()
        let begun = BusBeginning(
            epoch: machine.epoch, revision: machine.revision, digest: machine.stateDigest)
        let bringer = try unbegun(machine)
        let restored = try bringer.snapshot().withUnsafeBytes {
            try Replica(restoring: $0, hashSeed: 1)
        }
        #expect(!restored.hasBegun)
        // What comes before it is the same for all, whatever they have.
        let quiet = ProposalContent(
            clock: ClusterSimulation.begin, evidence: Evidence(epoch: "", link: .beginning), entries: [])
        let first = OrderedEntry(
            place: 2, .proposal(ProposalName(member: "m", incarnation: 1, number: 1), quiet.encoded))
        _ = try bringer.apply(first)
        let early = try unbegun(StateMachine(types: [], epoch: "", hashSeed: 1))
        _ = try early.apply(first)
        #expect(early.link == bringer.link)
        _ = try bringer.apply(beginning(begun, number: 2))
        #expect(bringer.hasBegun)
        for other in [
            StateMachine(types: [], epoch: "", hashSeed: 1),
            StateMachine(types: [], epoch: "e9", hashSeed: 1),
        ] {
            let replica = try unbegun(other)
            #expect(throws: ReplicaStop.otherBeginning(place: 2)) {
                _ = try replica.apply(beginning(begun, number: 1))
            }
        }
        // A snapshot of the one that brought it goes on for the others.
        let other = try bringer.snapshot().withUnsafeBytes { try Replica(restoring: $0, hashSeed: 1) }
        #expect(other.hasBegun && other.digest == bringer.digest)
    }

    @Test func requestsAreCarriedOutAsOnOneMachine() throws {
        let bus = try ReplicaBus()
        #expect(try bus.ask(Self.add + "}").reply?.changed == 1)
        #expect(try bus.ask(Self.add + #","ifRevision":1}"#).code == "conflict")
        let first = try bus.ask(Self.add + #","key":"k"}"#).reply
        let again = try bus.ask(Self.add + #","key":"k"}"#).reply
        #expect(again?.revision == first?.revision && again?.isDuplicate == true)
        #expect(try bus.ask(Self.add + #","key":"k"}"#, by: Self.ben).reply?.isDuplicate == false)
        #expect(try bus.ask(#"{"op":"drop","store":"counter/a","key":"k"}"#).code == "conflict")
        #expect(bus.count("counter/a") == 3)

        #expect(try bus.ask(#"{"op":"create","store":"counter/x"}"#).reply?.created == true)
        #expect(try bus.ask(#"{"op":"create","store":"counter/x"}"#).code == "exists")
        #expect(try bus.ask(#"{"op":"create","store":"counter/x","ifMissing":true}"#).reply?.created == false)
        #expect(try bus.ask(#"{"op":"drop","store":"counter/x"}"#, by: Self.ben).code == "forbidden")
        #expect(try bus.ask(#"{"op":"drop","store":"counter/x"}"#).code == "ok")
        #expect(try bus.ask(#"{"op":"drop","store":"counter/b"}"#, isOperator: true).code == "ok")
        #expect(bus.count("counter/b") == nil)
        #expect(try bus.ask(#"{"op":"get","store":"counter/a"}"#).code == "unknown_op")
        #expect(try bus.ask("nonsense").code == "parse_error")
    }

    @Test func storeIsRevertedToTheStateThatItsOriginFound() throws {
        let bus = try ReplicaBus()
        let line = Array(#"{"op":"revert","store":"counter/a","revision":1}"#.utf8)
        let past = Array(#"{"state":{"count":41,"last":0,"at":0.0},"version":1}"#.utf8)
        #expect(try bus.ask(.revert(line, past: past), by: ReplicaBus.anna).code == "forbidden")
        #expect(try bus.ask(.revert(line, past: past), by: ReplicaBus.anna, isOperator: true).code == "ok")
        #expect(bus.count("counter/a") == 41)
        #expect(
            try bus.ask(.revert(line, past: [1]), by: ReplicaBus.anna, isOperator: true).code == "internal")
    }

    @Test func timersGoByTheTimeOfTheBus() throws {
        let bus = try ReplicaBus()
        let later = try bus.ask(Self.add + #","in":5,"timer":"t"}"#).reply
        #expect(later?.due == ClusterSimulation.begin + 5000)
        bus.clock += 4999
        #expect(try bus.propose([]).outcomes.isEmpty)
        #expect(bus.count("counter/a") == 0)
        bus.clock += 1
        _ = try bus.propose([])
        #expect(bus.count("counter/a") == 1)
        _ = try bus.ask(Self.add + #","in":5,"timer":"t"}"#)
        let cancel = #"{"op":"cancel","store":"counter/a","timer":"t"}"#
        #expect(try bus.ask(cancel).code == "ok")
        #expect(try bus.ask(cancel).code == "unknown_timer")
    }

    @Test func whatDecidesOutcomesChangesForAll() throws {
        let bus = try ReplicaBus()
        func configure(_ text: String) throws -> String {
            try bus.ask(.configure(Array(text.utf8)), by: #"{"daemon":true}"#).code
        }
        #expect(try configure(#"{"limits":{"stores":5}}"#) == "ok")
        #expect(try bus.ask(#"{"op":"create","store":"counter/x"}"#).code == "limit")
        let restored = try ClusterDisk.restored(bus.replica.snapshot(), build: .usual, omitting: [])
        #expect(restored.machine.limits == bus.replica.machine.limits)
        #expect(restored.digest == bus.replica.digest)
        #expect(try configure(#"{"limits":{"stores":0}}"#) == "invalid_request")
        #expect(try configure(#"{"limits":{"stars":5}}"#) == "invalid_request")
        #expect(try configure(#"{"types":[]}"#) == "rejected")
        #expect(try configure("[") == "parse_error")

        let lamp = #"{"type":"lamp","initial":{"on":false},"actions":{"flip":{"toggle":["on"]}}}"#
        #expect(
            try configure(#"{"types":[\#(ClusterTypes.counter.encoded),\#(lamp)],"limits":{"stores":9}}"#)
                == "ok")
        #expect(try bus.ask(#"{"op":"create","store":"lamp/x"}"#).code == "ok")
        let rules =
            #"{"roles":{"admin":[{"user":"root"}],"user":["everyone"]},"#
            + #""rules":[{"role":"admin","may":"all"},{"role":"user","may":["dispatch"],"match":"lamp/*"}]}"#
        #expect(try configure(#"{"access":\#(rules)}"#) == "ok")
        let user = #"{"token":"anna","address":"a","roles":["user"]}"#
        #expect(try bus.ask(Self.add + "}", by: user).code == "forbidden")
        let flip = #"{"op":"dispatch","store":"lamp/x","action":"flip"}"#
        #expect(try bus.ask(flip, by: user).code == "ok")
        #expect(try bus.ask(flip).code == "forbidden")
        #expect(try configure(#"{"access":null}"#) == "ok")
        #expect(try bus.ask(flip).code == "ok")
    }

    /// Who sees only parts of a state is judged by the changes of these parts, from the first proposal on by the rules that say
    /// so; a member that goes on from a snapshot does not differ.
    @Test func changesOfPartsAreAgreed() throws {
        let bus = try ReplicaBus()
        // A bus of members that did not know of it.
        bus.replica.machine.followsParts = false
        bus.rules = ClusterLimits.rulesOfParts - 1
        let rules =
            #"{"roles":{"admin":[{"user":"root"}],"user":["everyone"]},"rules":[{"role":"admin","may":"all"},"#
            + #"{"role":"user","may":["dispatch","read"],"match":"counter/*","select":["/last"]}]}"#
        #expect(
            try bus.ask(.configure(Array(#"{"access":\#(rules)}"#.utf8)), by: #"{"daemon":true}"#).code
                == "ok")
        let user = #"{"token":"anna","address":"a","roles":["user"]}"#
        let root = #"{"token":"root","address":"a","roles":["admin"]}"#
        func expecting(_ revision: Int) throws -> String {
            try bus.ask(Self.add + #","ifRevision":\#(revision)}"#, by: user).code
        }
        // The mark stays, so only what is hidden changes.
        _ = try bus.ask(Self.add + "}", by: root)
        let own = try #require(try bus.ask(Self.add + "}", by: root).reply).revision
        #expect(try expecting(own - 1) == "conflict")
        let before = bus.replica.snapshot()
        bus.rules = ClusterLimits.rules
        _ = try bus.propose([])
        let since = bus.replica.machine.revision
        _ = try bus.ask(Self.add + "}", by: root)
        let hidden = try #require(try bus.ask(Self.add + "}", by: user).reply)
        #expect(hidden.seen == .init(matched: 1, changed: 0) && hidden.changed == 1)
        #expect(try expecting(since) == "ok")
        #expect(try expecting(since + 2) == "conflict")
        let restored = try ClusterDisk.restored(bus.replica.snapshot(), build: .usual, omitting: [])
        let grants = try #require(restored.machine.access).grants(to: ["user"])
        let store = try #require(restored.machine.find("counter/a"))
        #expect(restored.machine.revision(of: store, seenBy: grants) == since)
        let change = Self.add.replacing(#""mark":1"#, with: #""mark":2"#) + "}"
        let seen = try #require(try bus.ask(change, by: root).reply).revision
        #expect(try expecting(since) == "conflict")
        #expect(try expecting(seen) == "ok")
        // A snapshot of before begins with the same proposal as all.
        let old = try ClusterDisk.restored(before, build: .usual, omitting: [])
        #expect(!old.machine.followsParts && restored.machine.followsParts)
    }

    /// Bytes that are no proposal are void, and two replicas that apply whatever comes stay the same.
    @Test func anyBytesAreAppliedAlike() throws {
        for seed in 0..<20 as Range<UInt64> {
            var generator = SeededGenerator(seed: seed)
            let (one, other) = (try ReplicaBus(), try ReplicaBus())
            for _ in 0..<60 {
                let line = mutated(Array((Self.add + #","key":"k","in":1}"#).utf8), using: &generator)
                let by = mutated(Array(ReplicaBus.anna.utf8), using: &generator)
                let entries = [
                    ClusterEntry(session: 1, by: Array(ReplicaBus.anna.utf8), .request(line)),
                    ClusterEntry(session: 2, by: by, .request(Array((Self.add + "}").utf8))),
                    ClusterEntry(session: 3, by: by, .configure(line)),
                    ClusterEntry(session: 4, by: by, .revert(line, past: by)),
                ]
                let content = ProposalContent(
                    clock: one.clock, evidence: one.replica.evidence, entries: entries
                ).encoded
                let bytes = generator.oneIn(2) ? content : mutated(content, using: &generator)
                let outcome = Result { try one.apply(bytes).link }
                #expect((try? outcome.get()) == (try? other.apply(bytes).link))
            }
            #expect(one.replica.digest == other.replica.digest)
        }
    }

    /// What is taken for a snapshot is one: anything else is refused with a sentence.
    @Test func damagedSnapshotsAreRefused() throws {
        let bus = try ReplicaBus()
        _ = try bus.ask(#"{"op":"create","store":"counter/x","ephemeral":true}"#)
        _ = try bus.ask(.sessionNamed("s", linger: 5), by: ReplicaBus.anna)
        let bytes = bus.replica.snapshot()
        #expect(
            try ClusterDisk.restored(bytes, build: .usual, omitting: []).digest == bus.replica.digest)
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<500 {
            let damaged = mutated(bytes, using: &generator)
            if damaged == bytes { continue }
            #expect(throws: TransferFailure.self) {
                try ClusterDisk.restored(damaged, build: .usual, omitting: [])
            }
        }
    }

    /// Altered on purpose, with the right digest at its end, a snapshot may be refused or taken, and stops nobody.
    @Test func alteredSnapshotsStopNobody() throws {
        let bus = try ReplicaBus()
        _ = try bus.ask(#"{"op":"create","store":"counter/x","ephemeral":true}"#)
        _ = try bus.ask(.sessionNamed("s", linger: 5), by: ReplicaBus.anna)
        let bytes = bus.replica.snapshot()
        let end = try #require(bytes.dropLast().lastIndex(of: UInt8(ascii: "\n")))
        let records = try #require(try JSON(parsing: Array(bytes[(end + 1)...].dropLast()))["records"]?.int)
        func sealed(_ body: [UInt8]) -> [UInt8] {
            body.withUnsafeBytes { StateTransfer.sealed($0, records: records) }
        }
        #expect(sealed(Array(bytes[...end])) == bytes)
        var generator = SeededGenerator(seed: 2)
        var taken = 0
        for _ in 0..<1500 {
            let altered = sealed(mutated(Array(bytes[...end]), using: &generator))
            guard let other = try? ClusterDisk.restored(altered, build: .usual, omitting: []) else {
                continue
            }
            taken += 1
            #expect(other.machine.stateDigest == bus.replica.machine.stateDigest)
        }
        #expect(taken > 0)
    }

    @Test func userIsOneOfItsMachine() throws {
        let bus = try ReplicaBus()
        _ = try bus.ask(Self.add + #","in":5,"timer":"t"}"#, by: #"{"uid":7,"pid":1,"member":"other"}"#)
        let owner = TimerOwner.store(try #require(bus.replica.machine.find("counter/a")))
        let timer = try #require(bus.replica.machine.timer("t", of: owner))
        guard case .action(_, _, let asker) = timer.purpose else {
            Issue.record("A timer has an action.")
            return
        }
        #expect(asker.identity == .user(7, member: "m"))
    }
}
