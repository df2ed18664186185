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
        case .members: engine?.answer(query, with: .success(members))
        case .leave:
            engine?.answer(query, with: .success([]))
            leave()
        case .replica(let offset): engine?.answer(query, with: part(from: offset))
        case .log(let place):
            followers.add(query, behind: place, now: MonotonicClock.milliseconds)
            answerFollowers()
        }
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

    private var members: [UInt8] {
        let machine = member.replica.machine
        var cluster = condition
        cluster["epoch"] = .string(machine.epoch)
        cluster["revision"] = .int(machine.revision)
        cluster["place"] = .int(member.replica.link.place)
        cluster["stored"] = .int(member.stored)
        cluster["logBytes"] = .int(member.logBytes)
        cluster["rules"] = .int(ClusterLimits.rules)
        cluster["version"] = .string(Version.text)
        cluster["digest"] = .string(member.replica.link.output.text)
        cluster["from"] = readsFrom.map(JSON.string)
        cluster["members"] = .array(member.members.map { Self.json($0, at: machine.revision) })
        let writer = ByteWriter()
        writer.append(",\"cluster\":", jsonObject: cluster)
        return Array(writer.bytes)
    }

    private static func json(_ status: MemberStatus, at revision: Int) -> JSON {
        var member: JSONObject = [
            "name": .string(status.name), "incarnation": .int(status.incarnation),
            "agrees": .bool(status.agrees),
        ]
        member["place"] = status.place.map(JSON.int)
        member["revision"] = status.revision.map(JSON.int)
        member["behind"] = status.revision.map { .int(max(0, revision - $0)) }
        member["clock"] = status.clock.map { DurationText.seconds($0) }
        if let report = status.report {
            member["stored"] = .int(report.stored)
            if !report.about.version.isEmpty { member["version"] = .string(report.about.version) }
            if !report.about.address.isEmpty { member["address"] = .string(report.about.address) }
        }
        return .object(member)
    }

    // MARK: - The replica

    /// Bytes of the replica in one reply: with what surrounds them they fit into a line of the least length.
    private static let partSize = 24 << 10

    /// A part of a snapshot. It is made when the first part is asked for, and kept for those who ask for further ones;
    /// making it takes a moment in which nothing else is done.
    private func part(from offset: Int) -> Result<[UInt8], ClusterRefusal> {
        if offset == 0 {
            guard member.isFollowing, member.replica.hasBegun else {
                return .failure(ClusterRefusal("This member has no replica itself; ask another one."))
            }
            snapshotServed = (member.replica.snapshot(), member.replica.link.place)
        }
        guard let (bytes, place) = snapshotServed, 0..<bytes.count ~= offset else {
            return .failure(ClusterRefusal("There is no such part; begin again with offset 0."))
        }
        let end = min(bytes.count, offset + Self.partSize)
        let writer = ByteWriter()
        writer.append(",\"place\":", decimal: place)
        writer.append(",\"bytes\":", decimal: bytes.count)
        writer.append(",\"data\":\"")
        bytes.withUnsafeBytes { all in
            Base64.append(UnsafeRawBufferPointer(rebasing: all[offset..<end]), to: writer)
        }
        writer.append(UInt8(ascii: "\""))
        return .success(Array(writer.bytes))
    }
}
