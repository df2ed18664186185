import BusCluster
import EtcdLog
import TestEtcd
import Testing

/// The promises of the shared log, kept by a real etcd.
@Suite(.enabled(if: TestEtcd.isInstalled, Comment(rawValue: TestEtcd.isMissing)))
struct OrderTests {
    private func owner(
        _ bus: String = #function, _ change: (inout EtcdSettings) -> Void = { _ in }
    ) throws -> LogOwner {
        let name = bus.lowercased().filter { $0.isLetter }
        return try LogOwner(try SharedEtcd.etcd.get(), bus: name, change)
    }

    @Test func allReadersSeeOneOrder() throws {
        let (one, other) = (try owner(), try owner())
        one.read()
        other.read()
        try one.join("kitchen")
        try other.join("hall")
        var places: [Int] = []
        for round in 0..<20 {
            places.append(try one.proposeNext(Array("kitchen \(round)".utf8)))
            places.append(try other.proposeNext(Array("hall \(round)".utf8)))
        }
        #expect(places == places.sorted())
        let late = try owner()
        late.read()
        for reader in [one, other, late] { try reader.catchUp() }
        #expect(one.entries == other.entries)
        #expect(one.entries == late.entries)
        #expect(one.entries.proposals.count == 40)
        let read = one.entries.compactMap { if case .proposal = $0.content { $0.place } else { nil } }
        #expect(read == places)
        // From the middle, the rest comes.
        late.read(behind: places[10])
        try late.catchUp()
        #expect(late.entries == one.entries.filter { $0.place > places[10] })
    }

    @Test func proposalIsInTheLogOnce() throws {
        let owner = try owner()
        owner.read()
        try owner.join("kitchen")
        guard case .acknowledged(let place) = try owner.propose(1, [1]) else {
            Issue.record("The first one is not acknowledged.")
            return
        }
        #expect(try owner.propose(1, [1]) == .alreadyThere(place: place))
        guard case .notProposed = try owner.propose(3, [3]) else {
            Issue.record("A number was left out.")
            return
        }
        _ = try owner.propose(2, [])
        try owner.catchUp()
        #expect(owner.entries.proposals == [[1], []])
    }

    @Test func nameIsTakenOnceAtATime() throws {
        let (one, other) = (try owner(), try owner())
        one.read()
        let first = try one.join("kitchen", report: [7])
        other.log.join(as: "kitchen", report: [8])
        let holder = try other.wait("name taken") {
            if case .nameTaken(let member, _) = $0 { member } else { nil }
        }
        #expect(holder == OrderedLogMember(name: "kitchen", incarnation: first, report: [7]))
        // Another takes it over: the first one hears of it, and can propose nothing more.
        other.log.end("kitchen", incarnation: first)
        let end = try one.waitEnded("kitchen")
        let lost = try one.wait("lease lost") { if case .leaseLost(let place) = $0 { place } else { nil } }
        #expect(lost == first)
        let second = try other.join("kitchen")
        #expect(second > end)
        #expect(try one.propose(1, [1], incarnation: first) == .refused)
        // An end of the one before is none of this one.
        one.log.end("kitchen", incarnation: first)
        #expect(try other.proposeNext([2]) > second)
        // Who has lost its place may join again, under another name here.
        try one.join("hall")
    }

    @Test func membersReportAndLeave() throws {
        let (one, other) = (try owner(), try owner())
        other.read()
        let place = try one.join("kitchen", report: [1])
        one.log.report([2])
        _ = try other.wait("report") {
            if case .entry(let entry) = $0,
                entry.content == .reported(member: "kitchen", incarnation: place, report: [2])
            {
                true
            } else {
                nil
            }
        }
        other.log.listMembers()
        let members = try other.wait("members") { if case .members(let list) = $0 { list } else { nil } }
        #expect(members == [OrderedLogMember(name: "kitchen", incarnation: place, report: [2])])
        one.log.leave()
        #expect(try other.waitEnded("kitchen") > place)
        let lost = try one.wait("lease lost") { if case .leaseLost(let place) = $0 { place } else { nil } }
        #expect(lost == place)
    }

    /// What was given up is over once `close` returns: who starts again under that name, and knows of no incarnation, need not
    /// wait for the end of a lease.
    @Test(arguments: [true, false]) func leavingIsDoneBeforeTheEnd(hasJoined: Bool) throws {
        let (one, other) = (try owner(), try owner())
        _ = try other.waitAttached()
        if hasJoined { try one.join("kitchen") } else { one.log.join(as: "kitchen", report: []) }
        one.log.leave()
        one.log.close()
        other.log.listMembers()
        let members = try other.wait("members") { if case .members(let list) = $0 { list } else { nil } }
        #expect(members == [])
    }

    @Test func silentMemberEndsInOrder() throws {
        // It joins, proposes, and is not heard of any more.
        let silent = try owner { settings in
            settings.keepsAlive = false
            // Long enough for a proposal on a busy machine.
            settings.lease = .seconds(3)
        }
        let (one, other) = (try owner(), try owner())
        one.read()
        other.read()
        let incarnation = try silent.join("kitchen")
        let last = try silent.proposeNext([1])
        try one.join("hall")
        let end = try one.waitEnded("kitchen")
        #expect(end > last)
        #expect(try other.waitEnded("kitchen") == end)
        // What it wakes up with is refused, at once and for ever.
        #expect(try silent.propose(2, [2]) == .refused)
        let lost = try silent.wait("lease lost") { if case .leaseLost(let place) = $0 { place } else { nil } }
        #expect(lost == incarnation)
        try one.proposeNext([3])
        try one.catchUp()
        try other.catchUp()
        #expect(one.entries == other.entries)
        #expect(one.entries.proposals == [[1], [3]])
    }

    @Test func livingMemberStays() throws {
        let living = try owner { $0.lease = .seconds(3) }
        let other = try owner()
        let incarnation = try living.join("kitchen")
        // Another lease of the same length, granted later, ends; this one does not.
        let silent = try owner { settings in
            settings.keepsAlive = false
            settings.lease = .seconds(3)
        }
        other.read()
        try silent.join("hall")
        _ = try other.waitEnded("hall")
        #expect(try living.proposeNext([1]) > incarnation)
    }

    @Test func anotherLogIsReported() throws {
        let owner = try owner()
        let cluster = try owner.waitAttached()
        func replaced() throws -> String {
            try owner.wait("replaced") { if case .replaced(let cluster) = $0 { cluster } else { nil } }
        }
        owner.read(of: "1")
        #expect(try replaced() == cluster)
        // It ends before what was read.
        owner.read(behind: 1 << 40, of: cluster)
        #expect(try replaced() == cluster)
        owner.read(of: cluster)
        try owner.catchUp()
    }

    @Test func largestProposalGoesThrough() throws {
        let owner = try owner()
        owner.read()
        try owner.join("kitchen")
        let large = [UInt8](repeating: 0x5a, count: OrderedLogLimits.proposal)
        for _ in 0..<10 { try owner.proposeNext(large) }
        // More than waits for its owner: the watch is held back, and goes on.
        let late = try self.owner()
        late.read()
        try late.catchUp()
        #expect(late.entries.proposals == [[UInt8]](repeating: large, count: 10))
    }
}
