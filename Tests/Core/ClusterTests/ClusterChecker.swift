import BusCluster
import BusJSON
import BusMachine

/// What a finished history has to satisfy: that of the log, as a replica without faults has it, and what clients were told.
struct ClusterChecker {
    /// What the log's entries come to.
    struct Truth {
        var epoch = ""
        /// The revisions of the commits in which a mark stands.
        var revisions: [Int: [Int]] = [:]
        /// The marks of wills that have not come.
        var waiting: Set<Int> = []
        var times: [Int] = []
        var hasGoneBack = false
        /// The first member to propose had a clock that is ahead, so the time of the bus stands still.
        var isTimeAhead = false
    }

    private let simulation: ClusterSimulation

    init(_ simulation: ClusterSimulation) { self.simulation = simulation }

    /// True: the bus has begun anew.
    func check() throws -> Bool {
        if simulation.setup.hasNewerRules {
            // Who lacks a replica applies nothing, and all who could give one have stopped.
            for node in simulation.nodes where node.lack == nil {
                guard case .newerRules? = node.stops.first else {
                    throw SimulationFailure("\(node.name) went on by rules that it does not know.")
                }
            }
            guard simulation.nodes.contains(where: \.isStopped) else {
                throw SimulationFailure("Nobody has met the later rules.")
            }
            return false
        }
        let machine = try ClusterBuild.usual.machine()
        let sink = RecordingCommits(machine)
        let reference = Replica(machine, sink: sink, history: ClusterSimulation.history)
        do throws(ReplicaStop) {
            for entry in simulation.shared.entries { _ = try reference.apply(entry) }
        } catch {
            guard case .otherBeginning = error else { throw error }
            // What a member had had is in no log any more: all have to have the same.
            try checkAlike()
            return true
        }
        for (index, node) in simulation.nodes.enumerated() {
            if simulation.setup.isFirstOther {
                guard case .diverged? = node.stops.first else {
                    if index > 0 { continue }
                    throw SimulationFailure("\(node.name) differs, and has not stopped.")
                }
                // While there were two, none could know which it was.
                if case .diverged(_, true)? = node.stops.first, index > 0 {
                    throw SimulationFailure("\(node.name) is like the others, and has stopped.")
                }
                continue
            }
            if let stop = node.stops.first { throw SimulationFailure("\(node.name) has stopped: \(stop)") }
            let digest = node.member?.replica.digest ?? "nothing"
            guard digest == reference.digest else {
                throw SimulationFailure("\(node.name) has \(digest), and the log says \(reference.digest)")
            }
        }
        guard reference.strayedSessions.isEmpty else {
            throw SimulationFailure(
                "Nobody has the sessions \(reference.strayedSessions), and they never end.")
        }
        var truth = Truth(epoch: machine.epoch)
        truth.hasGoneBack = simulation.shared.rollbacks > 0
        for commit in sink.commits {
            for mark in commit.marks { truth.revisions[mark, default: []].append(commit.revision) }
            truth.times.append(commit.time)
        }
        for session in machine.sessionsInOrder {
            truth.waiting.formUnion(session.will.compactMap { $0.payload["mark"]?.int })
        }
        truth.isTimeAhead = machine.time > simulation.shared.now + ClusterLimits.clockLead
        // A divergent member may have answered its clients before it was known.
        if simulation.setup.isFirstOther { return false }
        try Self.check(simulation.clients.operations, simulation.clients.pairs, truth)
        if !truth.hasGoneBack { try checkKeptWills(truth) }
        let late = simulation.shared.now - machine.time
        guard late <= ClusterLimits.heartbeat + 2000 else {
            throw SimulationFailure("The time of the bus is \(late) ms behind.")
        }
        return false
    }

    /// No will runs while its client is there and its member's lease goes on, restarts with hand-over included.
    private func checkKeptWills(_ truth: Truth) throws {
        for will in simulation.clients.keptWills where !truth.waiting.contains(will.mark) {
            let node = simulation.nodes[will.node]
            guard
                node.lacked >= will.started || simulation.shared.lapses[node.name] ?? 0 >= will.started
            else {
                throw SimulationFailure(
                    "\(will) is a will that ran though its client was there, at \(truth.revisions[will.mark] ?? [])"
                )
            }
        }
    }

    private func checkAlike() throws {
        for node in simulation.nodes {
            if let stop = node.stops.first { throw SimulationFailure("\(node.name) has stopped: \(stop)") }
            let (digest, first) = (node.member?.replica.digest, simulation.nodes[0].member?.replica.digest)
            guard let digest, digest == first, node.lack == nil else {
                throw SimulationFailure(
                    "\(node.name) has \(digest ?? "nothing"), m0 has \(first ?? "nothing")")
            }
            guard node.member?.replica.strayedSessions.isEmpty == true else {
                throw SimulationFailure("Nobody has some sessions of \(node.name), and they never end.")
            }
        }
        for operation in simulation.clients.operations where operation.kind == .keyed {
            guard operation.answered != nil else {
                throw SimulationFailure("\(operation) was never answered")
            }
        }
    }

    static func check(_ operations: [Operation], _ pairs: [(Int, Int)], _ truth: Truth) throws {
        for (earlier, later) in zip(truth.times, truth.times.dropFirst()) where later < earlier {
            throw SimulationFailure("Time goes back from \(earlier) to \(later).")
        }
        for operation in operations { try check(operation, truth) }
        for (first, second) in pairs {
            guard case .done(let one, false)? = operations[first].answer,
                case .done(let two, false)? = operations[second].answer,
                operations[first].epoch == operations[second].epoch
            else { continue }
            guard one < two else {
                throw SimulationFailure("\(second) was asked for behind \(first), and came before it.")
            }
        }
    }

    private static func check(_ operation: Operation, _ truth: Truth) throws {
        let revisions = truth.revisions[operation.mark] ?? []
        func fail(_ what: String) -> SimulationFailure {
            SimulationFailure("\(operation) \(what); in the log at \(revisions), epoch \(truth.epoch)")
        }
        guard revisions.count <= 1 else { throw fail("was committed \(revisions.count) times") }
        if operation.isSaidToBeNone, operation.answer == nil, operation.kind != .will {
            guard revisions.isEmpty else { throw fail("was said to be in no history") }
        }
        guard operation.answered != nil else {
            guard operation.kind != .keyed else { throw fail("was never answered") }
            return
        }
        switch operation.answer {
        case .done(let revision, let isDuplicate)?:
            // Who was answered in an earlier epoch knows that it may be lost.
            let mayBeLost = truth.hasGoneBack && operation.epoch != truth.epoch
            switch operation.kind {
            case .keyed, .once, .guarded:
                guard revisions == [revision] || mayBeLost else { throw fail("is not where its answer says") }
                guard isDuplicate || mayBeLost || revision > operation.seen[operation.epoch] ?? 0 else {
                    throw fail("came before what had been answered when it began")
                }
            case .will where operation.isCleared: break
            case .will:
                guard (revisions.count == 1) != truth.waiting.contains(operation.mark) || truth.hasGoneBack
                else { throw fail("is a will that \(revisions.isEmpty ? "is gone" : "ran and waits")") }
            case .timer:
                guard revisions.count == 1 || mayBeLost || truth.isTimeAhead else {
                    throw fail("is a timer that has not fired")
                }
            case .sync:
                guard revision >= operation.seen[operation.epoch] ?? 0 || mayBeLost else {
                    throw fail("came before what had been answered when it was asked for")
                }
            case .ephemeral, .named, .ended, .cleared: break
            }
        case .refused(let code)?:
            // A key of its own is never in conflict, and nothing else may be refused but what has a condition.
            guard
                operation.kind == .guarded && ["rejected", "conflict"].contains(code)
                    || operation.kind == .named
            else {
                throw fail("was refused: \(code)")
            }
            guard revisions.isEmpty else { throw fail("was refused and committed") }
        case nil: break
        }
    }
}
