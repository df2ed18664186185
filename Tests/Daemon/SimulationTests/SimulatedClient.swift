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
        case subscription(SubscriptionRequest, since: (revision: Int, states: [String: JSON])?, initial: Bool)
        case unsubscription(Int)
    }

    let connection: ConnectionID
    var toSend: [UInt8] = []
    private var received: [UInt8] = []
    private var expected: [(id: Int, what: Expectation)] = []
    private var nextID = 1
    private(set) var mirrors: [Int: Mirror] = [:]
    private(set) var coalescedEvents = 0
    private(set) var partialEvents = 0
    private(set) var goodbye: String?
    private var lastRevision = 0
    private var lastSub = 0

    init(connection: ConnectionID) { self.connection = connection }

    var subscriptions: [Int] { mirrors.keys.sorted() }
    var isIdle: Bool { toSend.isEmpty && expected.isEmpty && received.isEmpty }

    func send(_ members: JSONObject, expecting what: Expectation = .reply) {
        var members = members
        members["id"] = .int(nextID)
        expected.append((nextID, what))
        nextID += 1
        toSend += Array((members.encoded + "\n").utf8)
    }

    func sendSilently(_ members: JSONObject) { toSend += Array((members.encoded + "\n").utf8) }

    func receive(_ bytes: [UInt8], _ truth: Truth) throws {
        received += bytes
        var start = 0
        while let end = received[start...].firstIndex(of: 10) {
            let line = try JSON(parsing: Array(received[start..<end]))
            start = end + 1
            try take(line, truth)
        }
        received.removeFirst(start)
    }

    /// The last lines received, shortened, for the message of a failure.
    private(set) var recent: [String] = []

    private func take(_ line: JSON, _ truth: Truth) throws {
        recent.append(String(line.encoded.prefix(160)))
        if recent.count > 12 { recent.removeFirst() }
        switch line["event"]?.string {
        case nil: try takeReply(line, truth)
        case "change": try takeChange(line, truth)
        case "bookmark": try takeBookmark(line, truth)
        case "goodbye": goodbye = line["code"]?.string
        case let other?: throw Violation("Nobody asked for the event \(other).")
        }
    }

    private func takeReply(_ line: JSON, _ truth: Truth) throws {
        guard let next = expected.first, line["id"]?.int == next.id else {
            throw Violation("A reply came out of order: \(line)")
        }
        expected.removeFirst()
        guard line["ok"]?.bool == true else { return }
        switch next.what {
        case .reply:
            guard let revision = line["revision"]?.int, line["duplicate"] == nil else { return }
            // Read your writes: everything up to this revision has been told, and maybe more.
            for (number, mirror) in mirrors where mirror.from <= revision {
                try check(mirror, number, at: revision, truth, "reply \(line)")
            }
        case .subscription(let request, let since, let initial):
            let number = line["sub"]!.int!
            mirrors[number] = Mirror(
                request: request, states: since?.states ?? [:],
                from: since?.revision ?? line["revision"]!.int!,
                awaitsFirst: initial || since != nil)
            if !initial && since == nil {
                mirrors[number]!.states = truth.view(request, at: line["revision"]!.int!)!
            }
        case .unsubscription(let number): mirrors[number] = nil
        }
    }

    private func takeChange(_ line: JSON, _ truth: Truth) throws {
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
            try check(mirror, number, at: revision, truth, "event \(line)")
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

    private func takeBookmark(_ line: JSON, _ truth: Truth) throws {
        let number = line["sub"]!.int!
        let revision = line["revision"]!.int!
        guard var mirror = mirrors[number], !mirror.isOpen else {
            throw Violation("A bookmark for nothing: \(line)")
        }
        mirror.from = revision
        mirrors[number] = mirror
        try check(mirror, number, at: revision, truth, "bookmark \(line)")
    }

    private func check(_ mirror: Mirror, _ number: Int, at revision: Int, _ truth: Truth, _ cause: String)
        throws
    {
        if mirror.awaitsFirst || mirror.isOpen { return }
        guard let view = truth.view(mirror.request, at: revision) else {
            throw Violation("Revision \(revision) never happened: \(cause)")
        }
        if view != mirror.states {
            throw Violation(
                "Subscription \(number) (\(mirror.request)) shows \(mirror.states) at \(revision), the truth is \(view), after \(cause)"
            )
        }
    }

    /// In the end, when everything has been received.
    func checkFinally(at revision: Int, _ truth: Truth) throws {
        guard expected.isEmpty else { throw Violation("\(expected.count) replies never came.") }
        for (number, mirror) in mirrors {
            if mirror.awaitsFirst || mirror.isOpen {
                throw Violation("Subscription \(number) never got its first state.")
            }
            try check(mirror, number, at: revision, truth, "the end")
        }
    }
}
