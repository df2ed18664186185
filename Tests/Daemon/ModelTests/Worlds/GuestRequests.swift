import BusJSON
import TestSupport

/// What a guest sends, and what an operator does behind its back.
struct GuestRequests {
    let rules: RandomRules
    private static let types = ["a", "b"]
    private static let visible = ["v1", "v2", "v3"]
    private static let hidden = ["h0", "h1", "h2", "h3"]
    /// Which of the hidden stores there are in each of the worlds.
    private var there: [Set<String>] = [["a/h0", "z/h0"], ["a/h0", "z/h0"]]

    init(_ rules: RandomRules) { self.rules = rules }

    mutating func step(_ worlds: TwoWorlds, _ random: inout SeededGenerator) -> TwoWorlds.Step {
        let number = Int.random(in: 0..<3, using: &random)
        guard worlds.connected.contains(number) else { return .connect(number) }
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<30: return hiddenStep(&random)
        case 30..<36: return .open(operatorLine(address(&random), &random))
        case 36: return .close(number)
        case 37: return .reading(number, false)
        case 38..<42: return .reading(number, true)
        case 42..<46: return .advance(Int.random(in: 1...7000, using: &random))
        case 46 where random.oneIn(4): return .handOver
        default: return .guest(number, line(worlds, &random))
        }
    }

    // MARK: The operator

    private func address(_ random: inout SeededGenerator) -> String {
        "\(Self.types.randomElement(using: &random)!)/\(Self.visible.randomElement(using: &random)!)"
    }

    /// Something that everybody may see who may see the store: in both worlds.
    private func operatorLine(_ store: String, _ random: inout SeededGenerator) -> String {
        switch Int.random(in: 0..<6, using: &random) {
        case 0: #"{"op":"create","store":"\#(store)"}"#
        case 1: #"{"op":"drop","store":"\#(store)"}"#
        case 2: #"{"op":"dispatch","type":"\#(store.prefix(1))","action":"add"}"#
        default: #"{"op":"dispatch","store":"\#(store)",\#(action(&random))}"#
        }
    }

    private func action(_ random: inout SeededGenerator) -> String {
        switch Int.random(in: 0..<5, using: &random) {
        case 0: #""action":"put","payload":{"text":"t\#(Int.random(in: 0..<4, using: &random))"}"#
        case 1: #""action":"ring""#
        case 2: #""action":"tick""#
        default: #""action":"add","payload":{"by":\#(Int.random(in: 0..<6, using: &random))}"#
        }
    }

    /// One commit in each of the worlds, where the guest does not see it.
    private mutating func hiddenStep(_ random: inout SeededGenerator) -> TwoWorlds.Step {
        // The first one in a world is refused if its store is not there in both; so both get what is sure to be a commit.
        let partlyShown = ["a/v1", "b/v1"].filter { rules.shows($0) && !rules.showsAll($0) }
        if let store = partlyShown.randomElement(using: &random), random.oneIn(2) {
            return .hidden(hide(store, &random), hide(store, &random))
        }
        guard let one = hiddenLine(0, &random), let other = hiddenLine(1, &random) else {
            return .open(#"{"op":"dispatch","store":"z/h0","action":"ring"}"#)
        }
        return .hidden(one, other)
    }

    private func hide(_ store: String, _ random: inout SeededGenerator) -> String {
        let value = ["1", "2", "null", #""x""#, "[1]", #"{"a":1}"#].randomElement(using: &random)!
        return #"{"op":"dispatch","store":"\#(store)","action":"hide","payload":{"value":\#(value)}}"#
    }

    private mutating func hiddenLine(_ world: Int, _ random: inout SeededGenerator) -> String? {
        let stores = ["a", "b", "z"].flatMap { type in Self.hidden.map { "\(type)/\($0)" } }
            .filter { !rules.shows($0) }
        guard let store = stores.randomElement(using: &random) else { return nil }
        if !there[world].contains(store) {
            there[world].insert(store)
            return
                #"{"op":"create","store":"\#(store)","state":{"count":\#(Int.random(in: 0..<9, using: &random))}}"#
        }
        // Those that are configured stay.
        if !store.hasSuffix("h0"), random.oneIn(4) {
            there[world].remove(store)
            return #"{"op":"drop","store":"\#(store)"}"#
        }
        return random.oneIn(2)
            ? hide(store, &random)
            : #"{"op":"dispatch","store":"\#(store)","action":"put","payload":{"text":"h\#(Int.random(in: 0..<4, using: &random))"}}"#
    }

    // MARK: The guest

    /// An address: of those that nobody shows it only where it may not do the thing, as the answer may then tell of them.
    private func address(for word: String, _ random: inout SeededGenerator) -> String {
        let type = ["a", "a", "b", "b", "z"].randomElement(using: &random)!
        let store = "\(type)/\((Self.visible + Self.hidden).randomElement(using: &random)!)"
        let isHidden = Self.hidden.contains { store.hasSuffix($0) }
        return isHidden && rules.allows(word, store) && !rules.shows(store) ? "a/v1" : store
    }

    private func line(_ worlds: TwoWorlds, _ random: inout SeededGenerator) -> String {
        let request = request(worlds, &random)
        return JSON.object(request).encoded
    }

    private func request(_ worlds: TwoWorlds, _ random: inout SeededGenerator) -> JSONObject {
        let past = Int.random(in: max(0, worlds.revision - 30)...worlds.revision, using: &random)
        switch Int.random(in: 0..<30, using: &random) {
        case 0..<7: return dispatch(past, &random)
        case 7:
            return [
                "op": "create", "store": .string(address(for: "create", &random)),
                "state": ["count": .int(Int.random(in: 0..<4, using: &random))],
            ]
        case 8 where random.oneIn(2): return dropChosen(&random)
        case 8: return ["op": "drop", "store": .string(address(for: "drop", &random))]
        case 9..<13:
            var request = filter(&random)
            request["op"] = "get"
            if random.oneIn(3) { request["select"] = select(&random) }
            if random.oneIn(2) { request["where"] = condition(&random) }
            if random.oneIn(4) { request["revision"] = .int(past) }
            return paged(request, &random)
        case 13..<15:
            var request: JSONObject = ["op": "stores"]
            if random.oneIn(2) { request["match"] = .string(pattern(&random)) }
            if random.oneIn(2) { request["where"] = condition(&random) }
            return paged(request, &random)
        case 15..<20:
            var request = filter(&random)
            request["op"] = "subscribe"
            if random.oneIn(2) { request["where"] = condition(&random) }
            if random.oneIn(4) {
                request["actions"] = true
            } else {
                if random.oneIn(3) { request["select"] = select(&random) }
                if random.oneIn(3) { request["cause"] = true }
                request["format"] = .string(["merge", "patch", "state"].randomElement(using: &random)!)
            }
            if random.oneIn(2) { (request["since"], request["epoch"]) = (.int(past), .string(worlds.epoch)) }
            return request
        case 20: return ["op": "unsubscribe", "sub": .int(Int.random(in: 1...5, using: &random))]
        case 21, 22:
            var request: JSONObject = ["op": "history", "since": .int(past)]
            if random.oneIn(2) { request["limit"] = .int(Int.random(in: 1...5, using: &random)) }
            if random.oneIn(3) {
                request["type"] = .string(["a", "b", "z"].randomElement(using: &random)!)
            } else if random.oneIn(3) {
                request["store"] = .string(address(for: "read", &random))
            }
            return request
        case 23:
            return [
                "op": "revert", "store": .string(address(for: "revert", &random)), "revision": .int(past),
            ]
        case 24:
            var request: JSONObject = ["op": "timers"]
            if random.oneIn(2) { request["match"] = .string(pattern(&random)) }
            if random.oneIn(3) { request["limit"] = 1 }
            return request
        case 25:
            return ["op": "cancel", "store": .string(address(for: "dispatch", &random)), "timer": "tock"]
        case 26:
            return [
                "op": "will",
                "actions": [["store": .string(address(for: "dispatch", &random)), "action": "add"]],
            ]
        case 27:
            return [["op": "stats"], ["op": "clients"], ["op": "types"], ["op": "ping"]].randomElement(
                using: &random)!
        case 28: return ["op": "types", "type": .string(["a", "b", "z"].randomElement(using: &random)!)]
        default: return ["op": "sync"]
        }
    }

    /// Of stores that both worlds have, by what they are like.
    private func dropChosen(_ random: inout SeededGenerator) -> JSONObject {
        let type = Self.types.randomElement(using: &random)!
        let text = condition(&random).string.map { " && (\($0))" } ?? ""
        return [
            "op": "drop", "type": .string(type), "where": .string("store.startsWith('\(type)/v')\(text)"),
        ]
    }

    private func dispatch(_ past: Int, _ random: inout SeededGenerator) -> JSONObject {
        var request = (try? JSON(parsing: "{\(action(&random))}"))?.object ?? [:]
        if random.oneIn(3) {
            request["type"] = .string(["a", "b", "z", "*"].randomElement(using: &random)!)
            // Timers of stores that only one world has would be commits of that world alone.
            if request["action"] == "tick" { request["action"] = "ring" }
            if random.oneIn(2) { request["where"] = condition(&random) }
        } else {
            request["store"] = .string(address(for: "dispatch", &random))
            if random.oneIn(3) { request["ifRevision"] = .int(past) }
        }
        if random.oneIn(6) {
            request = [
                "actions": [.object(request.without("ifRevision")), ["store": "a/v1", "action": "add"]]
            ]
        }
        request["op"] = "dispatch"
        if random.oneIn(5) {
            request["dryRun"] = true
        } else if random.oneIn(6), request["actions"] == nil {
            request["in"] = 3
        } else if random.oneIn(6) {
            request["key"] = .string("k\(Int.random(in: 0..<6, using: &random))")
        }
        return request
    }

    /// An expression about what the guest may see, or not.
    private func condition(_ random: inout SeededGenerator) -> JSON {
        [
            "count > 2", "twice < 9", "text != 't1'", "has(state.secret)", "size(state) > 2", "secret == 1",
            "shadow == 1 || count > 0", "deep.two == 1", "!(deep.two == 1)", "deep.one == 't11'", "true",
            "store.endsWith('1')", #"{"var":"secret"}"#, #"{"!":[{"var":"state.shadow"}]}"#,
            #"{">":[{"var":"count"},1]}"#,
        ].randomElement(using: &random).map { text in
            text.hasPrefix("{") ? (try? JSON(parsing: text)) ?? .null : .string(text)
        } ?? .null
    }

    private func pattern(_ random: inout SeededGenerator) -> String {
        ["*/*", "a/*", "b/*", "*/h*", "z/*", "a/v?", "*/v1", "a/h1", "?/h?"].randomElement(using: &random)!
    }

    private func filter(_ random: inout SeededGenerator) -> JSONObject {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: ["store": .string(address(for: "read", &random))]
        case 1: ["type": .string(["a", "b", "z"].randomElement(using: &random)!)]
        default: ["match": .string(pattern(&random))]
        }
    }

    private func select(_ random: inout SeededGenerator) -> JSON {
        [["/count"], ["/secret"], ["/deep"], ["/shadow", "/text"], ["/deep/two"], ["/twice"]].randomElement(
            using: &random)!
    }

    private func paged(_ request: JSONObject, _ random: inout SeededGenerator) -> JSONObject {
        var request = request
        guard request["store"] == nil else { return request }
        if random.oneIn(2) { request["limit"] = .int(Int.random(in: 1...3, using: &random)) }
        if random.oneIn(3) { request["after"] = .string(address(for: "read", &random)) }
        return request
    }
}

extension JSONObject {
    fileprivate func without(_ key: String) -> JSONObject {
        var copy = self
        copy[key] = nil
        return copy
    }
}
