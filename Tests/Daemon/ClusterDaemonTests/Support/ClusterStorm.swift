import Foundation
import TestEtcd
import TestFiles
import TestSupport

/// What befalls a bus over several machines: members and servers that are killed, stopped and cut off, links that are lost, full
/// disks, clocks that jump, and copies that are lost, old or damaged; one to three at a time, so that most servers are there.
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
    /// How often members may have exited with a code: because they were told to, or were given a copy that they may refuse.
    private(set) var exits: [Int32: Int] = [:]
    /// A member runs with a copy that is to be taken away.
    private var hasWrongCopy = false
    /// Another daemon with the name of a member.
    private var namesake: TestMember?
    /// With what such daemons have exited.
    private(set) var namesakes: [Int32] = []
    /// Members that have found another one of their name: a namesake, or themselves, of whom their copy does not know.
    private(set) var strangers: Set<String> = []
    /// What each member had at the beginning.
    private let backups: [String]
    private let directory = TemporaryDirectory()

    init(_ cluster: TestCluster, _ load: ClusterLoad, longest: Double, seed: UInt64) throws {
        backups = cluster.members.map { [directory] in "\(directory.path)/\($0.name).sqlite" }
        for (member, file) in zip(cluster.members, backups) { try member.backUp(to: file) }
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
        case memberRestarted = "member restarted"
        case diskFull = "member's disk full"
        case serversFull = "servers full"
        case copyLost = "member's copy lost"
        case copyOld = "member's copy old"
        case copyOfOther = "another member's copy"
        case copyDamaged = "member's copy damaged"
        case clockAhead = "member's clock ahead"
        case clockBehind = "member's clock behind"
        case namesake = "two members with one name"
    }

    private static let combinations: [[Fault]] = [
        [.memberKilled, .serverKilled], [.memberCut, .serverStopped], [.memberStopped, .serverKilled],
        [.memberDeaf, .linksLost, .serverStopped],
        [.memberMute, .linksLost, .serverKilled], [.memberCut, .compacted], [.compacted, .linksLost],
        [.memberRestarted, .serverKilled], [.diskFull, .serverStopped], [.copyLost, .compacted],
        [.copyOld, .linksLost], [.clockBehind, .memberCut], [.clockAhead, .memberBlind],
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
            for fault in faults { try begin(fault, member, server) }
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

    private mutating func begin(_ fault: Fault, _ number: Int, _ server: Int) throws {
        let member = cluster.members[number]
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
        // All that is there, or, where a member may lack the bus, all that some other one has: whoever was cut off meanwhile has to
        // be given a copy.
        case .compacted:
            let isWhole = cluster.members.allSatisfy(\.isAttached)
            let place = isWhole ? try? cluster.etcd.revision : cluster.members.compactMap(\.storedPlace).max()
            if let place { _ = try? cluster.etcd.control("compact \(place)") }
        // A process that has only begun ends by the signal.
        case .memberRestarted where member.isAttached:
            exits[0, default: 0] += 1
            member.daemon.stopToRestart()
        case .memberRestarted: break
        // It may be between two runs.
        case .diskFull: try? member.daemon.limitFiles(to: member.largestFile + 20_000)
        case .serversFull: try cluster.etcd.fill()
        // As long as the others lack the bus themselves, this may be the last copy.
        case .copyLost, .copyOld, .copyOfOther, .copyDamaged:
            guard cluster.members.allSatisfy(\.isAttached) else { return }
            member.daemon.kill()
            strangers.insert(member.name)
            switch fault {
            case .copyOld: try member.replaceCopy(by: backups[number])
            case .copyOfOther:
                hasWrongCopy = true
                exits[78, default: 0] += 1
                try member.replaceCopy(by: backups[(number + 1) % backups.count])
            case .copyDamaged:
                hasWrongCopy = true
                // It finds the damage, or the others find what it has made of it.
                for code in [70, 74] as [Int32] { exits[code, default: 0] += 1 }
                member.damageCopy(at: Double.random(in: 0..<1, using: &random))
            default: member.removeCopy()
            }
            try member.start()
        // Further than a lead may be, and than a request waits.
        case .clockAhead: member.clock?.set(ahead: 90)
        case .clockBehind: member.clock?.set(ahead: -20)
        case .namesake where member.isAttached:
            strangers.insert(member.name)
            namesake = try TestMember(member.name, cluster.etcd, bus: "home")
            try namesake?.start()
        case .namesake: break
        }
    }

    private mutating func end(_ fault: Fault, _ member: Int, _ server: Int) throws {
        let member = cluster.members[member]
        switch fault {
        case .memberKilled: try member.start()
        case .memberStopped: member.daemon.signal(SIGCONT)
        case .memberCut, .memberStalled, .memberBlind, .memberDeaf, .memberMute: member.mend()
        case .memberSlow: member.delay(milliseconds: 0)
        case .linksLost, .compacted: break
        case .serverKilled: try cluster.etcd.start(server)
        case .serverStopped: cluster.etcd.signal(server, SIGCONT)
        case .memberRestarted: try member.start()
        case .diskFull: try? member.daemon.limitFiles(to: nil)
        case .serversFull: try cluster.etcd.makeRoom()
        case .copyLost, .copyOld: break
        case .copyOfOther, .copyDamaged:
            guard hasWrongCopy else { return }
            hasWrongCopy = false
            // As it says; or, where it has not met the damage yet, as an operator would who knows of it.
            member.daemon.kill()
            member.removeCopy()
            try member.start()
        case .clockAhead, .clockBehind: member.clock?.set(ahead: 0)
        case .namesake:
            namesake?.daemon.kill()
            namesakes += (namesake?.daemon.exits ?? []).filter { $0 != -SIGKILL }
            namesake = nil
        }
    }
}
