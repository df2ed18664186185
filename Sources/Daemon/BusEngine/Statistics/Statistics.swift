import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// What has been done since the start, and what `stats` tells of the bus and of the daemon.
package final class Statistics {
    private let machine: StateMachine
    private let clock: TurnClock
    private let users: Users
    private let connections: Connections
    private let hub: SubscriptionHub
    private let memory: MemoryMeter
    private let access: AccessControl
    private let shared: SharedRequests
    private let version: String

    // Since the start.
    @exclusivity(unchecked) private var requests = 0
    @exclusivity(unchecked) private var dispatches = 0
    @exclusivity(unchecked) private var duplicates = 0
    private var errors: [String: Int] = [:]
    /// How long things take, as the owner measures it.
    package let timings = Timings()
    /// What only the owner knows of the process and its files.
    package var owners: () -> JSONObject = { [:] }

    init(
        _ machine: StateMachine, _ clock: TurnClock, _ users: Users, _ connections: Connections,
        _ hub: SubscriptionHub, _ memory: MemoryMeter, _ access: AccessControl, _ shared: SharedRequests,
        version: String
    ) {
        self.machine = machine
        self.clock = clock
        self.users = users
        self.connections = connections
        self.hub = hub
        self.memory = memory
        self.access = access
        self.shared = shared
        self.version = version
    }

    /// True: this request is measured.
    @inline(__always)
    func noteRequest() -> Bool {
        requests &+= 1
        return requests & Timings.unsampled == 0
    }
    @inline(__always)
    func noteDispatch() { dispatches &+= 1 }
    func noteDuplicate() { duplicates &+= 1 }

    /// Requests were refused.
    func count(_ code: ErrorCode, times: Int = 1) {
        if times > 0 { errors[code.rawValue, default: 0] += times }
    }

    /// Who does not manage the bus is told only where it stands: counts tell what others have and do.
    func append(to writer: ByteWriter, for grants: Grants?, commits: Int) {
        if let grants, !grants.mayManage {
            writer.append(",\"stats\":")
            return writer.append(
                jsonObject: ["revision": .int(machine.revision), "epoch": .string(machine.epoch)])
        }
        clock.work += Work.statistics + Work.statisticsOfUser * users.all.count
        var counters: JSONObject = [
            "revision": .int(machine.revision), "epoch": .string(machine.epoch),
            "types": .int(machine.typeCount), "views": .int(machine.viewCount),
            "indexes": .int(machine.indexCount),
            "stores": .int(machine.storeCount), "connections": .int(connections.count),
            "subscriptions": .int(hub.subscriptionCount), "shapes": .int(hub.groups.count),
            "stateBytes": .int(machine.stateBytes), "outboxBytes": .int(connections.outboxBytes),
            "timers": .int(machine.timers.count), "leases": .int(machine.timers.leaseCount),
            "nextDue": machine.nextDue == .max ? .null : DurationText.seconds(machine.nextDue),
            "accountedMemory": .int(memory.accounted), "rememberedKeys": .int(machine.keys.count),
            "totals": .object([
                "connections": .int(connections.totalCount), "requests": .int(requests),
                "commits": .int(commits), "dispatches": .int(dispatches),
                "duplicates": .int(duplicates), "events": .int(hub.totals.events),
                "coalesced": .int(hub.totals.coalesced), "bookmarks": .int(hub.totals.bookmarks),
                "slowConsumers": .int(hub.totals.slowConsumers), "bytesIn": .int(connections.bytesIn),
                "bytesOut": .int(connections.bytesOut), "work": .int(clock.totalWork),
            ]),
            "errors": .object(errors.reduce(into: JSONObject()) { $0[$1.key] = .int($1.value) }),
        ]
        counters["limits"] = .object(limits)
        if machine.access != nil {
            counters["denials"] = .object(
                access.denials.reduce(into: JSONObject()) { $0[$1.key] = .int($1.value) })
        }
        counters["cluster"] = shared.condition.map(JSON.object)
        counters["version"] = .string(version)
        counters["memory"] = .object(memory.parts)
        for member in owners().members { counters[member.key] = member.value }
        counters["histograms"] = timings.json
        counters["users"] = .array(users.all.compactMap(statistics(of:)))
        // However many types and actions there are, the reply fits into a line.
        counters["actions"] = .object(
            committedActions(room: connections.limits.line / 2 - JSON.object(counters).encodedSize))
        writer.append(",\"stats\":", jsonObject: counters)
    }

    /// How much there can be at most, by the names of what is counted.
    private var limits: JSONObject {
        let daemon = connections.limits
        return [
            "stores": .int(machine.limits.stores), "timers": .int(machine.limits.timers),
            "connections": .int(daemon.connections), "subscriptions": .int(DaemonLimits.allSubscriptions),
            "shapes": .int(DaemonLimits.allShapes), "memory": .int(daemon.memory),
            "outboxes": .int(daemon.memory / DaemonLimits.waitingPart),
        ]
    }

    /// How often each action of each type was committed, those most often that were, as far as there is room.
    private func committedActions(room: Int) -> JSONObject {
        var counts: [(type: String, action: String, count: Int)] = []
        for type in machine.types {
            for (action, count) in type.commits { counts.append((type.name, action, count)) }
        }
        counts.sort { ($1.count, $0.type, $0.action) < ($0.count, $1.type, $1.action) }
        clock.work += Work.statisticsOfAction * counts.count
        var left = room
        var listed: [String: [(String, Int)]] = [:]
        for (type, action, count) in counts.prefix(DaemonLimits.actionsListed) {
            left -= type.utf8.count + action.utf8.count + 32
            if left < 0 { break }
            listed[type, default: []].append((action, count))
        }
        var object: JSONObject = [:]
        for (type, actions) in listed.sorted(by: { $0.key < $1.key }) {
            var members: JSONObject = [:]
            for (action, count) in actions { members[action] = .int(count) }
            object[type] = .object(members)
        }
        return object
    }

    /// What one user has of what all share; nil for those that are none, and for users who have nothing now.
    private func statistics(of user: User) -> JSON? {
        guard let identity = user.identity else { return nil }
        let holdings = machine.holdings(of: identity)
        guard user.connections > 0 || holdings.stores > 0 || holdings.timers > 0 else { return nil }
        var counts: JSONObject
        switch identity {
        case .uid(let uid): counts = ["uid": .int(uid)]
        case .user(let uid, let member): counts = ["uid": .int(uid), "member": .string(member)]
        case .token(let name): counts = ["token": .string(name)]
        case .certificate(let name): counts = ["certificate": .string(name)]
        }
        let numbers: KeyValuePairs = [
            "connections": user.connections, "subscriptions": user.subscriptions, "shapes": user.shapes,
            "stores": holdings.stores, "timers": holdings.timers, "willBytes": user.willBytes,
            "work": user.work,
        ]
        for (name, number) in numbers { counts[name] = .int(number) }
        return .object(counts)
    }
}
