import Foundation
import TestEtcd
import TestSupport

/// What befalls a bus over several machines: members and servers that are killed, stopped and cut off, and links that
/// are lost, one to three at a time, so that most servers are there.
struct ClusterStorm {
    private let cluster: TestCluster
    private let load: ClusterLoad
    /// What happens lasts so many seconds at most.
    private let longest: Double
    private var random: SeededGenerator
    private var round = 0
    /// When this was looked at last, and for how long it was not: the machine, or this process, stood still then.
    private var looked = Date()
    private(set) var stillness = 0.0
    /// How often what has happened, and for how long nobody was answered then at most, in seconds.
    private(set) var happened: [String: (count: Int, outage: Double)] = [:]

    init(_ cluster: TestCluster, _ load: ClusterLoad, longest: Double, seed: UInt64) {
        self.cluster = cluster
        self.load = load
        self.longest = longest
        random = SeededGenerator(seed: seed)
        // A short one does not come through all.
        round = Int.random(in: 0..<Fault.allCases.count + Self.combinations.count, using: &random)
    }

    private enum Fault: String, CaseIterable {
        case memberKilled = "member killed"
        case memberStopped = "member stopped"
        case memberCut = "member cut off"
        case memberStalled = "member's answers held back"
        case memberBlind = "member's watch silent"
        case memberDeaf = "member half cut off"
        case memberMute = "member half cut off the other way"
        case memberSlow = "member far away"
        case linksLost = "all links lost"
        case serverKilled = "server killed"
        case serverStopped = "server stopped"
        case compacted = "compaction by hand"
    }

    private static let combinations: [[Fault]] = [
        [.memberKilled, .serverKilled], [.memberCut, .serverStopped], [.memberStopped, .serverKilled],
        [.memberDeaf, .linksLost, .serverStopped],
        [.memberMute, .linksLost, .serverKilled], [.memberCut, .compacted], [.compacted, .linksLost],
    ]

    /// Lets things happen for so many seconds; then everything is as it should be.
    mutating func rage(seconds: Double) throws {
        let end = Date().addingTimeInterval(seconds)
        _ = load.takeLongestGap()
        looked = Date()
        while Date() < end {
            let still = stillness
            // Each once before one comes again.
            let all = Fault.allCases.count + Self.combinations.count
            let choice = round % all
            round += 1
            let faults =
                choice < Fault.allCases.count
                ? [Fault.allCases[(choice * 5) % Fault.allCases.count]]
                : Self.combinations[choice - Fault.allCases.count]
            let name = faults.map(\.rawValue).joined(separator: " and ")
            let member = Int.random(in: 0..<cluster.members.count, using: &random)
            let server = Int.random(in: 0..<cluster.etcd.endpoints.count, using: &random)
            for fault in faults { begin(fault, member, server) }
            looked = Date()
            // Shorter than a lease or longer.
            pass(
                seconds: Bool.random(using: &random) ? 0.4 : Double.random(in: 0.4..<longest, using: &random),
                end)
            for fault in faults { try self.end(fault, member, server) }
            looked = Date()
            pass(seconds: Double.random(in: 0.2..<1, using: &random), end)
            let (count, outage) = happened[name] ?? (0, 0)
            let gap = load.takeLongestGap()
            happened[name] = (count + 1, stillness > still ? outage : max(outage, gap))
        }
    }

    private mutating func pass(seconds: Double, _ end: Date) {
        let until = min(end, Date().addingTimeInterval(seconds))
        while Date() < until {
            poll(nil, 0, 10)
            let now = Date()
            let passed = now.timeIntervalSince(looked)
            if passed > 1.5 { stillness += passed }
            looked = now
        }
    }

    private func begin(_ fault: Fault, _ member: Int, _ server: Int) {
        let member = cluster.members[member]
        switch fault {
        case .memberKilled: member.daemon.kill()
        case .memberStopped: member.daemon.signal(SIGSTOP)
        case .memberCut: member.cut()
        case .memberStalled: member.hold(.late)
        case .memberBlind: member.hold(.watches)
        case .memberDeaf: member.hold(.everything)
        case .memberMute: member.hold(.requests)
        case .memberSlow: member.delay(milliseconds: 40)
        case .linksLost: for member in cluster.members { member.reset() }
        case .serverKilled: cluster.etcd.kill(server)
        case .serverStopped: cluster.etcd.signal(server, SIGSTOP)
        // All that is there: whoever was cut off meanwhile has to be given a copy.
        case .compacted:
            if let place = try? cluster.etcd.revision { _ = try? cluster.etcd.control("compact \(place)") }
        }
    }

    private func end(_ fault: Fault, _ member: Int, _ server: Int) throws {
        let member = cluster.members[member]
        switch fault {
        case .memberKilled: try member.start()
        case .memberStopped: member.daemon.signal(SIGCONT)
        case .memberCut, .memberStalled, .memberBlind, .memberDeaf, .memberMute: member.mend()
        case .memberSlow: member.delay(milliseconds: 0)
        case .linksLost, .compacted: break
        case .serverKilled: try cluster.etcd.start(server)
        case .serverStopped: cluster.etcd.signal(server, SIGCONT)
        }
    }
}
