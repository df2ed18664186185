import BusJSON
import TestModes
import TestSupport
import Testing

/// The bus agrees with the model on random rules, which change, and random requests; and whoever subscribes has exactly
/// what the model shows, after every step.
@Suite(.inBothModes) struct AccessModelTests {
    private static func type(_ name: String) -> String {
        """
        type: \(name)
        initial: { count: 0, text: "", deep: { one: 1, two: 2 } }
        actions:
          add: { increment: { count: 1 } }
          put: { payload: { text: string }, set: { text: { var: payload.text }, deep.one: { cat: [{ var: payload.text }, 1] }, deep.two: 3 } }
        """
    }
    private static let names = ["x1", "x2", "y1", "y2"]
    /// Requests and rule sets of one seed.
    private static let steps = 1250

    /// FLUXBUS_SEEDS runs more: 80 are 100,000 requests.
    private static let seeds = Seeds.some(12, asSaid: true)

    @Test(arguments: seeds) func theBusAgreesWithTheModel(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed) + 77)
        var model = AccessModel(&random)
        var setup = MemoryBus.Setup()
        setup.definitions = [Self.type("a"), Self.type("b")]
        setup.stores = ["a/x1", "a/y1", "b/x1", "b/x2"]
        setup.access = model.yaml
        let bus = try MemoryBus(setup)
        let root = bus.connect(uid: 0)
        let clients = Dictionary(
            uniqueKeysWithValues: AccessModel.roles.keys.map { ($0, bus.connect(uid: $0)) })
        var mirrors: [Int: [String: JSONObject]] = [:]
        let uids = AccessModel.roles.keys.sorted()
        for uid in uids {
            let format = ["merge", "state"].randomElement(using: &random)!
            mirrors[uid] = [:]
            try take(
                clients[uid]!.ask(#"{"op":"subscribe","match":"*/*","format":"\#(format)"}"#), &mirrors[uid]!)
        }
        for step in 0..<Self.steps {
            if step % 40 == 39 {
                model = AccessModel(&random)
                bus.access = model.yaml
                #expect(try root.code(#"{"op":"reload"}"#) == "ok")
            }
            let uid = uids.randomElement(using: &random)!
            let (line, expected) = request(by: uid, model, bus, &random)
            let lines = try clients[uid]!.ask(line)
            let reply = lines.last { $0["ok"] != nil }
            let code = reply?["ok"] == true ? "ok" : reply?["error"]?["code"]?.string
            #expect(code == expected.code, "\(seed).\(step) uid \(uid) \(line)\n\(model.yaml)")
            if let states = expected.states {
                #expect(reply?["states"] == states, "\(seed).\(step) uid \(uid)\n\(model.yaml)")
            }
            guard code == expected.code else { return }
            try take(lines, &mirrors[uid]!)
            for other in uids {
                try take(clients[other]!.all(), &mirrors[other]!)
                let shown = states(bus).reduce(into: [String: JSONObject]()) {
                    $0[$1.key] = model.shown(other, $1.key, $1.value)
                }
                guard mirrors[other] == shown else {
                    Issue.record(
                        "\(seed).\(step): uid \(other) has \(mirrors[other]!), not \(shown)\n\(model.yaml)")
                    return
                }
            }
        }
    }

    private func states(_ bus: MemoryBus) -> [String: JSONObject] {
        var states: [String: JSONObject] = [:]
        for type in ["a", "b"] {
            for address in bus.engine.addresses(ofType: type) {
                states[address] = bus.engine.state(at: address)
            }
        }
        return states
    }

    private typealias Outcome = (code: String, states: JSON?)

    private func request(
        by uid: Int, _ model: AccessModel, _ bus: MemoryBus, _ random: inout SeededGenerator
    ) -> (String, Outcome) {
        let type = ["a", "b"].randomElement(using: &random)!
        let store = "\(type)/\(Self.names.randomElement(using: &random)!)"
        let state = bus.engine.state(at: store)
        let action = ["add", "put"].randomElement(using: &random)!
        let payload =
            action == "put" ? #","payload":{"text":"t\#(Int.random(in: 0..<9, using: &random))"}"# : ""
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<4:
            let line = #"{"op":"dispatch","store":"\#(store)","action":"\#(action)"\#(payload)}"#
            guard model.mayDispatch(uid, action, store: store, count: nil) else {
                return (line, ("forbidden", nil))
            }
            guard let count = state?["count"]?.int else { return (line, ("unknown_store", nil)) }
            return (
                line, (model.mayDispatch(uid, action, store: store, count: count) ? "ok" : "forbidden", nil)
            )
        case 4..<6:
            let counts = bus.engine.addresses(ofType: type).compactMap {
                bus.engine.state(at: $0)?["count"]?.int
            }
            let line = #"{"op":"dispatch","type":"\#(type)","action":"\#(action)"\#(payload)}"#
            return (
                line, (model.mayDispatch(uid, action, type: type, counts: counts) ? "ok" : "forbidden", nil)
            )
        case 6:
            let line = #"{"op":"create","store":"\#(store)","state":{"count":2}}"#
            if !model.may(uid, "create", store) { return (line, ("forbidden", nil)) }
            if state != nil { return (line, ("exists", nil)) }
            return (line, (model.mayCreate(uid, store, count: 2) ? "ok" : "forbidden", nil))
        case 7 where Bool.random(using: &random):
            let line = #"{"op":"drop","type":"\#(type)","where":"count > 4"}"#
            let isAllowed = model.mayDropAll(uid, of: type) && model.showsCounts(uid, ofAll: type)
            return (line, (isAllowed ? "ok" : "forbidden", nil))
        case 7:
            let line = #"{"op":"drop","store":"\#(store)"}"#
            if !model.may(uid, "drop", store) { return (line, ("forbidden", nil)) }
            return (line, (state == nil ? "unknown_store" : "ok", nil))
        case 8:
            let line = #"{"op":"get","store":"\#(store)"}"#
            guard model.may(uid, "read", store) else { return (line, ("forbidden", nil)) }
            guard let state else { return (line, ("unknown_store", nil)) }
            return (line, ("ok", [store: .object(model.shown(uid, store, state)!)]))
        default:
            let shown = states(bus).compactMapValues { $0 }.reduce(into: JSONObject()) {
                $0[$1.key] = model.shown(uid, $1.key, $1.value).map(JSON.object)
            }
            return (#"{"op":"get","match":"*/*"}"#, ("ok", .object(shown)))
        }
    }

    /// What events make of a mirror.
    private func take(_ lines: [JSON], _ mirror: inout [String: JSONObject]) throws {
        for event in lines where event["event"] == "change" {
            if event["reset"] == true { mirror = [:] }
            for member in event["states"]?.object?.members.map({ $0 }) ?? [] {
                mirror[member.key] = member.value.object
            }
            for member in event["changes"]?.object?.members.map({ $0 }) ?? [] {
                var state = JSON.object(mirror[member.key] ?? [:])
                MergePatch.merge(member.value, into: &state)
                mirror[member.key] = state.object
            }
            for address in event["dropped"]?.array ?? [] { mirror[address.string ?? ""] = nil }
        }
    }
}
