import BusCluster
import EtcdLog
import Foundation
import Synchronization
import TestEtcd
import Testing

/// The shared log, read through another member as long as that one delivers.
@Suite(.enabled(if: TestEtcd.isInstalled, Comment(rawValue: TestEtcd.isMissing)))
struct RelayTests {
    /// A member in this process that others read through, and what goes wrong with it.
    private final class Source: RelaySource, Sendable {
        enum Fault { case none, fails, silent, foreign, garbled }

        private let feed: RelayFeed
        private let fault = Mutex(Fault.none)

        init(_ feed: RelayFeed) { self.feed = feed }

        func set(_ fault: Fault) { self.fault.withLock { $0 = fault } }

        func part(behind place: Int) throws(OrderedLogFailure) -> RelayedPart {
            let end = Date().addingTimeInterval(0.1)
            while true {
                switch fault.withLock({ $0 }) {
                case .fails: throw OrderedLogFailure(.unreachable, "It is gone.")
                case .silent: break
                case .foreign:
                    return RelayedPart(cluster: "1", reading: 1, entries: [], barriers: [], place: place)
                case .garbled:
                    guard let part = feed.nothing(behind: place) else { break }
                    return RelayedPart(
                        cluster: part.cluster, reading: part.reading, entries: [9], barriers: [],
                        place: place + 1)
                case .none:
                    switch feed.answer(behind: place) {
                    case .part(let part): return part
                    case .refused(let reason): throw OrderedLogFailure(.unexpected, reason)
                    case .nothing: break
                    }
                }
                if Date() > end {
                    guard let part = feed.nothing(behind: place) else {
                        throw OrderedLogFailure(.unexpected, "It does not read.")
                    }
                    return part
                }
                poll(nil, 0, 1)
            }
        }
    }

    private func pair(_ name: String = #function) throws -> (LogOwner, LogOwner, Source) {
        let etcd = try SharedEtcd.etcd.get()
        let bus = name.lowercased().filter { $0.isLetter }
        let first = try LogOwner(etcd, bus: bus)
        let source = Source(first.log.feed)
        let second = try LogOwner(etcd, bus: bus) {
            $0.relays = [Relay(address: "first") { () throws(OrderedLogFailure) in source }]
            $0.times.delivery = .milliseconds(500)
        }
        first.read()
        try first.join("kitchen")
        return (first, second, source)
    }

    /// One that brings nothing is not read through: something has to come.
    private func waitForRelay(_ owner: LogOwner, beside first: LogOwner) throws {
        for _ in 0..<60 {
            try first.catchUp()
            let isThere = try? owner.wait("reading through the first one", seconds: 1) {
                if case .reads(from: "first", because: _) = $0 { true } else { nil }
            }
            if isThere == true { return }
        }
        throw LogOwner.Silence(description: "The second one does not read through the first one.")
    }

    private func waitForLoss(_ owner: LogOwner) throws -> String {
        try owner.wait("reading from etcd") {
            if case .reads(from: nil, because: let reason?) = $0 { reason } else { nil }
        }
    }

    private func checkEqual(_ owners: (LogOwner, LogOwner)) throws {
        try owners.0.catchUp()
        try owners.1.catchUp()
        try owners.0.catchUp()
        #expect(owners.0.entries.filter { $0.place <= owners.1.entries.last?.place ?? 0 } == owners.1.entries)
        #expect(owners.0.entries.proposals == owners.1.entries.proposals)
    }

    @Test func whatIsReadIsTheSame() throws {
        let (first, second, _) = try pair()
        second.read()
        try waitForRelay(second, beside: first)
        try second.join("hall")
        for round in 0..<30 {
            try first.proposeNext(Array("kitchen \(round)".utf8))
            try second.proposeNext(Array("hall \(round)".utf8))
        }
        try checkEqual((first, second))
        #expect(second.entries.proposals.count == 60)
        // Reading anew begins with etcd, and goes through the other one again.
        let middle = second.entries[20].place
        second.read(behind: middle)
        try second.catchUp()
        #expect(
            second.entries.first?.place ?? 0 > middle
                && second.entries.proposals.last == first.entries.proposals.last)
    }

    @Test func oneThatFailsIsLeftWithoutAGap() throws {
        let (first, second, source) = try pair()
        second.read()
        try waitForRelay(second, beside: first)
        try second.join("hall")
        for fault in [Source.Fault.fails, .foreign, .garbled, .silent] {
            try first.proposeNext([1])
            source.set(fault)
            try first.proposeNext([2])
            try second.proposeNext([3])
            let reason = try waitForLoss(second)
            #expect(!reason.isEmpty)
            try first.proposeNext([4])
            try checkEqual((first, second))
            // Once it delivers again, it is read through again.
            source.set(.none)
            try waitForRelay(second, beside: first)
            try second.proposeNext([5])
            try checkEqual((first, second))
        }
        #expect(second.entries.proposals.count == 20)
    }

    @Test func oneThatNeverDeliversIsReported() throws {
        let (first, second, source) = try pair()
        source.set(.fails)
        second.read()
        #expect(try waitForLoss(second) == "It is gone.")
        source.set(.none)
        try waitForRelay(second, beside: first)
    }

    @Test func nobodyReadsInACircle() throws {
        let (first, second, _) = try pair()
        second.read()
        try waitForRelay(second, beside: first)
        guard case .refused(let reason) = second.log.feed.answer(behind: 0) else {
            Issue.record("One that reads through another one is read through.")
            return
        }
        #expect(reason.contains("does not read the shared log from etcd itself"))
        try first.proposeNext([1])
        try checkEqual((first, second))
    }

    /// Who is further behind than what is kept reads from etcd up to there.
    @Test func whoIsFarBehindReadsFromEtcdFirst() throws {
        let (first, second, _) = try pair()
        _ = first.log.feed.answer(behind: 0)
        for _ in 0..<12 { try first.proposeNext([UInt8](repeating: 7, count: 900_000)) }
        second.read()
        try waitForRelay(second, beside: first)
        try first.proposeNext([1])
        try checkEqual((first, second))
        #expect(second.entries.proposals.count == 13)
    }
}
