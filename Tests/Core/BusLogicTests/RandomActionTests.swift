import BusJSON
import BusLogic
import BusState
import TestSupport
import Testing

/// Whatever actions run, accepted or rejected: what the undo log takes back is what was there before, to the
/// byte; the draft's size is the encoding's; and computed values are what a fresh state would have.
struct RandomActionTests {
    private static let yaml = """
        type: anything
        initial: { n: 0, flag: false, list: [], map: {}, text: "" }
        computed:
          doubled: { "*": [{ var: n }, 2] }
          quadrupled: { "+": [{ var: doubled }, { var: doubled }] }
          size: { reduce: [{ var: list }, { "+": [{ var: accumulator }, 1] }, 0] }
          first: { var: list.0 }
          everything: { cat: [{ var: "" }, { var: n }, { var: text }] }
        actions:
          set: { payload: { key: any, value: any }, set: { "map.{payload.key}": { var: payload.value } } }
          setElement: { payload: { key: any, value: any }, set: { "list.{payload.key}": { var: payload.value } } }
          setAny: { payload: { key: string, value: any }, set: { "{payload.key}": { var: payload.value } } }
          unset: { payload: { key: any, inner: any }, unset: ["map.{payload.key}.{payload.inner}", "map.{payload.key}"] }
          unsetElement: { payload: { key: any }, unset: ["list.{payload.key}"], append: { list: last } }
          add: { payload: { by: any }, increment: { n: { var: payload.by } }, toggle: [flag] }
          append: { payload: { value: any }, append: { list: { var: payload.value } }, set: { text: { cat: [{ var: payload.value }] } } }
          remove: { payload: { value: any }, remove: { list: { var: payload.value } } }
          merge: { payload: { value: any }, merge: { map: { var: payload.value }, list: { literal: { a: 1 } }, n: 5 } }
          mergeMap: { payload: { value: any }, merge: { map: { var: payload.value } } }
          late: { payload: { value: any }, set: { map: { var: payload.value }, text: x }, append: { list: 1 }, increment: { map.x: 1 } }
          reset: { set: { n: 0, flag: false, list: [], map: {}, text: "" } }
        """

    @Test(arguments: 0..<40 as Range<UInt64>)
    func everyStepCanBeTakenBack(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let bench = try StoreBench(Self.yaml)
        var states = [bench.state]
        var marks = [0]
        for _ in 0..<60 {
            let action = try #require(bench.type.actionNames.randomElement(using: &generator))
            let before = bench.state
            do {
                try bench.dispatch(action, payload(of: action, bench, &generator))
                states.append(bench.state)
                marks.append(bench.undoLog.count)
                check(bench)
            } catch is Rejection {
                #expect(bench.state == before)
            }
        }
        // Back to the beginning, step by step.
        for (state, mark) in zip(states, marks).reversed() {
            bench.undoLog.undo(to: mark, in: &bench.state)
            #expect(bench.state.encoded == state.encoded)
        }
        #expect(states.count > 10)
    }

    private func check(_ bench: StoreBench) {
        let fresh = try? bench.type.state(
            JSONObject(
                sorted: bench.state.members.filter { member in bench.type.initial[member.key] != nil }),
            from: .request)
        for name in ["doubled", "quadrupled", "size", "first"] where fresh != nil {
            #expect(bench.state[name] == fresh?[name])
        }
    }

    private func payload(
        of action: String, _ bench: StoreBench, _ generator: inout SeededGenerator
    ) -> JSONObject {
        func key() -> JSON {
            if generator.oneIn(6) { return randomJSON(using: &generator, depth: 1) }
            if generator.oneIn(2) { return .int(Int.random(in: -1...4, using: &generator)) }
            return .string(randomKey(using: &generator))
        }
        let value = randomJSON(using: &generator, depth: 3)
        switch action {
        case "set", "setElement": return ["key": key(), "value": value]
        case "setAny":
            let names = ["n", "flag", "list", "map", "text", "doubled", "new"]
            return ["key": .string(names.randomElement(using: &generator) ?? "n"), "value": value]
        case "unset": return ["key": key(), "inner": key()]
        case "unsetElement": return ["key": key()]
        case "add":
            return ["by": generator.oneIn(2) ? .int(randomInteger(using: &generator)) : value]
        case "reset": return [:]
        default: return ["value": value]
        }
    }
}
