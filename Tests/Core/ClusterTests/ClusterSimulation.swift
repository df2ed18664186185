import BusCluster
import BusMachine
import TestSupport

/// Members of one bus with their clients over a log that delays, loses answers, ends leases and goes back, all from a seed.
/// In the end there are no faults, and everything has to be as the checker says.
final class ClusterSimulation {
    struct Setup {
        var omitted: OmittedRules = []
        /// The first member has another build.
        var isFirstOther = false
        /// Somebody proposes by rules of a later version.
        var hasNewerRules = false
        /// Backups are old, and entries go before all have read them: there may be nothing that the log goes on from.
        var isRough = false
        /// Members restart now and then, and hand their sessions over.
        var handsOver = false
        /// Rules of a hand-over that are left out.
        var unruly: HandOverRules = []
        /// The others read through the first two, and while the log goes back one of these is frozen, and passes on what it had read.
        var hasStaleRelays = false
        /// Faults come about at random.
        var isTroubled = true
        /// How many members there are, and through how many of them the others read; nil: by the seed.
        var size: (members: Int, relays: Int)?
        /// Milliseconds of the time with faults, and at least of the time without: then every member has shown what it knows since.
        var time = (faulty: 16_000, quiet: 14_000)
    }

    static let history: HistoryLimits = {
        var history = HistoryLimits()
        (history.links, history.overlap, history.trim) = (120, 24, 60)
        return history
    }()
    static let begin = 1_700_000_000_000
    /// Milliseconds of one step, and at most of the time without faults.
    static let step = 25
    private static let quiet = 40_000

    let seed: UInt64
    let setup: Setup
    let shared: SharedLog
    private(set) var nodes: [ClusterNode] = []
    var clients: ClusterClients
    private var generator: SeededGenerator
    private let mayGoBack: Bool
    private let isTroubled: Bool
    private(set) var figures = ClusterFigures()
    /// Called after each step.
    var stepped: () throws -> Void = {}

    init(seed: UInt64, _ setup: Setup = Setup()) throws {
        self.seed = seed
        self.setup = setup
        var generator = SeededGenerator(seed: seed)
        let shared = SharedLog(seed: generator.next(), now: Self.begin)
        self.shared = shared
        mayGoBack = (generator.oneIn(3) || setup.isRough) && !setup.isFirstOther
        isTroubled = !generator.oneIn(8) && setup.isTroubled
        let aheadOfTime = generator.oneIn(4)
        let count = setup.size?.members ?? Int.random(in: 3...7, using: &generator)
        for index in 0..<count {
            let lead =
                index == 1 && aheadOfTime ? 3_600_000 : Int.random(in: -40...40, using: &generator)
            nodes.append(
                ClusterNode(
                    "m\(index)", shared, seed: generator.next(),
                    build: index == 0 && setup.isFirstOther ? .other : .usual, clockLead: lead,
                    omitting: setup.omitted, setup.unruly))
        }
        // The first ones read the log itself, and the others through these.
        let relays = setup.size?.relays ?? (seed % 3 == 0 || setup.hasStaleRelays ? 2 : count)
        for index in nodes.indices.dropFirst(relays) { nodes[index].relay = nodes[index % relays] }
        clients = ClusterClients(seed: generator.next(), nodes: nodes.count)
        self.generator = generator
    }

    func run() throws {
        for node in nodes { try node.start() }
        shared.isFaulty = isTroubled
        while shared.now < Self.begin + setup.time.faulty {
            if isTroubled { try trouble() }
            if setup.handsOver { beginHandOvers() }
            try clients.act(on: nodes, at: shared.now)
            try step()
        }
        try settle()
        for node in nodes { figures.add(node) }
        figures.entries += shared.entries.count
        figures.rollbacks += shared.rollbacks
        figures.trims += shared.trimmedThrough > 0 ? 1 : 0
        if try ClusterChecker(self).check() { figures.beginnings += 1 }
    }

    private func step() throws {
        shared.advance(to: shared.now + Self.step)
        for node in nodes {
            try node.step()
            try proceedHandOver(of: node)
            if node.lack != nil, !node.isUnresponsive {
                let barrier = node.barrierOfSnapshot(behind: lastApplied)
                try node.getReplica(from: nodes.filter { $0 !== node && isServing($0, behind: barrier) })
            }
            try clients.take(from: node, at: shared.now)
        }
        try clients.proceed(on: nodes, at: shared.now)
        try stepped()
    }

    /// The process of a member is killed.
    func crash(_ node: ClusterNode) {
        node.crash()
        clients.noteCrash(of: node, at: shared.now)
        figures.crashes += 1
    }

    /// Whether others may have its snapshot: they ask for it behind a barrier.
    private func isServing(_ node: ClusterNode, behind place: Int) -> Bool {
        node.isUp && !node.isStopped && node.lack == nil && node.member?.isFollowing == true
            && node.member?.replica.hasBegun == true && node.log?.isCurrent == true
            && node.member!.replica.link.place >= place
    }

    private func trouble() throws {
        let node = nodes.randomElement(using: &generator)!
        if generator.oneIn(40) {
            node.log?.cutUntil = shared.now + [200, 800, 3000].randomElement(using: &generator)!
            figures.cuts += 1
        }
        if generator.oneIn(60), node.isUp { crash(node) }
        for node in nodes where !node.isUp && node.legacy == nil && generator.oneIn(30) { try node.start() }
        if generator.oneIn(150) {
            node.setBack = [0, 400, 8000, 3_600_000].randomElement(using: &generator)!
            figures.setBack += node.setBack > 0 ? 1 : 0
        }
        if generator.oneIn(150) {
            shared.endSomeLease()
            figures.leases += 1
        }
        if mayGoBack, generator.oneIn(200) { goBack() }
        if setup.isRough, generator.oneIn(150) { shared.trim(through: shared.lastPlace) }
    }

    private func beginHandOvers() {
        for node in nodes where node.isUp && !node.isStopped && !node.isHandingOver && generator.oneIn(300) {
            node.beginHandOver()
        }
    }

    /// The next process goes on with the sessions, where its copy is what it was.
    private func proceedHandOver(of node: ClusterNode) throws {
        if node.isHandOverLate {
            crash(node)
            return try node.start()
        }
        guard let legacy = node.legacy else { return }
        // Nobody else hears of the answers.
        if setup.unruly.contains(.rest) { clients.noteUnheard(of: node, at: shared.now) }
        if mayGoBack, legacy.rollbacks == shared.rollbacks, generator.oneIn(100) { restoreOlderLog() }
        guard shared.now >= legacy.due else { return }
        if !mayGoBack, generator.oneIn(8) { node.setCopyBack() }
        figures.restored += shared.rollbacks > legacy.rollbacks ? 1 : 0
        figures.lapsed += shared.isPresent(node.name, legacy.lease) ? 0 : 1
        if try node.goOn(from: legacy) {
            figures.handOvers += 1
        } else {
            figures.copiesBack += 1
            clients.noteCrash(of: node, at: shared.now)
        }
    }

    /// The log goes back; often when the power fails for all machines, so that only what was durable is known.
    private func goBack() {
        let isPowerLost = generator.oneIn(2)
        for node in nodes where isPowerLost && (node.isUp || node.legacy != nil) { crash(node) }
        if setup.hasStaleRelays { freezeRelay() }
        restoreOlderLog()
    }

    private func freezeRelay() {
        guard let log = nodes.last?.relay?.log else { return }
        log.freeze(until: shared.now + Int.random(in: 200...2000, using: &generator))
        figures.frozen += 1
    }

    private func restoreOlderLog() {
        if setup.isRough, generator.oneIn(2) {
            shared.goBack(by: Int.random(in: 20...200, using: &generator), isTrimmedAnew: generator.oneIn(2))
        } else {
            shared.goBack(by: Int.random(in: 1...12, using: &generator))
        }
    }

    /// Without faults everything comes to rest.
    private func settle() throws {
        shared.isFaulty = false
        for node in nodes {
            node.log?.cutUntil = 0
            node.setBack = 0
        }
        for node in nodes where !node.isUp && node.legacy == nil { try node.start() }
        let start = shared.now
        if setup.hasNewerRules {
            let content = ProposalContent(
                rules: ClusterLimits.rules + 1, clock: shared.now,
                evidence: Evidence(epoch: "later", link: .beginning), entries: [])
            shared.inject(ProposalName(member: "m9", incarnation: 1, number: 1), content.encoded)
        }
        while shared.now < start + Self.quiet {
            try step()
            if shared.now >= start + setup.time.quiet, isAtRest { break }
        }
        for node in nodes where !node.isStopped { try node.flush() }
    }

    private var isAtRest: Bool {
        let last = lastApplied
        return (clients.isDone || setup.isFirstOther)
            && nodes.allSatisfy { $0.isStopped || $0.member?.replica.link.place == last }
    }

    /// The last place that is part of the history.
    private var lastApplied: Int {
        shared.entries.last { if case .reported = $0.content { false } else { true } }?.place ?? 0
    }
}

/// What simulations have reached.
struct ClusterFigures {
    var entries = 0
    var rollbacks = 0
    var trims = 0
    var cuts = 0
    var crashes = 0
    var leases = 0
    var epochs = 0
    var losses = 0
    var clamped = 0
    /// How often a clock was set back.
    var setBack = 0
    /// Simulations in which the bus has begun anew.
    var beginnings = 0
    /// How often a member through which others read was frozen while the log went back.
    var frozen = 0
    /// Restarts whose sessions were handed over; and those during which the log went back, those during which the lease ended,
    /// and those whose copy was not as it had been left.
    var handOvers = 0
    var restored = 0
    var lapsed = 0
    var copiesBack = 0

    mutating func add(_ node: ClusterNode) {
        for notice in node.notices {
            switch notice {
            case .epoch: epochs += 1
            case .logLost: losses += 1
            case .clockAhead: clamped += 1
            default: break
            }
        }
    }

    static func += (sum: inout ClusterFigures, more: ClusterFigures) {
        sum.entries += more.entries
        sum.rollbacks += more.rollbacks
        sum.trims += more.trims
        sum.cuts += more.cuts
        sum.crashes += more.crashes
        sum.leases += more.leases
        sum.epochs += more.epochs
        sum.losses += more.losses
        sum.clamped += more.clamped
        sum.setBack += more.setBack
        sum.beginnings += more.beginnings
        sum.frozen += more.frozen
        sum.handOvers += more.handOvers
        sum.restored += more.restored
        sum.lapsed += more.lapsed
        sum.copiesBack += more.copiesBack
    }
}
