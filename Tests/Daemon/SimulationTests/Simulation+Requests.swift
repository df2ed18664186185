import BusJSON
import TestSupport

/// What clients say.
extension Simulation {
    /// Gives a client some lines to send: mostly several that are alike, with others between them.
    func talk(_ client: SimulatedClient) {
        if client.isListener {
            client.send(["op": "sync"])
            return
        }
        if random.oneIn(12) { client.habit = someHabit() }
        for _ in 0..<(random.oneIn(3) ? Int.random(in: 2...6, using: &random) : 1) {
            if random.oneIn(3) { request(client) } else { repeatHabit(client) }
        }
    }

    /// Mostly one with small numbers in it.
    func someHabit() -> JSONObject {
        var habit = someAction()
        if random.oneIn(4) { return habit }
        let name = ["add", "step", "guarded", "pull", "ring", "pay"].randomElement(using: &random)!
        habit["action"] = .string(name)
        habit["payload"] = .object(somePayload(for: name))
        return habit
    }

    /// The same dispatch again, with other numbers.
    private func repeatHabit(_ client: SimulatedClient) {
        var members = client.habit
        members["op"] = "dispatch"
        if let name = members["action"]?.string { members["payload"] = .object(somePayload(for: name)) }
        client.send(members)
    }

    private func request(_ client: SimulatedClient) {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<18: create(client)
        case 18..<21: client.send(["op": "drop", "store": .string(someStore())])
        case 21..<31 where client.subscriptions.count < 4:
            subscribe(client, hasAudience ? commonSubscription() : someSubscription(), since: nil)
        case 31..<34:
            guard let number = client.subscriptions.randomElement(using: &random) else { return }
            client.send(["op": "unsubscribe", "sub": .int(number)], expecting: .unsubscription(number))
        case 34..<37: client.send(["op": "sync"])
        case 37..<40:
            let actions = (0..<Int.random(in: 0..<3, using: &random)).map { _ in JSON.object(someAction()) }
            client.send(["op": "will", "actions": .array(actions)])
        case 40..<44: read(client)
        default: dispatch(client)
        }
    }

    private func create(_ client: SimulatedClient) {
        client.send([
            "op": "create", "store": .string(someStore()), "ifMissing": .bool(!random.oneIn(4)),
            "ephemeral": .bool(random.oneIn(3)),
        ])
    }

    private func read(_ client: SimulatedClient) {
        var wanted = someSubscription()
        if random.oneIn(2) {
            wanted = SubscriptionRequest(
                kind: "store", text: someStore(), pointers: wanted.pointers, format: "state")
        }
        var members: JSONObject = ["op": "get"]
        members[wanted.kind] = .string(wanted.text)
        members["select"] = wanted.selection
        client.send(members, expecting: .read(wanted))
    }

    private func someStore() -> String {
        "\(ModelActions.types.randomElement(using: &random)!)/s\(Int.random(in: 0..<12, using: &random))"
    }

    // MARK: Subscriptions

    private func someSubscription() -> SubscriptionRequest {
        // Often the same, as those with one filter are told from one place.
        if random.oneIn(3) {
            return SubscriptionRequest(kind: "type", text: "tree", pointers: [["count"]], format: "merge")
        }
        let (kind, text) = [
            ("type", "note"), ("type", "tree"), ("match", "*/*"), ("match", "t*/s1*"), ("match", "note/s?"),
            ("store", "note/s1"), ("store", "tree/s2"), ("match", "*/s3"), ("match", "tree/*"),
        ].randomElement(using: &random)!
        let pointers: [[String]]? = [
            nil, nil, [["count"]], [["map", "a"], ["count"]], [["list", "0"]], [["map"], ["flag"]],
            [["map", "a", "x"]], [["size"]],
        ].randomElement(using: &random)!
        let format = ["merge", "patch", "state"].randomElement(using: &random)!
        return SubscriptionRequest(kind: kind, text: text, pointers: pointers, format: format)
    }

    /// One of few, so that several have the same.
    func commonSubscription() -> SubscriptionRequest {
        let (kind, text, format) = [("type", "note", "merge"), ("match", "*/*", "patch")]
            .randomElement(using: &random)!
        return SubscriptionRequest(kind: kind, text: text, pointers: nil, format: format)
    }

    func subscribe(
        _ client: SimulatedClient, _ wanted: SubscriptionRequest,
        since: (revision: Int, states: [String: JSON])?
    ) {
        let initial = Int.random(in: 0..<5, using: &random) > 0
        let cause = client.isListener ? wanted.kind == "type" : Bool.random(using: &random)
        var members: JSONObject = [
            "op": "subscribe", "format": .string(wanted.format), "initial": .bool(initial),
            "cause": .bool(cause),
        ]
        members[wanted.kind] = .string(wanted.text)
        members["select"] = wanted.selection
        if let since {
            members["since"] = .int(since.revision)
            members["epoch"] = .string(epoch)
        }
        client.send(members, expecting: .subscription(wanted, since: since, initial: initial))
    }

    // MARK: Dispatch

    private func dispatch(_ client: SimulatedClient) {
        var members: JSONObject = ["op": "dispatch"]
        if random.oneIn(4) {
            let count = Int.random(in: 1..<6, using: &random)
            members["actions"] = .array((0..<count).map { _ in .object(someAction()) })
        } else {
            for member in someAction().members { members[member.key] = member.value }
            if members["store"] != nil, random.oneIn(6) {
                members["ifRevision"] = .int(Int.random(in: 1..<60, using: &random))
            }
        }
        if random.oneIn(8) { members["dryRun"] = true }
        if random.oneIn(8) { members["ack"] = false }
        if random.oneIn(4) {
            members["key"] = .string("k\(Int.random(in: 0..<400, using: &random))")
            if random.oneIn(2) { client.keyed = members }
        }
        if let keyed = client.keyed, random.oneIn(6) { members = keyed }
        client.send(members)
    }

    private func someAction() -> JSONObject {
        let action = [
            "add", "add", "step", "flip", "put", "push", "pull", "key", "forget", "blend", "deepen", "mixed",
            "mixed", "ring", "element", "shift", "guarded", "jump", "pay",
        ].randomElement(using: &random)!
        var members: JSONObject = [
            "action": .string(action), "payload": .object(somePayload(for: action)),
        ]
        switch Int.random(in: 0..<4, using: &random) {
        case 0: members["type"] = .string(ModelActions.types.randomElement(using: &random)!)
        case 1: members["type"] = "*"
        default: members["store"] = .string(someStore())
        }
        return members
    }

    private func somePayload(for action: String) -> JSONObject {
        let key = JSON.string(["a", "b", "c", "x"].randomElement(using: &random)!)
        let index = JSON.int(Int.random(in: 0..<3, using: &random))
        func value() -> JSON { randomJSON(using: &random, depth: 3) }
        // Now and then it is not what the action takes.
        if random.oneIn(60) { return ["value": "x"] }
        switch action {
        case "add": return ["by": .int(Int.random(in: -3..<4, using: &random))]
        case "step": return random.oneIn(2) ? [:] : ["by": .int(Int.random(in: -3..<3, using: &random))]
        case "pay": return ["by": .int([1, 7, .max, .min].randomElement(using: &random)!)]
        case "jump": return ["to": .int([0, 0, 3, -7, .max, .min].randomElement(using: &random)!)]
        case "guarded": return random.oneIn(2) ? [:] : ["least": .int(Int.random(in: -4..<4, using: &random))]
        case "put", "push": return ["value": value()]
        case "pull": return ["value": index]
        case "key", "mixed", "deepen": return ["key": key, "value": value()]
        case "forget": return ["key": key]
        case "blend": return ["value": .object(["a": value()])]
        case "element": return ["index": index, "value": value()]
        case "shift": return ["index": index]
        default: return [:]
        }
    }
}
