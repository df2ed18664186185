import BusJSON
import BusLogic
import TestModes
import TestSupport
import Testing

/// `each`, `patch` and computed paths, held against a few lines that do the same to a dictionary, over restarts.
@Suite(.inBothModes) struct RepeatedWriteTests {
    // A sanitizer slows each seed down.
    private static let seeds = Seeds.some(20 as UInt64)

    private static let shop = """
        type: shop
        state:
          stock: { values: { type: integer, minimum: 0, maximum: 20 }, default: {} }
          prices: { type: object, default: {} }
          open: { type: boolean, default: true }
          note: { type: string, nullable: true, default: null }
          hours: { type: object, default: {} }
        computed: { kinds: size(stock) }
        actions:
          deliver:
            payload: { goods: { values: integer } }
            each: { in: payload.goods, as: [name, n], set: { "stock.{name}": "= state.stock[?name].orValue(0) + n" } }
          sell:
            payload: { names: { type: array, items: string } }
            each: { in: payload.names, as: name, increment: { "stock.{name}": -1 } }
          clear:
            payload: { most: integer }
            each:
              in: state.stock.transformList(k, n, n <= payload.most, k)
              as: name
              unset: ["stock.{name}"]
              set: { "prices.{name}": gone }
          settings: { payload: { open: boolean?, note: { type: string, nullable: true, optional: true } }, patch: = payload }
          reprice: { payload: { with: object }, patch: { prices: = payload.with } }
          visit: { set: { "hours.{meta.hour}": = meta.minute, "hours.{'d' + string(meta.weekday)}": true } }

        """

    /// What the shop should be: the same rules, the plainest way.
    private struct Model {
        var stock: [String: Int] = [:]
        var prices: [String: JSON] = [:]
        var open = true
        var note: String?
        var hours: [String: JSON] = [:]

        var state: JSON {
            [
                "stock": .object(object(stock.mapValues { .int($0) })), "prices": .object(object(prices)),
                "open": .bool(open), "note": note.map { .string($0) } ?? .null,
                "hours": .object(object(hours)), "kinds": .int(stock.count),
            ]
        }

        private func object(_ members: [String: JSON]) -> JSONObject {
            members.reduce(into: JSONObject()) { $0[$1.key] = $1.value }
        }

        /// What an action makes of it; nil where it is rejected.
        func after(_ action: String, _ payload: JSON, at now: Int) -> Model? {
            var next = self
            switch action {
            case "deliver":
                for good in payload["goods"]?.object ?? [:] {
                    next.stock[good.key] = (stock[good.key] ?? 0) + (good.value.int ?? 0)
                }
            case "sell":
                for name in payload["names"]?.array ?? [] {
                    guard let count = next.stock[name.string ?? ""] else { return nil }
                    next.stock[name.string ?? ""] = count - 1
                }
            case "clear":
                for (name, count) in stock where count <= payload["most"]?.int ?? 0 {
                    next.stock[name] = nil
                    next.prices[name] = "gone"
                }
            case "settings":
                if let open = payload["open"]?.bool { next.open = open }
                if let note = payload["note"] { next.note = note.string }
            case "reprice":
                for price in payload["with"]?.object ?? [:] { next.prices[price.key] = price.value }
            default:
                let minutes = now / 60_000
                next.hours[String(minutes / 60 % 24)] = .int(minutes % 60)
                next.hours["d" + String((minutes / 1440 + 4) % 7)] = true
            }
            return next.stock.values.allSatisfy { 0...20 ~= $0 } ? next : nil
        }
    }

    private static let names = ["tea", "a.b", "", "0", "{x}"]

    private func payload(of action: String, _ generator: inout SeededGenerator) -> JSONObject {
        func some() -> [String] { Self.names.filter { _ in generator.oneIn(3) } }
        switch action {
        case "deliver":
            return [
                "goods": .object(
                    some().reduce(into: JSONObject()) {
                        $0[$1] = .int(.random(in: -2...9, using: &generator))
                    })
            ]
        case "sell": return ["names": .array((some() + some()).map { .string($0) })]
        case "clear": return ["most": .int(.random(in: 0...6, using: &generator))]
        case "settings":
            var payload = JSONObject()
            if generator.oneIn(2) { payload["open"] = .bool(generator.oneIn(2)) }
            if generator.oneIn(2) { payload["note"] = generator.oneIn(2) ? .null : "hello" }
            return payload
        case "reprice":
            return [
                "with": .object(
                    some().reduce(into: JSONObject()) { $0[$1] = generator.oneIn(3) ? .null : [1] })
            ]
        default: return [:]
        }
    }

    @Test(arguments: seeds)
    func theStateIsWhatTheModelSays(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let bus = try MemoryBus.logging("shop/a") { $0.definitions = [Self.shop] }
        let client = bus.connect(uid: 0)
        let actions = ["deliver", "deliver", "sell", "sell", "clear", "settings", "reprice", "visit"]
        var model = Model()
        var (accepted, rejected) = (0, 0)
        for _ in 0..<60 {
            let action = actions.randomElement(using: &generator) ?? "visit"
            let payload = JSON.object(payload(of: action, &generator))
            bus.advance(milliseconds: .random(in: 0...9_000_000, using: &generator))
            let reply = try client.reply(
                to: #"{"op":"dispatch","store":"shop/a","action":"\#(action)","payload":\#(payload.encoded)}"#
            )
            let next = model.after(action, payload, at: bus.now)
            #expect((reply["ok"] == true) == (next != nil), "\(action) \(payload.encoded): \(reply.encoded)")
            if let next { (model, accepted) = (next, accepted + 1) } else { rejected += 1 }
            #expect(try client.state(of: "shop/a") == model.state)
        }
        #expect(accepted > 20 && rejected > 0)
        #expect(try bus.isWhatTheLogSays())
    }

    /// `types` shows what comes to the same again, as the log and snapshots have it.
    @Test func definitionsComeBackAsTheyWere() throws {
        let bus = try MemoryBus.logging("shop/a") { $0.definitions = [Self.shop] }
        let client = bus.connect(uid: 0)
        let reply = try client.reply(to: #"{"op":"types","type":"shop"}"#)
        let shown = try #require(reply["types"]?[0], "\(reply)")
        #expect(try DeclaredType(definition: shown).definition == shown)
        #expect(try bus.isWhatTheLogSays())
    }

    /// Members lie in order, so one that goes moves those behind it.
    @Test(arguments: [(500_000, false), (2_000_000, true)])
    func manyWritesPayForTheMembersThatTheyMove(operations: Int, isAffordable: Bool) throws {
        let bus = try MemoryBus.logging {
            $0.definitions = [
                """
                type: basket
                initial: { items: {} }
                actions:
                  drop: { payload: { ids: array }, each: { in: payload.ids, as: id, unset: ["items.{id}"] } }
                """
            ]
            $0.limits.bus.commit = operations
        }
        let client = bus.connect(uid: 0)
        let names = (10_000..<30_000).map { "\"\($0)\"" }
        let items = names.map { "\($0):1" }.joined(separator: ",")
        try client.revision(
            after: #"{"op":"create","store":"basket/a","state":{"items":{\#(items)}}}"#)
        let reply = try client.reply(
            to:
                #"{"op":"dispatch","store":"basket/a","action":"drop","payload":{"ids":[\#(names.prefix(4000).joined(separator: ","))]}}"#
        )
        #expect(reply["ok"] == .bool(isAffordable), "\(reply)")
        if !isAffordable {
            #expect(
                reply["error"]?["message"]?.string?.contains("the commit's budget is used up") == true,
                "\(reply)")
        }
        let left = try client.state(of: "basket/a")?["items"]?.object?.count
        #expect(left == (isAffordable ? 16_000 : 20_000))
        #expect(try bus.isWhatTheLogSays())
    }
}
