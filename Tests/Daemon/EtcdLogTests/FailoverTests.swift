import BusCluster
import EtcdLog
import Foundation
import TestEtcd
import Testing

/// Servers that die, and connections that lie: nothing is lost, nothing comes twice.
@Suite(.enabled(if: TestEtcd.isInstalled, Comment(rawValue: TestEtcd.isMissing)))
struct FailoverTests {
    private func content(_ number: Int) -> [UInt8] { Array("proposal \(number)".utf8) }

    @Test func killedServerCostsNothing() throws {
        let etcd = try TestEtcd(servers: 3)
        func owner() throws -> LogOwner { try LogOwner(etcd, bus: "home") { $0.times.answer = .seconds(1) } }
        let (writer, reader) = (try owner(), try owner())
        writer.read()
        reader.read()
        try writer.join("kitchen")
        for number in 0..<10 { try writer.proposeNext(content(number)) }
        // All use the first server; then the second one, which may lead by then.
        etcd.kill(0)
        for number in 10..<20 { try writer.proposeNext(content(number)) }
        try etcd.start(0)
        etcd.kill(1)
        for number in 20..<30 { try writer.proposeNext(content(number)) }
        // One that hangs looks alive, and answers nothing.
        try etcd.start(1)
        etcd.signal(2, SIGSTOP)
        for number in 30..<40 { try writer.proposeNext(content(number)) }
        etcd.signal(2, SIGCONT)
        try writer.catchUp()
        try reader.catchUp()
        #expect(reader.entries == writer.entries)
        #expect(reader.entries.proposals == (0..<40).map(content))
        // Once more, as one that was away all the time.
        let late = try LogOwner(etcd, bus: "home", endpoints: [etcd.endpoints[2], etcd.endpoints[1]])
        late.read()
        try late.catchUp()
        #expect(late.entries == writer.entries)
    }

    @Test func lossOfAllServersIsToldAndOver() throws {
        let etcd = try TestEtcd()
        let owner = try LogOwner(etcd, bus: "home") { $0.times.lastRetry = .milliseconds(100) }
        owner.read()
        _ = try owner.waitAttached()
        try owner.join("kitchen")
        try owner.proposeNext(content(0))
        etcd.kill(0)
        #expect(try owner.waitDetached().kind == .unreachable)
        guard case .notProposed(let failure) = try owner.propose(2, content(1)) else {
            Issue.record("There is an outcome without a server.")
            return
        }
        #expect(failure.kind == .unreachable)
        #expect(failure.message.contains(etcd.endpoints[0]))
        try etcd.start(0)
        _ = try owner.waitAttached()
        try owner.proposeNext(content(1))
        try owner.catchUp()
        #expect(owner.entries.proposals == [content(0), content(1)])
    }

    @Test func watchThatGoesBlindIsLeft() throws {
        let etcd = try SharedEtcd.etcd.get()
        let relay = try Relay(to: etcd.endpoints[0])
        let owner = try LogOwner(etcd, bus: "blind", endpoints: [relay.endpoint, etcd.endpoints[0]]) {
            $0.times.delivery = .milliseconds(200)
        }
        owner.read()
        try owner.join("kitchen")
        try owner.proposeNext(content(0))
        try owner.catchUp()
        relay.hold(.watches)
        // Acknowledged through the same relay; delivered by another way.
        try owner.proposeNext(content(1))
        try owner.waitForProposals(2)
        try owner.proposeNext(content(2))
        try owner.catchUp()
        #expect(owner.entries.proposals == (0..<3).map(content))
    }

    @Test func blindWatchOfAnIdleMemberIsNoticed() throws {
        let etcd = try SharedEtcd.etcd.get()
        let relay = try Relay(to: etcd.endpoints[0])
        let idle = try LogOwner(etcd, bus: "idle", endpoints: [relay.endpoint, etcd.endpoints[0]]) {
            $0.times.delivery = .milliseconds(200)
            $0.lease = .seconds(1)
        }
        idle.read()
        try idle.join("kitchen")
        try idle.catchUp()
        relay.hold(.watches)
        let other = try LogOwner(etcd, bus: "idle")
        try other.join("hall")
        try other.proposeNext(content(1))
        try idle.waitForProposals(1)
        #expect(idle.entries.proposals == [content(1)])
    }

    @Test func silentConnectionIsLeft() throws {
        let etcd = try SharedEtcd.etcd.get()
        let relay = try Relay(to: etcd.endpoints[0])
        let owner = try LogOwner(etcd, bus: "silent", endpoints: [relay.endpoint, etcd.endpoints[0]])
        owner.read()
        try owner.join("kitchen")
        try owner.proposeNext(content(0))
        relay.hold(.everything)
        // It arrives, and no answer comes: whether it is in the log can't be known.
        guard case .unknown(let failure) = try owner.propose(2, content(1)) else {
            Issue.record("There is an answer through a silent connection.")
            return
        }
        #expect(failure.kind == .timedOut)
        // The same again is exact, by whichever of the two it comes in.
        try owner.proposeNext(content(1))
        try owner.catchUp()
        #expect(owner.entries.proposals == (0..<2).map(content))
    }

    @Test func readingGoesOnAfterCuts() throws {
        let etcd = try SharedEtcd.etcd.get()
        let writer = try LogOwner(etcd, bus: "cuts")
        try writer.join("kitchen")
        var relays = try (0..<6).map { _ in try Relay(to: etcd.endpoints[0]) }
        let reader = try LogOwner(
            etcd, bus: "cuts", endpoints: relays.map(\.endpoint) + [etcd.endpoints[0]])
        reader.read()
        for number in 0..<60 {
            try writer.proposeNext(content(number))
            if number % 10 == 5 { relays.removeFirst().end() }
        }
        try reader.catchUp()
        #expect(reader.entries.proposals == (0..<60).map(content))
    }
}
