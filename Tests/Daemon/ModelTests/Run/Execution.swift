import BusJSON
import TestSupport

/// Sends steps to the model and to a bus, and compares all that comes.
final class Execution {
    struct Peer {
        var session: Int
        let uid: Int
        var isReading = true
        /// How many bytes wait for it before changes come late.
        var outbox = Int.max
        /// The revision behind which everything is kept where it is connected.
        var oldest = 0
        var lastSub = 0
        var subs: [Int: Mirror] = [:]
        /// What came of a request that was sent while nothing was read is read later.
        var nextID = 1
    }

    private(set) var model: ModelBus
    let bus: any BusUnderTest
    var peers: [Int: Peer] = [:]
    private var definitions: [JSON]
    /// What the bus reads of a definition.
    private let written: (JSON) -> JSON
    private var nextSession = 1
    private(set) var requests = 0
    /// How often each thing happened that a run is worth something for.
    var figures: [String: Int] = [:]
    /// The lines that were sent and what came, newest last.
    private(set) var transcript: [String] = []

    init(
        _ bus: any BusUnderTest, types: [JSON], stores: [String],
        written: @escaping (JSON) -> JSON = { $0 }
    ) {
        self.bus = bus
        self.written = written
        definitions = types
        model = ModelBus(
            types: types, stores: stores, epoch: bus.epoch, ownUID: bus.ownUID, now: bus.now,
            isShared: bus.isShared, begun: bus.begun)
    }

    func run(_ step: Step) throws {
        let before = model.revision
        switch step {
        case .connect(let client, let uid, let session, let linger):
            if peers[client] == nil { try connect(client, uid, session, linger) }
        case .close(let client):
            guard let peer = peers.removeValue(forKey: client) else { return }
            note("\(name(client))! close")
            try bus.close(client)
            model.disconnect(peer.session)
        case .send(let client, let request): try send(client, request)
        case .subscribe(let client, let request): try subscribe(client, request)
        case .unsubscribe(let client, let sub):
            guard peers[client]?.isReading == true, peers[client]?.subs.removeValue(forKey: sub) != nil else {
                return
            }
            try exchange(client, ["op": "unsubscribe", "sub": .int(sub)]) { _ in .done([:]) }
        case .reading(let client, let isReading): try setReading(client, isReading)
        case .advance(let milliseconds): try advance(milliseconds)
        case .handOver:
            note("bus! hand over")
            try bus.handOver(definitions.map(written))
            for (client, peer) in peers where !peer.isReading {
                for sub in peer.subs.keys { peers[client]?.subs[sub]?.isOfDaemonBefore = true }
            }
        case .crash: try crash()
        case .reload(let definitions): try reload(definitions)
        }
        try bus.settle(through: model.revision)
        try takeEvents(since: before)
    }

    func note(_ line: String) { transcript.append(line) }
    func name(_ client: Int) -> String { "\(UnicodeScalar(UInt8(65 + client % 26)))" }
    func count(_ what: String) { figures[what, default: 0] += 1 }

    // MARK: Connections

    private func connect(_ client: Int, _ uid: Int, _ session: String?, _ linger: Int) throws {
        try bus.connect(client, uid: uid)
        let number = nextSession
        nextSession += 1
        var hello: JSONObject = ["op": "hello"]
        if let session {
            hello["session"] = .string(session)
            hello["linger"] = .double(Double(linger) / 1000)
        }
        peers[client] = Peer(session: number, uid: uid)
        let reply = try ask(client, hello)
        guard reply["ok"] == true, let identity = reply["identity"],
            reply["revision"]?.int == model.revision || !bus.hasManualTime,
            reply["epoch"]?.string == model.epoch
        else { throw Difference(subject: "hello", model: "revision \(model.revision)", bus: reply.encoded) }
        peers[client]?.oldest = bus.oldest(client)
        peers[client]?.outbox = reply["limits"]?["outbox"]?.int ?? .max
        var by = identity.object ?? [:]
        // On a shared bus commits also say at which member their client was.
        by["member"] = reply["cluster"]?["member"]
        model.connect(number, uid: identity["uid"]?.int ?? uid, by: .object(by))
        guard let session else { return }
        let taken = model.name(number, session, linger: linger)
        if let taken {
            peers[client]?.session = taken.session
            // A connection that is still there has lost its session; its own affair is not looked at any more.
            for other in peers where other.key != client && other.value.session == taken.session {
                peers[other.key] = nil
                try bus.close(other.key)
            }
        }
        let resumed = reply["resumed"]?.bool
        // Whether a session resumes that had left nothing is not said.
        if resumed != (taken?.left ?? false), taken == nil || taken?.left == true {
            throw Difference(subject: "resumed", model: "\(String(describing: taken))", bus: reply.encoded)
        }
    }

    private func setReading(_ client: Int, _ isReading: Bool) throws {
        guard var peer = peers[client], peer.isReading != isReading else { return }
        // Actions on stores that are chosen by value can't be read from the log: who does not read them is disconnected.
        if !isReading, peer.subs.values.contains(where: { $0.isOfActions && $0.filter.condition != nil }) {
            return
        }
        note("\(name(client))! \(isReading ? "reads" : "reads nothing")")
        peer.isReading = isReading
        if !isReading { for sub in peer.subs.keys { peer.subs[sub]?.isLive = false } }
        peers[client] = peer
        try bus.setReading(client, isReading)
    }

    // MARK: Requests

    private func ask(_ client: Int, _ request: JSONObject) throws -> JSON {
        var request = request
        let id = peers[client]!.nextID
        peers[client]!.nextID += 1
        requests += 1
        request["id"] = .int(id)
        note("\(name(client))> \(JSON.object(request).encoded)")
        let lines = try bus.exchange(client, JSON.object(request).encoded)
        for line in lines { note("\(name(client))< \(line.encoded)") }
        guard let index = lines.firstIndex(where: { $0["id"] == .int(id) }) else {
            pending[client, default: []] += lines
            return .null
        }
        pending[client, default: []] += lines
        return lines[index]
    }

    /// What has come and was not looked at.
    var pending: [Int: [JSON]] = [:]

    private func exchange(_ client: Int, _ request: JSONObject, _ answer: (inout ModelBus) -> Answer) throws {
        let reply = try ask(client, request)
        model.oldest = peers[client]!.oldest
        let before = model
        let expected = answer(&model)
        var sent = request
        sent["id"] = .int(peers[client]!.nextID - 1)
        let op = "\(request["op"]?.string ?? "") of \(name(client))"
        switch expected {
        case .silent:
            if !reply.isNull {
                throw Difference(subject: "\(request["op"]!): silence", model: "no reply", bus: reply.encoded)
            }
        case .refused(let refusal):
            count("refused \(refusal.codes.min() ?? "")")
            var error = reply["error"]?.object ?? [:]
            let code = error["code"]?.string ?? ""
            (error["code"], error["message"]) = (nil, nil)
            guard refusal.codes.contains(code) else {
                throw Difference(
                    subject: "\(request["op"]!.encoded): \(refusal.codes.sorted()), not \(code)",
                    model: "\(refusal.codes.sorted()) \(refusal.members.encoded)", bus: reply.encoded)
            }
            var wanted = refusal.members
            if let path = error["path"]?.string, refusal.paths.contains(path) {
                wanted["path"] = .string(path)
            }
            guard error == wanted else {
                throw Difference(
                    subject: "\(request["op"]!.encoded): members of \(code)", model: refusal.members.encoded,
                    bus: reply.encoded)
            }
        case .done(let members):
            count("done \(request["op"]?.string ?? "")")
            if members["changed"]?.int ?? 0 > 0 { countWords(of: request) }
            let told = try Reply.normalized(reply, sent, before)
            let wanted = Reply.expected(expected, sent) ?? .null
            guard told == wanted else {
                throw Difference(
                    subject: "\(request["op"]!.encoded): \(Self.differing(wanted, told))",
                    model: wanted.encoded,
                    bus: "\(told.encoded) (\(op))")
            }
        }
    }

    /// Counts what types say of an action that changed something.
    private func countWords(of request: JSONObject) {
        let type = model.world.types[ModelBus.type(of: (request["store"] ?? request["type"])?.string ?? "")]
        guard let type, let action = type.action(request["action"]?.string ?? "") else { return }
        for word in ["each", "patch"] where action[word] != nil { count("changed by \(word)") }
        let names = type.definition["let"]?.object?.keys ?? []
        if names.contains(where: { action.encoded.contains("\"\($0)\"") }) { count("changed by let") }
        let text = written(type.definition)["actions"]?[request["action"]?.string ?? ""] ?? [:]
        if text != action { count("changed by text") }
        if text["each"] != action["each"] { count("changed by each in text") }
    }

    /// The members that differ.
    private static func differing(_ one: JSON, _ other: JSON) -> String {
        if let code = other["error"]?["code"]?.string { return "ok, not \(code)" }
        let names = Set((one.object?.keys ?? []) + (other.object?.keys ?? []))
        return names.filter { one[$0] != other[$0] }.sorted().joined(separator: ", ")
    }

    private func send(_ client: Int, _ request: JSONObject) throws {
        guard let peer = peers[client], peer.isReading else { return }
        try exchange(client, request) { $0.answer(.object(request), from: peer.session) }
    }

    private func subscribe(_ client: Int, _ request: JSONObject) throws {
        guard let peer = peers[client], peer.isReading else { return }
        let sub = peer.lastSub + 1
        let revision = model.revision
        var isAccepted = true
        try exchange(client, request) { model in
            guard Filter(request).hasType(model.world) else {
                isAccepted = false
                return .refused(Refusal("unknown_type"))
            }
            return .done(["sub": .int(sub), "revision": .int(revision), "epoch": .string(model.epoch)])
        }
        guard isAccepted else { return }
        peers[client]?.lastSub = sub
        let isKnown = request["epoch"]?.string == model.epoch
        var since = isKnown ? request["since"]?.int : nil
        if let wanted = since, wanted > revision { since = nil }
        // Actions of the past are those that are kept.
        if let wanted = since, wanted < model.oldest, request["actions"] == true { since = nil }
        // Which stores were meant then is not.
        if let wanted = since, wanted < revision, request["actions"] == true, request["where"] != nil {
            since = nil
        }
        var copy = ContractMirror()
        if let since {
            copy = ContractMirror(states: Filter(request).shown(model.commits[since].states), revision: since)
        } else if request["initial"] == false && request["since"] == nil {
            copy = ContractMirror(
                states: Filter(request).shown(model.commits[revision].states), revision: revision)
        }
        var mirror = Mirror(request, copy, at: since ?? revision)
        try takeFirst(client, sub, request, &mirror, since: since)
        peers[client]?.subs[sub] = mirror
    }

    /// The first event, directly behind the reply.
    private func takeFirst(
        _ client: Int, _ sub: Int, _ request: JSONObject, _ mirror: inout Mirror, since: Int?
    ) throws {
        var lines = pending[client] ?? []
        guard let index = lines.firstIndex(where: { $0["sub"] == .int(sub) && $0["ok"] == true }) else {
            return
        }
        if mirror.isOfActions {
            try takePastActions(client, sub, request, mirror, since: since, from: index + 1)
            return
        }
        if request["initial"] == false, request["since"] == nil { return }
        repeat {
            guard index + 1 < lines.count, lines[index + 1]["sub"] == .int(sub) else {
                throw Difference(subject: "first event", model: "one", bus: "\(lines.dropFirst(index))")
            }
            let event = lines.remove(at: index + 1)
            let isReset = event["reset"] == true
            if event["more"] != true || isReset, isReset != (since == nil), event["from"] != nil {
                throw Difference(
                    subject: "first event's reset", model: "\(since == nil)", bus: event.encoded)
            }
            try mirror.take(event, model, isFirst: true)
            if event["more"] != true {
                if mirror.revision != model.revision {
                    throw Difference(
                        subject: "first event's revision", model: "\(model.revision)", bus: event.encoded)
                }
                break
            }
        } while true
        count(since == nil ? "first states" : "resumptions")
        pending[client] = lines
    }

    private func takePastActions(
        _ client: Int, _ sub: Int, _ request: JSONObject, _ mirror: Mirror, since: Int?, from index: Int
    ) throws {
        var lines = pending[client] ?? []
        var told: [JSON] = []
        while index < lines.count, lines[index]["sub"] == .int(sub) { told.append(lines.remove(at: index)) }
        pending[client] = lines
        if request["since"] == nil { return }
        if since == nil {
            guard told.first?["event"] == "gap" else {
                throw Difference(subject: "gap", model: "one", bus: "\(told)")
            }
            return
        }
        let expected = ((since ?? 0)..<model.revision).flatMap { actionEvents($0 + 1, sub, mirror.filter) }
        try compareActions(told, expected, "resumed")
        count("resumed actions")
    }

    // MARK: Time

    private func advance(_ milliseconds: Int) throws {
        guard bus.hasManualTime else { return }
        note("bus! \(milliseconds) ms later")
        // The bus gets to each thing that is due when it is due: then everything has the time at which it had to happen.
        let end = model.now + milliseconds
        while let due = model.nextDue, due <= end {
            try bus.advance(milliseconds: max(0, due - model.now))
            model.advance(to: due)
            count("happened in time")
        }
        try bus.advance(milliseconds: end - model.now)
        model.advance(to: end)
    }

    private func crash() throws {
        // Another one begins at the time of the last commit: only then is that now.
        guard bus.canCrash, !bus.hasManualTime || model.commits.last?.time == model.now else { return }
        note("bus! crash")
        let now = model.now
        try bus.crash(now: now)
        for session in model.sessionsInOrder { model.disconnect(session) }
        peers = [:]
        pending = [:]
        count("crashes")
    }

    private func reload(_ next: [JSON]) throws {
        guard let root = peers.filter({ $0.value.uid == 0 && $0.value.isReading }).keys.min() else { return }
        try bus.setDefinitions(next.map(written))
        note("bus! new types \(JSON.array(next.map(written)).encoded)")
        let principal = model.sessions[peers[root]!.session]!.principal
        var isAccepted = true
        try exchange(root, ["op": "reload"]) { model in
            guard let migrated = model.reload(next, principal) else {
                isAccepted = false
                return .refused(Refusal("rejected"))
            }
            return .done(
                migrated.isEmpty
                    ? ["revision": .int(model.revision)]
                    : ["revision": .int(model.revision), "migrated": .array(migrated)])
        }
        if isAccepted { definitions = next } else { try bus.setDefinitions(definitions.map(written)) }
        count(isAccepted ? "reloads" : "refused reloads")
    }

    var currentDefinitions: [JSON] { definitions }
}
