import BusJSON
import TestModes
import TestSupport
import Testing

/// Commits whose writes are the same for every store are worked out once. Nobody may see that: each store is asked
/// whether it takes them, and all are taken back if one does not.
@Suite(.inBothModes) struct PlainCommitTests {
    private static let tally = """
        type: tally
        initial: { n: 0, flag: false, text: "" }
        actions:
          add: { payload: { by: integer }, increment: { n: { var: payload.by } }, toggle: [flag] }
          name: { payload: { text: any }, set: { text: { var: payload.text } } }
          blank: { unset: [text] }
        """

    private func bus() throws -> (MemoryBus, MemoryClient) {
        let bus = try MemoryBus.with("tally/a", "tally/b", "tally/c") { $0.definitions = [Self.tally] }
        return (bus, bus.connect(uid: 0))
    }

    private func states(_ client: MemoryClient) throws -> JSON? {
        try client.reply(to: #"{"op":"get","type":"tally"}"#)["states"]
    }

    @Test func refusalByOneStoreTakesBackWhatOthersWereWritten() throws {
        let (bus, client) = try bus()
        let watcher = bus.connect()
        try client.revision(
            after: """
                {"op":"dispatch","store":"tally/b","action":"add","payload":{"by":9223372036854775807}}
                """)
        try watcher.ask(#"{"op":"subscribe","type":"tally","initial":false}"#)
        let before = try states(client)
        let error = try client.reply(
            to: """
                {"op":"dispatch","actions":[\
                {"type":"tally","action":"name","payload":{"text":["a list that takes some room"]}},\
                {"store":"tally/a","action":"add","payload":{"by":3}},\
                {"type":"tally","action":"add","payload":{"by":1}}]}
                """)
        #expect(error["error"]?["code"] == "rejected")
        #expect(error["error"]?["index"] == 2)
        #expect(error["error"]?["store"] == "tally/b")
        #expect(error["error"]?["path"] == "n")
        #expect(try states(client) == before)
        #expect(try watcher.all().isEmpty)
        // What was taken back leaves no trace in the next commit.
        try client.revision(
            after: #"{"op":"dispatch","type":"tally","action":"name","payload":{"text":"t"}}"#)
        #expect(
            try watcher.next()?["changes"]
                == ["tally/a": ["text": "t"], "tally/b": ["text": "t"], "tally/c": ["text": "t"]])
    }

    /// Where a store has lost a member, the others don't decide for it.
    @Test func storesThatDifferAreLookedAtOneByOne() throws {
        let (bus, client) = try bus()
        try client.revision(after: #"{"op":"dispatch","store":"tally/b","action":"blank"}"#)
        try client.revision(
            after: #"{"op":"dispatch","type":"tally","action":"name","payload":{"text":{"x":[1]}}}"#)
        try client.revision(after: #"{"op":"dispatch","type":"tally","action":"add","payload":{"by":-7}}"#)
        let state: JSON = ["n": -7, "flag": true, "text": ["x": [1]]]
        #expect(try states(client) == ["tally/a": state, "tally/b": state, "tally/c": state])
        let error = try client.reply(
            to: """
                {"op":"dispatch","actions":[{"store":"tally/c","action":"blank"},{"type":"tally","action":"blank"}]}
                """)
        #expect(error["error"]?["store"] == "tally/c")
        #expect(try states(client)?["tally/a"] == state)
        _ = bus
    }

    /// One store outgrows the limit of a state; none keeps what it was given.
    @Test func aStateThatGrowsTooLargeRefusesForAll() throws {
        let bus = try MemoryBus.with("tally/a", "tally/b") {
            $0.definitions = [
                Self.tally
                    + "\n  more: { payload: { text: any, key: { type: string, default: more } }, set: { '{payload.key}': { var: payload.text } } }"
            ]
            $0.limits.bus.state = 100
        }
        let client = bus.connect()
        let text = String(repeating: "x", count: 50)
        try client.revision(
            after: #"{"op":"dispatch","store":"tally/b","action":"more","payload":{"text":"\#(text)"}}"#)
        let before = try states(client)
        let refused = try client.reply(
            to: #"{"op":"dispatch","type":"tally","action":"name","payload":{"text":"\#(text)"}}"#)
        #expect(refused["error"]?["code"] == "too_large")
        #expect(refused["error"]?["store"] == "tally/b")
        #expect(try states(client) == before)
        // Sizes were taken back as well: what fits before still fits, to the byte.
        try client.revision(
            after: #"{"op":"dispatch","type":"tally","action":"name","payload":{"text":"1234"}}"#)
    }

    /// A reload puts other writes in the place of those that were worked out.
    @Test func aReloadChangesWhatAnActionWrites() throws {
        let (bus, client) = try bus()
        try client.revision(after: #"{"op":"dispatch","type":"tally","action":"add","payload":{"by":1}}"#)
        bus.definitions = [
            """
            type: tally
            initial: { a: 0, b: 0, n: 0, flag: false, text: "" }
            actions:
              add: { payload: { by: integer }, set: { b: { var: payload.by } } }
              name: { payload: { text: any? }, increment: { a: 5 } }
            """
        ]
        try client.revision(after: #"{"op":"reload"}"#)
        try client.revision(after: #"{"op":"dispatch","type":"tally","action":"add","payload":{"by":4}}"#)
        try client.revision(
            after: #"{"op":"dispatch","type":"tally","action":"name","payload":{"text":"x"}}"#)
        #expect(
            try states(client)?["tally/c"] == ["a": 5, "b": 4, "n": 1, "flag": true, "text": ""])
    }
}
