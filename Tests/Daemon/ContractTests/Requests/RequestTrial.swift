import BusEngine
import BusJSON
import TestSupport

/// Tries every request of the table in one world, and notes what came of it without what no contract holds: the wording of
/// messages, and numbers that depend on what was tried before.
struct RequestTrial {
    let world: RequestWorld
    let mode: BusMode
    private var bus: MemoryBus
    private var root: MemoryClient
    private var number = 0

    /// As many requests have one bus, so that its history is short.
    private static let ofOneBus = 60

    init(_ world: RequestWorld, _ mode: BusMode) throws {
        (self.world, self.mode) = (world, mode)
        bus = try world.bus(mode)
        root = bus.connect(uid: 0)
    }

    /// What came of each request in each situation, by both.
    mutating func run() throws -> [String: String] {
        var results: [String: String] = [:]
        for (line, situations) in RequestSamples.all {
            for situation in RequestSamples.situations where situations.contains(situation.name) {
                results["\(situation.name) \(line)"] = try result(of: line, in: situation)
            }
        }
        return results
    }

    private static func setsTimer(_ line: String) -> Bool {
        [#""in":"#, #""at":"#, #""alarm""#].contains { line.contains($0) }
    }

    private mutating func result(of line: String, in situation: RequestSamples.Situation) throws -> String {
        number += 1
        if number.isMultiple(of: Self.ofOneBus) {
            bus = try world.bus(mode)
            root = bus.connect(uid: 0)
        }
        let (owner, client) = (bus.connect(uid: 0), bus.connect(uid: world.uid))
        for line in situation.byOperator { try owner.ask(own(line)) }
        for line in situation.byClient { try client.ask(own(line)) }
        let made = bus.engine.revision
        let request = own(line).replacing("#", with: "\(made)")
        if situation.isRepeated { try client.ask(request) }
        let (before, notes) = (bus.engine.revision, bus.operatorNotes.count)
        var lines = try client.ask(request)
        if !lines.contains(where: { $0["ok"] != nil }) {
            bus.advance(milliseconds: 400)
            lines += try client.all()
        }
        let reply = lines.last { $0["ok"] != nil } ?? "none"
        var result = JSONObject()
        result["reply"] = comparable(reply, before)
        let events = lines.compactMap { $0["event"] }
        if !events.isEmpty { result["events"] = .array(events) }
        let committed = bus.engine.revision - before
        if committed != 0 { result["commits"] = .int(committed) }
        client.close()
        let left = bus.engine.revision - before - committed
        if left != 0 { result["commitsAtTheEnd"] = .int(left) }
        // How often refusals are in the operator's log depends on those before.
        if bus.operatorNotes.count != notes, reply["error"]?["code"] != "forbidden" {
            result["notes"] = .int(bus.operatorNotes.count - notes)
        }
        owner.close()
        try clear(
            mayHaveTimers: ([request] + situation.byOperator + situation.byClient).contains(
                where: Self.setsTimer))
        return JSON.object(result).encoded
    }

    private func own(_ line: String) -> String { line.replacing("%", with: "\(number)") }

    /// Takes away what the request has left.
    private func clear(mayHaveTimers: Bool) throws {
        let timers = !mayHaveTimers ? [] : try root.ask(#"{"op":"timers"}"#).last?["timers"]?.array ?? []
        for timer in timers {
            let owner = timer["store"] == nil ? "type" : "store"
            let (name, target) = (timer["timer"]?.string ?? "", timer[owner]?.string ?? "")
            try root.ask(#"{"op":"cancel","\#(owner)":"\#(target)","timer":"\#(name)"}"#)
        }
        try root.ask(#"{"op":"drop","store":"note/x\#(number)"}"#)
        for store in ["note/b", "note/c"] { try root.ask(#"{"op":"drop","store":"\#(store)"}"#) }
        // What one role may depends on its count.
        let count = bus.engine.state(at: "note/main")?["count"]?.int ?? 0
        if count != 0 {
            try root.ask(
                #"{"op":"dispatch","store":"note/main","action":"add","payload":{"by":\#(-count)}}"#)
        }
    }

    private func comparable(_ value: JSON, _ before: Int) -> JSON {
        switch value {
        case .array(let elements): return .int(elements.count)
        case .string(let text):
            let general = text.replacing("@\(before + 1)", with: "@+1")
            return .string(
                general.replacing("x\(number)", with: "x%").replacing("k\(number)", with: "k%")
                    .replacing("s\(number)", with: "s%"))
        case .object(let object):
            var result = JSONObject()
            for member in object.members where !Self.without.contains(member.key) {
                switch (member.key, member.value) {
                case ("error", let error): result["error"] = comparable(error, before)
                case (let key, .object(let members)): result[key] = .int(members.members.count)
                case (let key, .int(let count)) where Self.counts.contains(key):
                    result[key] = .string(count > before ? "+\(count - before)" : "earlier")
                case (let key, let value): result[key] = comparable(value, before)
                }
            }
            return .object(result)
        default: return value
        }
    }

    /// What messages say, and what differs from run to run or by how much was tried before.
    private static let without: Set<String> = [
        "message", "uptime", "oldest", "memory", "data", "bytes", "before",
    ]
    private static let counts: Set<String> = ["revision", "from", "since", "next", "actual", "sub"]
}
