import BusJSON
import TestSupport

/// Events: each one that must come does, once, in order, and no other.
extension Execution {
    func takeEvents(since before: Int) throws {
        for client in peers.keys.sorted() where peers[client]!.isReading {
            let rest = try bus.received(client, through: model.revision)
            for line in rest { note("\(name(client))< \(line.encoded)") }
            let lines = (pending.removeValue(forKey: client) ?? []) + rest
            try take(lines, client, since: before)
        }
    }

    private func take(_ lines: [JSON], _ client: Int, since before: Int) throws {
        guard var peer = peers[client] else { return }
        var told: [Int: [JSON]] = [:]
        var last = (revision: 0, sub: 0)
        var lastChange = last
        // Actions do not wait for changes that come late, as they do when more was to be sent than the outbox holds.
        let isMore = lines.reduce(0) { $0 + $1.encoded.utf8.count + 1 } > peer.outbox
        let isLate = isMore || !peer.subs.values.allSatisfy(\.isLive)
        // Of several commits at one time, as when timers are due, the last ones may come as one then.
        if isMore, before + 1 < model.revision {
            for (sub, mirror) in peer.subs where !mirror.isOfActions { peer.subs[sub]?.isLive = false }
        }
        for line in lines {
            guard let event = line["event"]?.string else { continue }
            guard let sub = line["sub"]?.int, peer.subs[sub] != nil else {
                throw Difference(subject: "an event of no subscription", model: "none", bus: line.encoded)
            }
            if event == "change" || event == "action" {
                let position = (line["revision"]?.int ?? 0, sub)
                let least = event == "change" && isLate ? lastChange : last
                if position < least {
                    throw Difference(subject: "order of events", model: "\(least)", bus: line.encoded)
                }
                if position > last { last = position }
                if event == "change" { lastChange = position }
            }
            if peer.subs[sub]!.isOfActions {
                if event == "action" || event == "gap" { told[sub, default: []].append(line) }
                continue
            }
            try peer.subs[sub]!.take(line, model, isFirst: false)
            if event == "change" { told[sub, default: []].append(line) }
            count(line["coalesced"] == nil ? event : "coalesced")
            if line["more"] == true { count("parts") }
        }
        for sub in peer.subs.keys.sorted() {
            try checkComplete(sub, peer.subs[sub]!, told[sub] ?? [], since: before)
            peer.subs[sub]!.isLive = true
            peer.subs[sub]!.isOfDaemonBefore = false
        }
        peers[client] = peer
    }

    private func checkComplete(_ sub: Int, _ mirror: Mirror, _ told: [JSON], since before: Int) throws {
        let commits = before < model.revision ? Array(before + 1...model.revision) : []
        if mirror.isOfActions {
            // Of stores that are chosen by value the past is not known: where it would have to be told, there is a gap.
            let isGap = mirror.filter.condition != nil && told.contains { $0["event"] == "gap" }
            if mirror.isLive, !isGap {
                try compareActions(told, commits.flatMap { actionEvents($0, sub, mirror.filter) }, "live")
            }
            return
        }
        let now = mirror.filter.shown(model.world.states)
        if mirror.copy.states != now {
            throw Difference(
                subject: "mirror at rest", model: JSON.object(now.json).encoded,
                bus: JSON.object(mirror.copy.states.json).encoded)
        }
        guard mirror.isLive else { return }
        let expected = commits.filter { mirror.isTold(of: $0, model) }
        let revisions = told.filter { $0["more"] != true }.compactMap { $0["revision"]?.int }
        if revisions != expected {
            throw Difference(subject: "revisions told live", model: "\(expected)", bus: "\(revisions)")
        }
    }

    /// The events of a commit's actions for a subscription to actions.
    func actionEvents(_ revision: Int, _ sub: Int, _ filter: Filter) -> [JSON] {
        let commit = model.commits[revision]
        return commit.actions.enumerated().compactMap { index, action in
            guard model.concerns(action, of: revision, filter) else { return nil }
            var event = action.object ?? [:]
            event["event"] = "action"
            event["sub"] = .int(sub)
            event["revision"] = .int(revision)
            event["index"] = commit.actions.count > 1 ? .int(index) : nil
            event["by"] = commit.by
            event["time"] = .int(commit.time)
            return .object(event)
        }
    }

    func compareActions(_ told: [JSON], _ expected: [JSON], _ way: String) throws {
        let told = told.map { event -> JSON in
            var members = Reply.inMilliseconds(event, model).object ?? [:]
            // Whether a batch of one has an index is not said.
            if let revision = members["revision"]?.int, model.commits[revision].actions.count == 1 {
                members["index"] = nil
            }
            return .object(members)
        }
        if told != expected {
            throw Difference(
                subject: "actions told \(way)", model: JSON.array(expected).encoded,
                bus: JSON.array(told).encoded)
        }
        figures["actions \(way)", default: 0] += expected.count
    }
}
