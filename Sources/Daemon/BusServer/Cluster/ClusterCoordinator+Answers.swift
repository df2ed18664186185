import BusCluster
import BusEngine
import BusJSON
import BusMachine
import BusProtocol
import BusSystem
import EtcdLog

/// Questions about the bus: its members, and this one's replica.
extension ClusterCoordinator {
    func answer(_ query: ClusterQuery) {
        switch query.subject {
        case .members(let isWhole): engine?.answer(query, with: .success(members(isWhole: isWhole)))
        case .leave where !member.isAttached:
            let refusal = ClusterRefusal(
                "The shared log does not answer, so this member can't leave now. Stop its daemon: its sessions end with its lease."
            )
            engine?.answer(query, with: .failure(refusal))
        case .leave:
            engine?.answer(query, with: .success([]))
            leave()
        case .replica(let offset):
            if offset > 0 {
                let now = MonotonicClock.milliseconds
                engine?.answer(query, with: joiners.part(from: offset, query, now: now))
            } else if snapshots != nil, member.isFollowing, member.replica.hasBegun {
                joiners.ask(query, through: member.stored)
            } else {
                let refusal = ClusterRefusal("This member has no replica itself; ask another one.")
                engine?.answer(query, with: .failure(refusal))
            }
            answerJoiners()
        case .log(let place):
            followers.add(query, behind: place, now: MonotonicClock.milliseconds)
            answerFollowers()
        }
    }

    /// Passes on a snapshot that has been made.
    func answerJoiners() {
        guard let snapshots, let engine else { return }
        let answers = joiners.answers(
            from: snapshots, through: member.stored, now: MonotonicClock.milliseconds, engine.isAwaited)
        for (query, answer) in answers { engine.answer(query, with: answer) }
        member.hold(behind: joiners.place)
    }

    /// Passes on what has come of the shared log.
    func answerFollowers() {
        guard followers.count > 0 else { return }
        for (query, answer) in followers.answers(now: MonotonicClock.milliseconds) {
            engine?.answer(query, with: answer)
        }
        if let due = followers.due { nextTick = min(nextTick, due) }
    }

    // MARK: - Members

    private func members(isWhole: Bool) -> [UInt8] {
        let machine = member.replica.machine
        var cluster = condition
        cluster["epoch"] = .string(machine.epoch)
        cluster["revision"] = .int(machine.revision)
        cluster["rules"] = .int(machine.rules)
        if isWhole {
            // They would tell of what access rules hide, and of the machines.
            cluster["place"] = .int(member.replica.link.place)
            cluster["stored"] = .int(member.stored)
            cluster["version"] = .string(Version.text)
            cluster["logBytes"] = .int(member.logBytes)
            cluster["digest"] = .string(member.replica.link.output.text)
            cluster["from"] = readsFrom.map(JSON.string)
        }
        cluster["members"] = .array(
            member.members.map { Self.json($0, at: machine.revision, isWhole: isWhole) })
        let writer = ByteWriter()
        writer.append(",\"cluster\":", jsonObject: cluster)
        return Array(writer.bytes)
    }

    private static func json(_ status: MemberStatus, at revision: Int, isWhole: Bool) -> JSON {
        var member: JSONObject = ["name": .string(status.name), "agrees": .bool(status.agrees)]
        member["revision"] = status.revision.map(JSON.int)
        member["behind"] = status.revision.map { .int(max(0, revision - $0)) }
        guard isWhole else { return .object(member) }
        member["incarnation"] = .int(status.incarnation)
        member["place"] = status.place.map(JSON.int)
        member["clock"] = status.clock.map { DurationText.seconds($0) }
        if let report = status.report {
            member["stored"] = .int(report.stored)
            if !report.about.version.isEmpty { member["version"] = .string(report.about.version) }
            if !report.about.address.isEmpty { member["address"] = .string(report.about.address) }
        }
        return .object(member)
    }
}
