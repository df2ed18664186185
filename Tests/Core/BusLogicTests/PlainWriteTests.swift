import BusJSON
import BusLogic
import BusSource
import BusState
import BusYAML
import TestSupport
import Testing

/// Writes that the payload alone determines are worked out once for all stores. That must come to what the action
/// itself comes to: the same state, the same undo log, the same price, and a rejection where it has one.
struct PlainWriteTests {
    private static let yaml = """
        type: anything
        initial: { n: 0, flag: false, list: [], map: { x: 1, y: { z: [0, true] } }, text: "", more: {} }
        computed:
          doubled: { "*": [{ var: n }, 2] }
        actions:
          set: { payload: { value: any }, set: { text: { var: payload.value } } }
          setNew: { payload: { value: any }, set: { another: { var: payload.value } } }
          setDeep: { payload: { value: any }, set: { map.y.z.1: { var: payload.value }, map.x: 7 } }
          setParts: { payload: { value: any }, set: { text: { var: payload.value.a }, list: { var: payload.value } } }
          add: { payload: { value: any }, increment: { map.x: { var: payload.value } } }
          setWhole: { payload: { value: any }, set: { more: { var: payload } } }
          addText: { payload: { value: any }, increment: { text: { var: payload.value } } }
          addTwice: { payload: { value: any }, increment: { text: 1, map.x: { var: payload.value } } }
          toggle: { toggle: [flag] }
          toggleText: { payload: { value: any }, set: { flag: { var: payload.value } }, toggle: [flag] }
          unset: { unset: [more, another] }
          append: { payload: { value: any }, append: { list: { var: payload.value }, map.y.z: null } }
          remove: { payload: { value: any }, remove: { list: { var: payload.value } } }
          merge: { payload: { value: any }, merge: { more: { var: payload.value }, map: { literal: { x: 2 } } } }
          number: { payload: { value: any }, set: { n: { var: payload.value } } }
          keyed: { payload: { value: any }, set: { "map.{payload.value}": 1 } }
          counted: { set: { map.x: { "+": [{ var: state.map.x }, 1] } } }
          ring: {}
          reset: { set: { flag: false, list: [], map: { literal: { x: 1, y: { z: [0, true] } } }, text: "", more: {} } }
        """

    @Test(arguments: 0..<60 as Range<UInt64>)
    func plannedWritesComeToWhatTheActionComesTo(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let planning = try StoreBench(accepted: Self.yaml)
        let plain = try StoreBench(accepted: Self.yaml)
        plain.plansWrites = false
        for _ in 0..<60 {
            let action = try #require(planning.type.actionNames.randomElement(using: &generator))
            let takesValue = !["toggle", "unset", "counted", "ring", "reset"].contains(action)
            var payload: JSONObject = [:]
            if takesValue { payload["value"] = value(&generator) }
            var messages: [Rejection?] = []
            for bench in [planning, plain] {
                do throws(any Error) {
                    try bench.dispatch(action, payload)
                    messages.append(nil)
                } catch let rejection as Rejection {
                    messages.append(rejection)
                }
            }
            #expect(messages[0]?.message == messages[1]?.message)
            #expect(messages[0]?.path == messages[1]?.path)
            #expect(planning.state.encoded == plain.state.encoded)
            #expect(planning.written() == plain.written())
            if messages[0] == nil { #expect(planning.spent.operations == plain.spent.operations) }
        }
        #expect(planning.planned > 10)
        #expect(plain.planned == 0)
        // Back to the beginning.
        planning.undoLog.undo(to: 0, in: &planning.state)
        #expect(planning.state.encoded == planning.type.initial.encoded)
    }

    private func value(_ generator: inout SeededGenerator) -> JSON {
        if generator.oneIn(3) { return .int(Int.random(in: -3...3, using: &generator)) }
        if generator.oneIn(8) { return .int(generator.oneIn(2) ? .max : .min) }
        if generator.oneIn(8) { return .double(1.5) }
        return randomJSON(using: &generator, depth: 3)
    }

    /// Only what nothing else has a say in goes that way.
    @Test(arguments: [
        ("set", true), ("setNew", true), ("setDeep", true), ("setWhole", true), ("toggle", true),
        ("merge", true), ("ring", true),
        ("number", false), ("keyed", false), ("counted", false),
    ])
    func computedValuesAndTheStateDecideWhatIsPlanned(_ action: String, _ isPlanned: Bool) throws {
        let bench = try StoreBench(accepted: Self.yaml)
        try bench.dispatch(
            action,
            ["set", "setNew", "setDeep", "setWhole"].contains(action) ? ["value": 1] : payload(of: action))
        #expect(bench.planned == (isPlanned ? 1 : 0))
        if action == "number" { #expect(bench.state["doubled"] == 4) }
    }

    private func payload(of action: String) -> JSONObject {
        switch action {
        case "number": ["value": 2]
        case "keyed": ["value": "k"]
        case "merge": ["value": ["a": 1]]
        default: [:]
        }
    }

    /// The first of an action's writes is taken back when a later one does not work out.
    @Test func aWriteThatFailsTakesBackThoseBeforeIt() throws {
        let bench = try StoreBench(
            """
            type: two
            initial: { a: 1, b: text, list: [1] }
            actions:
              both: { increment: { a: 1, b: 1 }, append: { list: 2 } }
            """)
        let rejection = try bench.rejection(of: "both")
        #expect(rejection.path == "b")
        #expect(bench.planned == 0)
    }

    @Test func valuesThatNestTooDeeplyAreRefusedAsEver() throws {
        var value: JSON = 1
        for depth in 1...JSON.deepestState {
            value = [value]
            for (action, room) in [("set", 1), ("setDeep", 4), ("append", 2)] {
                let bench = try StoreBench(accepted: Self.yaml)
                let fits = depth + room <= JSON.deepestState
                if fits {
                    try bench.dispatch(action, ["value": value])
                } else {
                    #expect(try bench.rejection(of: action, ["value": value]).message.contains("too deeply"))
                }
                #expect(bench.planned == (fits ? 1 : 0))
            }
        }
    }

    /// What the payload brought is let go of, so that the next payload can take its place in memory.
    @Test func nothingOfThePayloadOutlivesTheAction() throws {
        let type = try DeclaredType(accepted: LocatedValue.read(Self.yaml, file: "test.yaml"))
        let index = try #require(type.actionNames.firstIndex(of: "set"))
        let plain = try #require(type.precomputedWrites(of: index))
        let payload: JSONObject = ["value": ["a", "list"]]
        #expect(withUnsafePointer(to: payload) { plain.take($0) })
        #expect(plain.writes[0].value == ["a", "list"])
        plain.letGo()
        #expect(plain.writes[0].value == .null)
    }

    /// A record's path outlives whoever made it: paths that a payload names, or that a merge finds, belong to nobody
    /// but the undo log.
    @Test func theJournalHoldsPathsThatNobodyElseDoes() throws {
        let undoLog = UndoLog()
        var state: JSONObject = ["map": ["a long key that is kept elsewhere": 1], "list": [1, 2]]
        let before = state
        try withUnsafeMutablePointer(to: &state) { pointer in
            var draft = Draft(pointer, size: before.encodedSize, undoLog: undoLog)
            for number in 0..<100 {
                let key = "a long key of its own, with the number \(number)"
                try draft.set(StatePath(["map", key]), to: .int(number))
                try draft.merge(StatePath(["map"]), .object([key + " merged": .int(number)]))
                try draft.set(StatePath(["list", "\(2 + number)"]), to: .string(key))
            }
            try draft.unset(StatePath(["list", "0"]))
            #expect(draft.size == pointer.pointee.encodedSize)
        }
        // Whatever was freed serves something else by now.
        let others = (0..<400).map { StatePath(["another long key in the same place \($0)"]) }
        #expect(undoLog.records[0].path == ["map", "a long key of its own, with the number 0"])
        #expect(undoLog.records[299].path == ["list"])
        #expect(undoLog.count == 301)
        undoLog.undo(to: 0, in: &state)
        #expect(state == before)
        #expect(others.count == 400)
    }
}
