import BusJSON
import TestModes
import TestSupport
import Testing

/// Random batches of dispatches, creations and drops with conditions, compared with a model: a dictionary.
@Suite(.inBothModes) struct BatchModelTests {
    /// What the bus must hold: counters by address.
    private struct Model {
        struct Store: Equatable {
            var count: Int
            /// The last commit that changed it; 0 while none has.
            var revision: Int
        }

        enum Step {
            case add(String?, Int), create(String, Int, ifMissing: Bool), drop(String)
            /// Drops all stores whose count is at least this.
            case dropChosen(Int)
        }

        struct Element {
            var step: Step
            var below: Int?
            var revision: Int?

            var json: JSON {
                var json: JSONObject = [:]
                switch step {
                case .add(let store?, let count):
                    json = ["store": .string(store), "action": "increment", "payload": ["by": .int(count)]]
                case .add(nil, let count):
                    json = ["type": "counter", "action": "increment", "payload": ["by": .int(count)]]
                case .create(let store, let count, let ifMissing):
                    json = ["op": "create", "store": .string(store), "state": ["count": .int(count)]]
                    if ifMissing { json["ifMissing"] = true }
                case .drop(let store): json = ["op": "drop", "store": .string(store)]
                case .dropChosen(let least):
                    json = ["op": "drop", "type": "counter", "where": .string("count >= \(least)")]
                }
                if let below {
                    json["if"] =
                        below % 2 == 0 ? .string("count < \(below)") : ["<": [["var": "count"], .int(below)]]
                }
                json["ifRevision"] = revision.map(JSON.int)
                return .object(json)
            }
        }

        struct Refusal: Error, Equatable {
            let code: String
            let index: Int
        }

        var stores: [String: Store] = [:]
        var revision = 0

        /// Applies a batch, and returns how many addresses it matched and changed.
        mutating func carryOut(_ batch: [Element]) throws(Refusal) -> (matched: Int, changed: Int) {
            var revisions = stores.mapValues(\.revision)
            var skipped: Set<Int> = []
            /// Which element has made a store, and which leave one as it is.
            var origins: [String: Int] = [:]
            var kept: [(index: Int, store: String, origin: Int)] = []
            for (index, element) in batch.enumerated() {
                func refuse(_ code: String) throws(Refusal) { throw Refusal(code: code, index: index) }
                switch element.step {
                case .add(nil, _), .dropChosen: break
                case .add(let store?, _), .drop(let store):
                    guard let now = revisions[store] else { try refuse("unknown_store"); break }
                    if let wanted = element.revision, wanted != now { try refuse("conflict") }
                    if case .drop = element.step { revisions[store] = nil }
                case .create(let store, _, let ifMissing):
                    guard revisions[store] == nil else {
                        if !ifMissing { try refuse("exists") }
                        skipped.insert(index)
                        kept.append((index, store, origins[store] ?? -1))
                        continue
                    }
                    revisions[store] = 0
                    origins[store] = index
                }
            }
            var (now, touched, made) = (stores, Set<String>(), Set<String>())
            for (index, element) in batch.enumerated() where !skipped.contains(index) {
                switch element.step {
                // A store that a drop by value removes is missing for the elements after it.
                case .add(let store?, _) where now[store] == nil, .drop(let store) where now[store] == nil:
                    throw Refusal(code: "unknown_store", index: index)
                case .dropChosen(let least):
                    // Nor may it remove one that an element after it leaves as it is.
                    let lost = kept.first {
                        $0.origin < index && index < $0.index
                            && now[$0.store].map { $0.count >= least } ?? false
                    }
                    if let lost { throw Refusal(code: "exists", index: lost.index) }
                    for (address, store) in now where store.count >= least {
                        touched.insert(address)
                        now[address] = nil
                    }
                case .add(let store, let count):
                    for address in store.map({ [$0] }) ?? Array(now.keys) {
                        touched.insert(address)
                        let before = now[address]!.count
                        if let below = element.below, before >= below {
                            throw Refusal(code: "conflict", index: index)
                        }
                        let (sum, isOver) = before.addingReportingOverflow(count)
                        if isOver { throw Refusal(code: "rejected", index: index) }
                        now[address]!.count = sum
                    }
                case .create(let store, let count, _):
                    touched.insert(store)
                    made.insert(store)
                    now[store] = Store(count: count, revision: 0)
                case .drop(let store):
                    touched.insert(store)
                    if let below = element.below, now[store]!.count >= below {
                        throw Refusal(code: "conflict", index: index)
                    }
                    now[store] = nil
                }
            }
            revision += 1
            var changed = 0
            for address in touched {
                let isNew = made.contains(address) && now[address] != nil
                guard isNew || now[address]?.count != stores[address]?.count else { continue }
                changed += 1
                now[address]?.revision = revision
            }
            stores = now
            return (touched.count, changed)
        }

        var states: [String: JSON] {
            stores.mapValues { ["count": .int($0.count), "isEven": .bool($0.count % 2 == 0)] }
        }
    }

    private static func random(_ model: Model, _ random: inout SeededGenerator) -> Model.Element {
        let store = "counter/s\(Int.random(in: 0..<6, using: &random))"
        let step: Model.Step =
            switch Int.random(in: 0..<11, using: &random) {
            case 10: .dropChosen(Int.random(in: 2...9, using: &random))
            case 0: .add(nil, Int.random(in: 0...2, using: &random))
            case 1: .add(store, Int.random(in: 0..<4, using: &random) == 0 ? .max : 1)
            case 2...4: .add(store, Int.random(in: 0...3, using: &random))
            case 5...7:
                .create(store, Int.random(in: 0...5, using: &random), ifMissing: Bool.random(using: &random))
            default: .drop(store)
            }
        var element = Model.Element(step: step)
        switch step {
        case .add(nil, _), .create, .dropChosen: break
        default:
            if Int.random(in: 0..<3, using: &random) == 0 {
                element.below = Int.random(in: 2...12, using: &random)
            }
            if Int.random(in: 0..<4, using: &random) == 0 {
                element.revision = Bool.random(using: &random) ? model.stores[store]?.revision ?? 0 : 3
            }
        }
        return element
    }

    @Test(arguments: Seeds.some(40))
    func busIsWhatADictionarySays(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let bus = try MemoryBus.logging()
        let (client, watcher) = (bus.connect(uid: 0), bus.connect())
        var mirror = ContractMirror()
        try mirror.take(try watcher.ask(#"{"op":"subscribe","type":"counter"}"#))
        var model = Model()
        var last: (line: String, reply: JSON)?
        for number in 0..<60 {
            let batch = (0..<Int.random(in: 1...6, using: &random)).map { _ in Self.random(model, &random) }
            var request: JSONObject = ["op": "dispatch", "actions": .array(batch.map(\.json))]
            let isTried = Int.random(in: 0..<5, using: &random) == 0
            if isTried { request["dryRun"] = true } else { request["key"] = .string("k\(number)") }
            if Bool.random(using: &random) { request["return"] = "states" }
            let (before, reply) = (model, try client.reply(to: request.encoded))
            do throws(Model.Refusal) {
                let (matched, changed) = try model.carryOut(batch)
                #expect(reply["matched"]?.int == matched, "\(number): \(request.encoded) \(reply)")
                #expect(reply["changed"]?.int == changed, "\(number): \(request.encoded) \(reply)")
                if request["return"] != nil { told(reply, before, model, request.encoded) }
                if isTried { model = before } else { last = (request.encoded, reply) }
            } catch {
                #expect(
                    reply["error"]?["code"]?.string == error.code, "\(number): \(request.encoded) \(reply)")
                #expect(
                    reply["error"]?["index"]?.int == error.index, "\(number): \(request.encoded) \(reply)")
            }
            // A batch that is sent again gets the same answer, and is not committed again.
            if let last, Bool.random(using: &random) {
                var expected = last.reply.object ?? [:]
                expected["duplicate"] = true
                for member in ["states", "dropped"] { expected[member] = nil }
                #expect(try client.reply(to: last.line) == .object(expected))
            }
            try mirror.take(try watcher.all())
            #expect(mirror.states == model.states, "\(number): \(request.encoded)")
            let states = try client.reply(to: #"{"op":"get","type":"counter"}"#)["states"]?.object ?? [:]
            #expect(states.reduce(into: [:]) { $0[$1.key] = $1.value } == model.states)
            #expect(try client.revision(after: Line.sync) == model.revision)
        }
        #expect(try bus.isWhatTheLogSays())
        // The log also restores the order in which stores were made, which is the order of a dispatch to all.
        try client.revision(
            after: #"{"op":"dispatch","type":"counter","action":"increment","payload":{"by":-1}}"#)
        #expect(try bus.isWhatTheLogSays())
    }

    /// Checks that the reply to a batch shows exactly what the batch has changed.
    private func told(_ reply: JSON, _ before: Model, _ after: Model, _ line: String) {
        let states = reply["states"]?.object ?? [:]
        for member in states { #expect(after.states[member.key] == member.value, "\(line) \(reply)") }
        let dropped = Set((reply["dropped"]?.array ?? []).compactMap(\.string))
        #expect(dropped == Set(before.stores.keys).subtracting(after.stores.keys), "\(line) \(reply)")
        #expect(states.count + dropped.count == reply["changed"]?.int, "\(line) \(reply)")
        for (address, state) in after.states where before.states[address] != state {
            #expect(states[address] == state, "\(line) \(reply)")
        }
    }
}
