import BusEngine
import BusJSON
import TestSupport

/// A client that lives through crashes: it connects again, resumes its mirrors, and sends again what was not answered.
final class LogClient {
    struct Mirror {
        let request: SubscriptionRequest
        var states: [String: JSON] = [:]
        var from: Int
        var awaitsFirst: Bool
        var isOpen = false
    }

    struct Telling {
        var after: Int
        var told: [Int] = []
    }

    private enum Expectation {
        case commit(mark: Int, again: JSONObject?)
        case silent(mark: Int)
        case subscription(SubscriptionRequest, since: (revision: Int, states: [String: JSON])?)
        case actions(since: Int?)
        case will(mark: Int?)
        case other
    }

    let uid: Int
    /// What it dispatches most, so that its entries in the log are alike.
    var habit: JSONObject = [:]
    private let ledger: LogLedger
    private(set) var line: MemoryClient
    private var expected: [(id: Int, what: Expectation)] = []
    private var nextID = 1
    private(set) var mirrors: [Int: Mirror] = [:]
    private var tellings: [Int: Telling] = [:]
    /// Requests with a key that are not known to be committed.
    private(set) var toRetry: [(mark: Int, request: JSONObject)] = []
    private var will: Int?
    private(set) var lastSeen = 0
    private var recent: [String] = []

    init(uid: Int, bus: MemoryBus, ledger: LogLedger) {
        self.uid = uid
        self.ledger = ledger
        line = bus.connect(uid: uid)
    }

    // MARK: - Sending

    private func send(_ members: JSONObject, _ what: Expectation) {
        var members = members
        members["id"] = .int(nextID)
        expected.append((nextID, what))
        nextID += 1
        line.queue(members.encoded)
    }

    /// Commits something that nobody follows up but the model; such commits are all alike.
    func commitUnmarked() {
        send(
            ["op": "dispatch", "type": "note", "action": "add", "payload": ["by": 1]], .other)
    }

    func commit(_ members: JSONObject, key: String?, isSilent: Bool, epoch: String) throws {
        let mark = ledger.mark()
        var members = members
        var payload = members["payload"]?.object ?? [:]
        payload["mark"] = .int(mark)
        members["payload"] = .object(payload)
        if let key {
            members["key"] = .string("\(key)\(mark)")
            members["after"] = .int(lastSeen)
            members["epoch"] = .string(epoch)
        }
        try ledger.note(.pending, of: mark)
        ledger.requests[mark] = Model.Action(.object(members))
        if isSilent {
            members["ack"] = false
            send(members, .silent(mark: mark))
        } else {
            send(members, .commit(mark: mark, again: key == nil ? nil : members))
        }
    }

    func retry() {
        let requests = toRetry
        toRetry = []
        for (mark, request) in requests { send(request, .commit(mark: mark, again: request)) }
    }

    func sendOther(_ members: JSONObject) { send(members, .other) }

    func leaveWill(_ isEmpty: Bool) {
        let mark = ledger.mark()
        let action: JSON = [
            "store": "note/wills", "action": "add", "payload": ["by": 1, "mark": .int(mark)],
        ]
        ledger.requests[mark] = Model.Action(action)
        send(["op": "will", "actions": isEmpty ? [] : [action]], .will(mark: isEmpty ? nil : mark))
    }

    func subscribe(
        _ request: SubscriptionRequest, since: (revision: Int, states: [String: JSON])?, _ epoch: String
    ) {
        var members: JSONObject = ["op": "subscribe", "format": .string(request.format)]
        members[request.kind] = .string(request.text)
        if let pointers = request.pointers {
            members["select"] = .array(pointers.map { .string($0.map { "/" + $0 }.joined()) })
        }
        if let since {
            members["since"] = .int(since.revision)
            members["epoch"] = .string(epoch)
        }
        send(members, .subscription(request, since: since))
    }

    func subscribeToActions(since: Int?, _ epoch: String) {
        var members: JSONObject = ["op": "subscribe", "type": "note", "actions": true]
        if let since {
            members["since"] = .int(since)
            members["epoch"] = .string(epoch)
        }
        send(members, .actions(since: since))
    }

    // MARK: - Coming back

    /// Its connection is gone, with the bus or without; nobody knows what became of what was under way.
    func connect(to bus: MemoryBus) throws {
        let isWillSure = !expected.contains { if case .will = $0.what { true } else { false } }
        if let will, isWillSure { ledger.dueWills.insert(will) }
        will = nil
        for case (_, let what) in expected {
            switch what {
            case .commit(let mark, let again?): toRetry.append((mark, again))
            case .commit(let mark, nil), .silent(let mark): try ledger.note(.unknown, of: mark)
            default: break
            }
        }
        expected = []
        let (old, told) = (mirrors, tellings)
        mirrors = [:]
        tellings = [:]
        line = bus.connect(uid: uid)
        for (_, mirror) in old.sorted(by: { $0.key < $1.key }) {
            let isKnown = !mirror.awaitsFirst && !mirror.isOpen
            subscribe(mirror.request, since: isKnown ? (mirror.from, mirror.states) : nil, bus.epoch)
        }
        for (_, telling) in told.sorted(by: { $0.key < $1.key }) {
            let through = telling.told.last ?? telling.after
            close(telling, through: through)
            subscribeToActions(since: through, bus.epoch)
        }
        retry()
    }

    private func close(_ telling: Telling, through: Int) {
        ledger.tellings.append((telling.after, through, telling.told))
    }

    /// Nothing more comes: everything it listened to was told through this revision.
    func end(at revision: Int) throws {
        guard expected.allSatisfy({ if case .silent = $0.what { true } else { false } }) else {
            throw Violation("\(expected.count) replies never came: \(expected)")
        }
        for case (_, .silent(let mark)) in expected { try ledger.note(.silentlyCommitted, of: mark) }
        for telling in tellings.values { close(telling, through: revision) }
        for mirror in mirrors.values {
            if mirror.awaitsFirst || mirror.isOpen {
                throw Violation("\(mirror.request) waits for an event.")
            }
            see(mirror, at: revision, "the end")
        }
        if let will { ledger.dueWills.insert(will) }
        line.close()
    }

    // MARK: - Receiving

    func takeAll(_ durable: Int) throws {
        while let text = line.nextLine() {
            recent.append(String(text.prefix(200)))
            if recent.count > 8 { recent.removeFirst() }
            do { try take(JSON(parsing: text, depthLimit: 200), durable) } catch {
                throw Violation("\(error)\nafter these lines:\n\(recent.joined(separator: "\n"))")
            }
        }
    }

    private func take(_ line: JSON, _ durable: Int) throws {
        if let revision = line["revision"]?.int {
            guard revision <= durable else { throw Violation("Only \(durable) is on disk: \(line)") }
            lastSeen = max(lastSeen, revision)
        }
        switch line["event"]?.string {
        case nil: try takeReply(line)
        case "change": try takeChange(line)
        case "bookmark":
            let number = line["sub"]?.int ?? 0
            mirrors[number]?.from = line["revision"]?.int ?? 0
            if let mirror = mirrors[number] { see(mirror, at: mirror.from, "\(line)") }
        case "action": tellings[line["sub"]?.int ?? 0]?.told.append(line["revision"]?.int ?? 0)
        case "gap":
            let number = line["sub"]?.int ?? 0
            if let telling = tellings[number] { close(telling, through: telling.told.last ?? telling.after) }
            tellings[number] = Telling(after: line["revision"]?.int ?? 0)
        case "goodbye": break
        case let other?: throw Violation("Nobody asked for the event \(other).")
        }
    }

    private func takeReply(_ line: JSON) throws {
        while let next = expected.first, next.id != line["id"]?.int, case .silent(let mark) = next.what {
            try ledger.note(.silentlyCommitted, of: mark)
            expected.removeFirst()
        }
        guard let next = expected.first, next.id == line["id"]?.int else {
            throw Violation("A reply came out of order: \(line)")
        }
        expected.removeFirst()
        let (isDone, code) = (line["ok"] == true, line["error"]?["code"]?.string)
        if isDone, let revision = line["revision"]?.int, let matched = line["matched"]?.int {
            ledger.replies.append((revision, matched, line["changed"]?.int ?? -1))
        }
        switch next.what {
        case .commit(let mark, let again):
            if isDone, let revision = line["revision"]?.int {
                try ledger.note(.committed(revision), of: mark)
                if line["duplicate"] == nil { seeAll(at: revision, "\(line)") }
            } else if let again, code == "unavailable" {
                toRetry.append((mark, again))
            } else {
                guard code != "conflict" else { throw Violation("A retry was refused: \(line)") }
                try ledger.note(.refused, of: mark)
                ledger.refusals[mark] = "\(line)"
            }
        case .silent(let mark):
            guard !isDone else { throw Violation("Nobody wanted this reply: \(line)") }
            try ledger.note(.refused, of: mark)
            ledger.refusals[mark] = "\(line)"
        case .subscription(let request, let since) where isDone:
            mirrors[line["sub"]?.int ?? 0] = Mirror(
                request: request, states: since?.states ?? [:],
                from: since?.revision ?? line["revision"]?.int ?? 0, awaitsFirst: true)
        case .actions(let since) where isDone:
            tellings[line["sub"]?.int ?? 0] = Telling(after: since ?? line["revision"]?.int ?? 0)
        case .will(let mark): if isDone { will = mark }
        default: break
        }
    }

    private func takeChange(_ line: JSON) throws {
        let number = line["sub"]?.int ?? 0
        guard var mirror = mirrors[number] else { throw Violation("An event for no subscription: \(line)") }
        if line["reset"] == true {
            guard line["from"] == 0 else { throw Violation("A reset must come from 0: \(line)") }
            mirror.states = [:]
        } else if !mirror.isOpen, line["from"]?.int != mirror.from {
            throw Violation("Expected an event from \(mirror.from): \(line)")
        }
        for member in line["states"]?.object?.members ?? [] { mirror.states[member.key] = member.value }
        for member in line["changes"]?.object?.members ?? [] {
            guard let old = mirror.states[member.key] else { throw Violation("A change of nothing: \(line)") }
            mirror.states[member.key] =
                mirror.request.format == "patch"
                ? try JSONPatch.apply(member.value, to: old) : MergePatch.apply(member.value, to: old)
        }
        for dropped in line["dropped"]?.array ?? [] { mirror.states[dropped.string ?? ""] = nil }
        mirror.isOpen = line["more"] == true
        if !mirror.isOpen {
            mirror.from = line["revision"]?.int ?? 0
            mirror.awaitsFirst = false
            see(mirror, at: mirror.from, "\(line)")
        }
        mirrors[number] = mirror
    }

    private func seeAll(at revision: Int, _ after: String) {
        for mirror in mirrors.values where mirror.from <= revision { see(mirror, at: revision, after) }
    }

    private func see(_ mirror: Mirror, at revision: Int, _ after: String) {
        if mirror.awaitsFirst || mirror.isOpen { return }
        ledger.views.append((revision, mirror.request, mirror.states, String(after.prefix(300))))
    }
}
