import BusJSON
import TestSupport

/// Random steps: mostly requests, and all that happens around them.
enum RandomSteps {
    private static let clients = 5
    private static let uids = [1000, 1000, 1001, 0, 1002]

    static func step(_ execution: Execution, _ random: inout SeededGenerator) -> Step {
        let client = Int.random(in: 0..<clients, using: &random)
        guard let peer = execution.peers[client] else {
            return connect(client, isTimed: execution.model.isTimed, &random)
        }
        switch Int.random(in: 0..<1000, using: &random) {
        case 0..<60: return .subscribe(client: client, subscription(execution, &random))
        case 60..<85:
            guard let sub = peer.subs.keys.sorted().randomElement(using: &random) else { break }
            return .unsubscribe(client: client, sub: sub)
        case 85..<97: return .close(client: client)
        case 97..<122: return .reading(client: client, false)
        case 122..<140:
            // Somebody who reads nothing does so for a while.
            let silent = execution.peers.filter { !$0.value.isReading }.keys.sorted().randomElement(
                using: &random)
            return .reading(client: silent ?? client, true)
        case 140..<200:
            return .advance(
                milliseconds: random.oneIn(4)
                    ? Int.random(in: 5000...60_000, using: &random) : Int.random(in: 1...900, using: &random))
        case 200..<203: return .handOver
        case 203..<204: return .crash
        case 204..<210:
            return .reload(
                execution.currentDefinitions.map {
                    random.oneIn(2) ? $0 : RandomTypes.changed($0, &random)
                })
        default: break
        }
        return .send(client: client, RandomRequests.request(execution.model, &random))
    }

    private static func connect(_ client: Int, isTimed: Bool, _ random: inout SeededGenerator) -> Step {
        let session = isTimed && random.oneIn(3) ? "s\(Int.random(in: 0..<2, using: &random))" : nil
        return .connect(
            client: client, uid: uids[client], session: session,
            linger: Int.random(in: 0...20, using: &random) * 500)
    }

    private static func subscription(_ execution: Execution, _ random: inout SeededGenerator) -> JSONObject {
        let model = execution.model
        var request = RandomRequests.filter(model, &random)
        request["op"] = "subscribe"
        if random.oneIn(3) { request["where"] = RandomRequests.condition(&random) }
        if random.oneIn(4) {
            request["actions"] = true
        } else {
            request = RandomRequests.selecting(request, model, &random)
            if random.oneIn(2) {
                request["format"] = .string(["merge", "patch", "state"].randomElement(using: &random)!)
            }
            if random.oneIn(3) { request["cause"] = true }
            if random.oneIn(4) { request["initial"] = false }
        }
        if random.oneIn(3) {
            request["initial"] = nil
            request["since"] = .int(
                max(0, model.revision - Int.random(in: 0...(random.oneIn(3) ? 200 : 10), using: &random)))
            if random.oneIn(15) { request["since"] = .int(model.revision + 5) }
            request["epoch"] = .string(
                random.oneIn(15) ? "5bd1a5a6-3c1f-4d0e-9d3c-0123456789ab" : model.epoch)
        }
        return request
    }
}
