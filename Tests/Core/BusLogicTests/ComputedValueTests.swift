import BusJSON
import BusLogic
import BusProtocol
import BusState
import Testing

/// Computed values are worked out when what they read has changed, and only then.
struct ComputedValueTests {
    private static let yaml = """
        type: cart
        initial: { count: 2, price: 5, note: "", broken: 0 }
        computed:
          vat: { "/": [{ var: total }, 5] }
          total: { "*": [{ var: count }, { var: price }] }
          isFree: { "===": [{ var: total }, 0] }
          inverse: { "/": [1, { var: broken }] }
        actions:
          add: { increment: { count: 1 } }
          note: { payload: { text: string }, set: { note: { var: payload.text } } }
          setPrice: { payload: { price: any }, set: { price: { var: payload.price } } }
          fix: { payload: { by: number }, set: { broken: { var: payload.by } } }
        """

    @Test func theyArePartOfTheInitialState() throws {
        let bench = try StoreBench(Self.yaml)
        #expect(bench.state["total"] == 10)
        #expect(bench.state["vat"] == 2)
        #expect(bench.state["isFree"] == false)
        #expect(bench.state["inverse"] == .null)
    }

    @Test func theyFollowWhatTheyRead() throws {
        let bench = try StoreBench(Self.yaml)
        try bench.dispatch("add")
        #expect(bench.state["total"] == 15)
        #expect(bench.state["vat"] == 3)
        try bench.dispatch("fix", ["by": 4])
        #expect(bench.state["inverse"] == 0.25)
        try bench.dispatch("fix", ["by": 0.0])
        #expect(bench.state["inverse"] == .null)
    }

    @Test func whatReadsNothingThatWasWrittenIsNotWorkedOutAgain() throws {
        let bench = try StoreBench(Self.yaml)
        try bench.dispatch("note", ["text": "x"])
        // One read of the payload; no computed value.
        #expect(bench.spent.operations == 1)
        try bench.dispatch("add")
        // `total` costs three operations, then `isFree` two and `vat` two.
        #expect(bench.spent.operations == 7)
        // `total` is worked out and stays the same, so nothing that reads it is.
        bench.state["count"] = 0
        bench.state["total"] = 0
        bench.state["vat"] = 0
        bench.state["isFree"] = true
        let mark = bench.undoLog.count
        try bench.dispatch("setPrice", ["price": 9])
        #expect(bench.spent.operations == 1 + 3)
        #expect(bench.written(since: mark) == [["price"]])
    }

    @Test func unchangedResultsAreNotWritten() throws {
        let bench = try StoreBench(Self.yaml)
        try bench.dispatch("add")
        #expect(bench.written() == [["count"], ["total"], ["vat"]])
    }

    @Test func oneThatFailsIsNullAndRejectsNothing() throws {
        let bench = try StoreBench(Self.yaml)
        try bench.dispatch("setPrice", ["price": "cheap"])
        #expect(bench.state["total"] == .null)
        #expect(bench.state["vat"] == 0)
    }

    @Test func oneOverItsBudgetIsNull() throws {
        let long = "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"
        let yaml = """
            type: bomb
            initial: { seed: "" }
            computed:
              text: { reduce: [{ literal: \(long) }, { cat: [{ var: accumulator }, { var: accumulator }] }, { var: seed }] }
            actions:
              set: { payload: { seed: string }, set: { seed: { var: payload.seed } } }
            """
        let bench = try StoreBench(yaml, commit: Budget(operations: 1 << 30, bytes: 1 << 30))
        #expect(bench.state["text"] == "")
        try bench.dispatch("set", ["seed": "x"])
        #expect(bench.state == ["seed": "x", "text": .null])
        // What one store's action may spend is not what its computed values may: they depend on the state only.
        let tight = try StoreBench(yaml, store: Budget(operations: 1, bytes: 0), commit: .ofComputed)
        try tight.dispatch("set", ["seed": ""])
        #expect(tight.state["text"] == "")
        // But the commit as a whole is bounded.
        let commit = try StoreBench(yaml, commit: Budget(operations: 20, bytes: 1 << 20))
        #expect(
            try commit.rejection(of: "set", ["seed": "x"]).message.contains(
                "the commit's budget is used up at text"))
    }

    @Test func oneThatLooksAtEverythingFollowsEverything() throws {
        let bench = try StoreBench(
            """
            type: thing
            initial: { a: 1, name: a }
            computed:
              all: { var: "" }
              twice: { "*": [{ var: a }, 2] }
            actions:
              set: { payload: { a: integer }, set: { a: { var: payload.a } } }
              add: { payload: { key: string }, set: { "{payload.key}": 1 } }
            """)
        #expect(bench.state["all"] == ["a": 1, "name": "a", "twice": 2])
        try bench.dispatch("set", ["a": 2])
        #expect(bench.state["all"] == ["a": 2, "name": "a", "twice": 4])
        try bench.dispatch("add", ["key": "z"])
        #expect(bench.state["all"] == ["a": 2, "name": "a", "twice": 4, "z": 1])
        let fresh = try bench.type.state(["a": 2], from: .request)
        #expect(fresh["all"] == ["a": 2, "name": "a", "twice": 4])
    }

    @Test func computedPathsFollowEverything() throws {
        let bench = try StoreBench(
            """
            type: thing
            initial: { a: 1, b: 2, name: a, list: [10, 20], at: 0 }
            computed:
              chosen: { var: { var: name } }
              element: { val: [list, { var: at }] }
              lacks: { missing: [a, z] }
            actions:
              set: { payload: { key: string, to: any }, set: { "{payload.key}": { var: payload.to } } }
            """)
        try bench.dispatch("set", ["key": "a", "to": 7])
        #expect(bench.state["chosen"] == 7)
        try bench.dispatch("set", ["key": "name", "to": "b"])
        #expect(bench.state["chosen"] == 2)
        try bench.dispatch("set", ["key": "at", "to": 1])
        #expect(bench.state["element"] == 20)
        #expect(bench.state["lacks"] == ["z"])
        try bench.dispatch("set", ["key": "z", "to": 1])
        #expect(bench.state["lacks"] == [])
    }

    @Test func moreMembersThanBitsStayRight() throws {
        let names = (0..<100).map { "m\($0)" }
        let yaml = """
            type: wide
            initial: { \(names.map { "\($0): 0" }.joined(separator: ", ")) }
            computed: { \(names.map { "c\($0): { '+': [{ var: \($0) }, 1] }" }.joined(separator: ", ")) }
            actions:
              set: { payload: { key: string }, set: { "{payload.key}": 5 } }
            """
        let bench = try StoreBench(yaml)
        for name in names {
            try bench.dispatch("set", ["key": .string(name)])
            #expect(bench.state["c\(name)"] == 6)
        }
    }

    @Test func aCreatedStoreReplacesMembersOfInitial() throws {
        let type = try StoreBench(Self.yaml).type
        let state = try type.state(["count": 0, "total": 99], from: .request)
        #expect(state["count"] == 0)
        #expect(state["total"] == 0)
        #expect(state["isFree"] == true)
        let failure = #expect(throws: PayloadFailure.self) { try type.state(["cuont": 0], from: .request) }
        #expect(failure?.message == "cart has no member cuont; did you mean `count`?")
        // What `get` gives can be given back.
        #expect(try type.state(type.initial, from: .request) == type.initial)
    }
}
