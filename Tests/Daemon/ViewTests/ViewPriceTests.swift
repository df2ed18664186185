import BusJSON
import BusLogic
import BusMachine
import BusProtocol
import TestSupport
import Testing

/// What a commit pays for views is what bringing them up to date then takes: of two machines that do the same, one pays for every
/// expression, the other for none, and they differ by what views evaluate in the commit.
struct ViewPriceTests {
    private static let definitions = [
        """
        type: part
        state:
          group: { type: string, default: a }
          on: { type: boolean, default: true }
          size: { type: integer, default: 1 }
          list: { type: array, items: integer, default: [] }
          other: { type: integer, default: 0 }
        actions:
          put: { payload: { group: string?, on: boolean?, size: integer?, list: array? }, patch: = payload }
          poke: { increment: { other: 1 } }
        """,
        """
        view: groups
        of: part
        by: 'group + (size > 5 ? "-large" : "")'
        where: on && list.size() < 6
        values: { parts: count(), size: sum(size), most: 'max(list.filter(x, x > size).size())', one: sum(1) }
        """,
        "view: whole\nof: part\nvalues: { any: any(on), sum: 'sum(list.map(x, x * size).size())' }",
        "view: large\nof: part\nwhere: size > 5\nvalues: { groups: counts(group), some: 'count(list.exists(x, x == 3))' }",
    ]

    @Test(arguments: 0..<20) func aCommitPaysForWhatViewsEvaluateOfIt(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let (payer, other) = (try Self.machine(), try Self.machine())
        payer.limits.evaluations = 0
        other.limits.evaluations = .max
        var (paid, free) = (0, 0)
        for step in 0..<100 {
            let request = Self.request(&generator, among: other)
            let (price, cost) = (try Self.make(request, payer), try Self.make(request, other))
            #expect(price.spent - cost.spent == cost.evaluated, "Seed \(seed), step \(step): \(request)")
            // It is evaluated when it is paid for, and in the commit.
            #expect(price.evaluated == cost.evaluated, "Seed \(seed), step \(step): \(request)")
            if cost.evaluated > 0 { paid += 1 } else { free += 1 }
        }
        #expect(paid > 20 && free > 5, "\(paid) paid, \(free) did not")
        #expect(payer.stateDigest == other.stateDigest)
    }

    private static func machine() throws -> StateMachine {
        let types = try SampleTypes.load(and: definitions)
        let machine = StateMachine(types: types, epoch: "e", hashSeed: 1)
        machine.commit()
        return machine
    }

    private enum Request {
        case actions([JSON])
        case batch(steps: [JSON], actions: [JSON])
        case create(String, JSONObject)
        case replace(String, JSONObject)
    }

    /// What a request spends before its commit, and what views evaluate in that.
    private static func make(_ request: Request, _ machine: StateMachine) throws -> (
        spent: Int, evaluated: Int
    ) {
        var details: CommitDetails?
        var spent = 0
        switch request {
        case .actions(let actions):
            try machine.plan(actions)
            _ = try machine.apply(by: .daemon)
            spent = machine.operationsSpent
        case .batch(let steps, let actions):
            details = CommitDetails(
                try machine.apply(steps, actions, creating: JSONObject(), by: .daemon) {
                    (type, members) throws(RequestError) in
                    try machine.newState(of: type, replacing: members, in: nil)
                })
            spent = machine.operationsSpent
        case .create(let address, let members):
            let type = try machine.requireType("part")
            let state = try machine.newState(of: type, replacing: members, in: nil)
            spent = try beside(machine) { () throws(RequestError) in
                try machine.payForViews(of: state, of: type)
            }
            details = CommitDetails()
            details!.created = [try machine.create(address, members, by: .daemon)]
        case .replace(let address, let members):
            let type = try machine.requireType("part")
            let store = try machine.requireStore(address).1
            let state = try machine.newState(of: type, replacing: members, in: nil)
            spent = try beside(machine) { () throws(RequestError) in
                try machine.payForViews(of: state, in: store, of: type)
            }
            machine.plan.clear()
            details = CommitDetails()
            details!.replaced = [(store, state)]
        }
        return (spent, beside(machine) { machine.commit(details) })
    }

    /// The operations that something takes besides applying.
    private static func beside<Failure: Error>(
        _ machine: StateMachine, _ body: () throws(Failure) -> Void
    ) throws(Failure) -> Int {
        let before = machine.operationsBeside
        try body()
        return machine.operationsBeside - before
    }

    private static func request(_ generator: inout SeededGenerator, among machine: StateMachine) -> Request {
        let names = (0..<8).map { "part/p\($0)" }.shuffled(using: &generator)
        let there = names.filter { machine.find($0) != nil }
        let free = names.filter { machine.find($0) == nil }
        func state() -> JSONObject {
            var state = JSONObject()
            for member in ["group", "on", "size", "list"] where generator.oneIn(2) {
                switch member {
                case "group": state[member] = generator.oneIn(2) ? "a" : "b"
                case "on": state[member] = .bool(generator.oneIn(2))
                case "size": state[member] = .int(Int.random(in: 0...8, using: &generator))
                default:
                    let count = Int.random(in: 0...7, using: &generator)
                    state[member] = .array(
                        (0..<count).map { _ in .int(Int.random(in: 0...8, using: &generator)) })
                }
            }
            return state
        }
        func action(_ target: (String, String)) -> JSON {
            if generator.oneIn(4) { return .object([target.0: .string(target.1), "action": "poke"]) }
            return .object([
                target.0: .string(target.1), "action": "put", "payload": .object(state()),
            ])
        }
        func creation(_ address: String) -> JSON {
            .object(["op": "create", "store": .string(address), "state": .object(state())])
        }
        guard there.count > 2 else { return .create(free[0], state()) }
        switch Int.random(in: 0..<8, using: &generator) {
        case 0 where !free.isEmpty: return .create(free[0], state())
        case 1: return .replace(there[0], state())
        case 2: return .actions([action(("type", "part"))])
        case 3:
            return .actions([
                action(("store", there[0])), action(("type", "part")), action(("store", there[1])),
            ])
        case 4 where free.count > 1:
            let drop = JSON.object(["op": "drop", "store": .string(there[1])])
            return .batch(
                steps: [
                    1, creation(free[0]), creation(free[1]), 2, drop, creation(there[1]),
                    .object(["op": "drop", "store": .string(free[1])]),
                ],
                actions: [
                    action(("store", there[1])), action(("store", free[0])), action(("store", there[0])),
                ])
        default: return .actions([action(("store", there[0]))])
        }
    }
}
