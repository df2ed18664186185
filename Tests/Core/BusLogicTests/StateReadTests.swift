import BusJSON
import BusLogic
import TestSupport
import Testing

/// What expressions read of the state: only commits that write that have them evaluated again.
struct StateReadTests {
    @Test(arguments: [
        ("has(state.x)", ["state", "x"]), ("has(state.x.y) && n > 1", ["state", "x", "n"]),
        ("state.?x.orValue(1) > 0", ["state", "x"]), ("state.?x.?y.hasValue()", ["state", "x"]),
        ("has(x.y)", ["x"]), ("[1].exists(e, has(state.x))", ["state", "x"]),
        ("has(state.x) && size(state) > 1", nil), ("size(state) > 1 && has(state.x)", nil),
        ("[state].exists(state2, has(state2.x))", nil), ("{'a': state}.a == 1", nil),
    ])
    func aMemberThatIsAskedForIsAllThatIsRead(_ text: String, _ names: [String]?) throws {
        let reads = try Expression.compile(condition: .string(text), name: "where").stateReads
        #expect(reads.everything == (names == nil))
        if let names { #expect(reads.names == names) }
    }

    /// A computed value that asks for a member follows it, whether it stands in `initial` or not.
    @Test(arguments: ["has(state.x)", "state.?x.hasValue()", "named"])
    func aValueFollowsTheMemberThatItAsksFor(_ text: String) throws {
        let bench = try StoreBench(
            """
            type: t
            initial: { n: 0 }
            let: { named: has(state.x) }
            computed: { known: "\(text)", other: n > 0 }
            actions:
              put: { payload: { k: string }, set: { "{payload.k}": null } }
              take: { payload: { k: string }, unset: ["{payload.k}"] }

            """)
        for (action, key, isKnown) in [
            ("put", "y", false), ("put", "x", true), ("put", "n", true), ("take", "y", true),
            ("take", "x", false),
        ] {
            try bench.dispatch(action, ["k": .string(key)])
            #expect(bench.state["known"] == .bool(isKnown), "\(action) \(key)")
        }
    }
}
