import BusEngine
import BusJSON

/// What went wrong, in a sentence that leads to the place.
struct Violation: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// One client: sends requests, receives bytes in arbitrary pieces, folds events into mirrors, and checks every
/// promise that can be seen from its side.
final class SimulatedClient {

    struct Mirror {
        let request: SubscriptionRequest
        var states: [String: JSON] = [:]
        var from: Int
        /// The reply's revision, until the first event has come.
        var awaitsFirst: Bool
        var isOpen = false
    }

    enum Expectation {
        case reply
        case read(SubscriptionRequest)
        case subscription(SubscriptionRequest, since: (revision: Int, states: [String: JSON])?, initial: Bool)
        case unsubscription(Int)
    }

    /// A line that was written and that the engine has not carried out.
    struct Line {
        let id: Int
        let bytes: [UInt8]
        /// Where it begins in all that this client writes.
        let start: Int
    }

    let connection: ConnectionID
    let uid: Int
    let pid: Int
    /// Has one subscription, the same as others have, and only listens.
    let isListener: Bool
    /// What it dispatches most, so that its lines are alike.
    var habit: JSONObject = [:]
    /// A request with a key, to be sent again.
    var keyed: JSONObject?
    var toSend: [UInt8] = []
    /// In the order in which they are to be carried out.
    private(set) var lines: [Line] = []
    private var written = 0
    /// How much of what it wrote the engine has carried out.
    var consumed = 0
    private var outcomes: [Int: Outcome] = [:]
    private(set) var repliesChecked = 0
    private var received: [UInt8] = []
    private var expected: [(id: Int, what: Expectation)] = []
    private var nextID = 1
    private(set) var mirrors: [Int: Mirror] = [:]
    private(set) var coalescedEvents = 0
    private(set) var partialEvents = 0
    private(set) var causesChecked = 0
    private(set) var goodbye: String?
    private var lastRevision = 0
    private var lastSub = 0

    init(connection: ConnectionID, uid: Int, pid: Int, isListener: Bool) {
        self.connection = connection
        self.uid = uid
        self.pid = pid
        self.isListener = isListener
    }

    var subscriptions: [Int] { mirrors.keys.sorted() }
    /// The same each time, as a seed must mean one run.
    private var inOrder: [(key: Int, value: Mirror)] { mirrors.sorted { $0.key < $1.key } }
    /// The first one that another connection could go on with.
    var resumable: Mirror? { inOrder.first { !$0.value.awaitsFirst && !$0.value.isOpen }?.value }
    /// How many bytes the engine has been given.
    var given: Int { written - toSend.count }

    func send(_ members: JSONObject, expecting what: Expectation = .reply) {
        var members = members
        members["id"] = .int(nextID)
        expected.append((nextID, what))
        let bytes = Array(members.encoded.utf8)
        lines.append(Line(id: nextID, bytes: bytes, start: written))
        nextID += 1
        toSend += bytes + [10]
        written += bytes.count + 1
    }

    /// The lines that the engine has carried out since the last call. One that is too long counts as soon as it is skipped.
    func takeExecuted(longest: Int) -> [Line] {
        let executed = lines.prefix {
            $0.start + $0.bytes.count < consumed || ($0.bytes.count > longest && $0.start < consumed)
        }
        lines.removeFirst(executed.count)
        return Array(executed)
    }

    /// What the model says must be answered to a line.
    func note(_ outcome: Outcome, of line: Line) { outcomes[line.id] = outcome }

    func receive(_ bytes: [UInt8], _ model: Model) throws {
        received += bytes
        var start = 0
        while let end = received[start...].firstIndex(of: 10) {
            let bytes = Array(received[start..<end])
            start = end + 1
            latest.append(bytes)
            if latest.count > 12 { latest.removeFirst() }
            try take(JSON(parsing: bytes), model)
        }
        received.removeFirst(start)
    }

    /// The last lines received, shortened, for the message of a failure.
    var recent: String {
        latest.map { String(decoding: $0.prefix(160), as: UTF8.self) }.joined(separator: "\n")
    }
    private var latest: [[UInt8]] = []

    private func take(_ line: JSON, _ model: Model) throws {
        switch line["event"]?.string {
        case nil: try takeReply(line, model)
        case "change": try takeChange(line, model)
        case "bookmark": try takeBookmark(line, model)
        case "goodbye": goodbye = line["code"]?.string
        case let other?: throw Violation("Nobody asked for the event \(other).")
        }
    }

    private func takeReply(_ line: JSON, _ model: Model) throws {
        let refusesLine = line["id"] == nil
        while let next = expected.first, refusesLine || line["id"]?.int != next.id,
            case .silent? = outcomes[next.id]
        {
            outcomes[next.id] = nil
            expected.removeFirst()
        }
        guard let next = expected.first, refusesLine || line["id"]?.int == next.id else {
            throw Violation("A reply came out of order: \(line)")
        }
        expected.removeFirst()
        guard let outcome = outcomes.removeValue(forKey: next.id) else {
            throw Violation("A line was answered that was not carried out: \(line)")
        }
        try compare(line, outcome, model)
        repliesChecked += 1
        guard line["ok"]?.bool == true else { return }
        switch next.what {
        case .reply:
            guard let revision = line["revision"]?.int, line["duplicate"] == nil else { return }
            // Read your writes: everything up to this revision has been told, and maybe more.
            for (number, mirror) in inOrder where mirror.from <= revision {
                try check(mirror, number, at: revision, model, "reply \(line)")
            }
        case .read(let request):
            let revision = line["revision"]!.int!
            let states = line["states"]?.object?.members.map { ($0.key, $0.value) } ?? []
            guard Dictionary(uniqueKeysWithValues: states) == model.view(request, at: revision) else {
                throw Violation(
                    "\(request) reads \(line), the model has \(model.view(request, at: revision) ?? [:])")
            }
        case .subscription(let request, let since, let initial):
            let number = line["sub"]!.int!
            mirrors[number] = Mirror(
                request: request, states: since?.states ?? [:],
                from: since?.revision ?? line["revision"]!.int!,
                awaitsFirst: initial || since != nil)
            if !initial && since == nil {
                mirrors[number]!.states = model.view(request, at: line["revision"]!.int!)!
            }
        case .unsubscription(let number): mirrors[number] = nil
        }
    }

    /// A reply must say what the model says.
    private func compare(_ line: JSON, _ outcome: Outcome, _ model: Model) throws {
        let code = line["error"]?["code"]?.string
        var isRight = line["ok"] == true
        switch outcome {
        case .done(let members):
            isRight = isRight && members.members.allSatisfy { line[$0.key] == $0.value }
            isRight = isRight && line["duplicate"] == members["duplicate"]
        case .rehearsed(let members, let states):
            // What would change may be more than fits into a line.
            if code == "too_large" { return }
            isRight = isRight && members.members.allSatisfy { line[$0.key] == $0.value }
            isRight = isRight && rehearsed(line, model) == states
        case .refused(let codes): isRight = code.map(codes.contains) ?? false
        case .read: isRight = isRight || code == "too_large" || code == "unknown_store"
        case .silent: isRight = false
        }
        if !isRight { throw Violation("The model says \(outcome), the bus \(line)") }
    }

    /// The states that a dry run tells of.
    private func rehearsed(_ line: JSON, _ model: Model) -> [String: JSON] {
        let old = line["revision"]?.int.flatMap { model.commits[$0]?.states } ?? [:]
        var states: [String: JSON] = [:]
        for change in line["changes"]?.object?.members ?? [] {
            states[change.key] = ModelWrite.merged(change.value, into: old[change.key])
        }
        for state in line["states"]?.object?.members ?? [] { states[state.key] = state.value }
        return states
    }

    private func takeChange(_ line: JSON, _ model: Model) throws {
        let number = line["sub"]!.int!
        guard var mirror = mirrors[number] else { throw Violation("An event for no subscription: \(line)") }
        let revision = line["revision"]!.int!
        if !mirror.isOpen {
            let from = line["from"]?.int
            if line["reset"]?.bool == true {
                guard from == 0 else { throw Violation("A reset must come from 0: \(line)") }
            } else if from != mirror.from {
                throw Violation("Expected an event from \(mirror.from): \(line)")
            }
        }
        if line["reset"]?.bool == true { mirror.states = [:] }
        if let cause = line["cause"] { try checkCause(cause, model.commits[revision], line) }
        if let coalesced = line["coalesced"]?.int {
            coalescedEvents += 1
            guard coalesced == revision - mirror.from else { throw Violation("Wrong `coalesced`: \(line)") }
        }
        try fold(line, into: &mirror)
        mirror.isOpen = line["more"]?.bool == true
        if mirror.isOpen { partialEvents += 1 }
        if !mirror.isOpen {
            try checkOrder(revision, number, line)
            mirror.from = revision
            mirror.awaitsFirst = false
            mirrors[number] = mirror
            try check(mirror, number, at: revision, model, "event \(line)")
        }
        mirrors[number] = mirror
    }

    /// Events go by revision, and within one revision by subscription. A catch-up may come later, never earlier.
    private func checkOrder(_ revision: Int, _ sub: Int, _ line: JSON) throws {
        guard revision >= lastRevision else {
            throw Violation("Revision \(revision) came after \(lastRevision).")
        }
        if revision == lastRevision, line["coalesced"] == nil, line["reset"] == nil, sub < lastSub {
            throw Violation("Subscription \(sub) came after \(lastSub) at revision \(revision).")
        }
        (lastRevision, lastSub) = (revision, sub)
    }

    /// A cause tells of all actions of the commit, and of who asked for them.
    private func checkCause(_ cause: JSON, _ commit: Model.Commit?, _ line: JSON) throws {
        causesChecked += 1
        guard let commit, cause["actions"] == .array(commit.actions.map(\.json)),
            cause["by"]?["uid"]?.int == commit.uid
        else { throw Violation("The cause should be \(commit?.actions ?? []): \(line)") }
    }

    private func fold(_ line: JSON, into mirror: inout Mirror) throws {
        var seen: Set<String> = []
        func once(_ address: String) throws {
            if !seen.insert(address).inserted { throw Violation("\(address) stands twice in \(line)") }
        }
        for member in line["states"]?.object?.members ?? [] {
            try once(member.key)
            mirror.states[member.key] = member.value
        }
        for member in line["changes"]?.object?.members ?? [] {
            try once(member.key)
            guard let old = mirror.states[member.key] else {
                throw Violation("A change to an unknown store: \(line)")
            }
            mirror.states[member.key] =
                mirror.request.format == "patch"
                ? try JSONPatch.apply(member.value, to: old) : MergePatch.apply(member.value, to: old)
        }
        for dropped in line["dropped"]?.array ?? [] {
            try once(dropped.string!)
            mirror.states[dropped.string!] = nil
        }
    }

    private func takeBookmark(_ line: JSON, _ model: Model) throws {
        let number = line["sub"]!.int!
        let revision = line["revision"]!.int!
        guard var mirror = mirrors[number], !mirror.isOpen else {
            throw Violation("A bookmark for nothing: \(line)")
        }
        mirror.from = revision
        mirrors[number] = mirror
        try check(mirror, number, at: revision, model, "bookmark \(line)")
    }

    private func check(_ mirror: Mirror, _ number: Int, at revision: Int, _ model: Model, _ cause: String)
        throws
    {
        if mirror.awaitsFirst || mirror.isOpen { return }
        guard let view = model.view(mirror.request, at: revision) else {
            throw Violation("Revision \(revision) never happened: \(cause)")
        }
        if view != mirror.states {
            throw Violation(
                "Subscription \(number) (\(mirror.request)) shows \(mirror.states) at \(revision), the model has \(view), after \(cause)"
            )
        }
    }

    /// In the end, when everything has been received.
    func checkFinally(at revision: Int, _ model: Model) throws {
        expected.removeAll { if case .silent? = outcomes[$0.id] { true } else { false } }
        guard expected.isEmpty else { throw Violation("\(expected.count) replies never came.") }
        for (number, mirror) in inOrder {
            if mirror.awaitsFirst || mirror.isOpen {
                throw Violation("Subscription \(number) never got its first state.")
            }
            try check(mirror, number, at: revision, model, "the end")
        }
    }
}
