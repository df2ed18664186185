import BusJSON
import TestModes
import TestSupport
import Testing

/// A type that names itself in `waitFor` reads its other stores as they were before the action, in whatever order they
/// come.
@Suite(.inBothModes) struct OwnTypeTests {
    private static let seat = """
        type: seat
        waitFor: [seat]
        initial: { next: "", here: 0, seen: 0 }
        actions:
          shift:
            set: { here: '= state.next == "" ? 0 : stores["seat/" + state.next].here', seen: "= stores[store].here" }
          link: { payload: { to: string, here: integer }, set: { next: = payload.to, here: = payload.here } }

        """
    private static let board = """
        type: board
        waitFor: [seat]
        initial: { seen: [] }
        actions: { shift: { append: { seen: '= stores["seat/a"].here' } } }

        """

    private func bus() throws -> (MemoryBus, MemoryClient) {
        let bus = try MemoryBus.logging("seat/a", "seat/b", "seat/c", "board/x") {
            $0.definitions = [Self.seat, Self.board]
        }
        return (bus, bus.connect(uid: 0))
    }

    private func here(_ client: MemoryClient) throws -> [Int?] {
        try ["a", "b", "c"].map { try client.state(of: "seat/\($0)")?["here"]?.int }
    }

    private func link(_ seat: String, _ next: String, _ here: Int, _ client: MemoryClient) throws {
        try client.revision(
            after:
                #"{"op":"dispatch","store":"seat/\#(seat)","action":"link","payload":{"to":"\#(next)","here":\#(here)}}"#
        )
    }

    @Test func storesOfATypeSeeEachOtherAsTheyWere() throws {
        let (bus, client) = try bus()
        try link("a", "b", 1, client)
        try link("b", "c", 2, client)
        try link("c", "a", 3, client)
        // All at once they change places; none is lost and none comes twice.
        for expected in [[2, 3, 1], [3, 1, 2], [1, 2, 3]] {
            try client.revision(after: #"{"op":"dispatch","type":"seat","action":"shift"}"#)
            #expect(try here(client) == expected)
        }
        #expect(try client.state(of: "seat/a")?["seen"] == 3)
        #expect(try bus.isWhatTheLogSays())
    }

    /// What waits for the type sees it as it is after the action, and the next action of a batch what the one before did.
    @Test func othersAndLaterActionsSeeWhatWasDone() throws {
        let (bus, client) = try bus()
        try link("a", "b", 1, client)
        try link("b", "a", 2, client)
        try client.revision(after: #"{"op":"dispatch","type":"*","action":"shift"}"#)
        #expect(try client.state(of: "board/x")?["seen"] == [2])
        try client.revision(
            after:
                #"{"op":"dispatch","actions":[{"store":"seat/a","action":"shift"},{"store":"seat/b","action":"shift"}]}"#
        )
        // First a takes what b has, 1; then b what a has by then.
        #expect(try here(client) == [1, 1, 0])
        #expect(try bus.isWhatTheLogSays())
    }

    /// So it is where access rules are asked about each store, too.
    @Test func laterActionsSeeWhatWasDoneUnderRules() throws {
        let bus = try MemoryBus.logging("seat/a", "seat/b", "seat/c") {
            $0.definitions = [Self.seat]
            $0.users = [1000: ("ada", [])]
            $0.access = """
                roles: { all: [{ user: ada }], admin: [{ user: root }] }
                rules:
                  - { role: admin, may: all }
                  - { role: all, may: [read, dispatch], match: seat/*, if: state.here >= 0 }
                """
        }
        let client = bus.connect()
        try link("a", "b", 1, client)
        try link("b", "a", 2, client)
        try client.revision(
            after:
                #"{"op":"dispatch","actions":[{"store":"seat/a","action":"shift"},{"store":"seat/b","action":"shift"}]}"#
        )
        // First a takes what b has, 2; then b what a has by then.
        #expect(try here(client) == [2, 2, 0])
        #expect(try bus.isWhatTheLogSays())
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func randomActionsComeToWhatAPlainModelSays(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let (bus, client) = try bus()
        let names = ["a", "b", "c"]
        var next = ["a": "", "b": "", "c": ""]
        var values = ["a": 0, "b": 0, "c": 0]
        for step in 1...40 {
            if generator.oneIn(2) {
                let (seat, other) = (
                    names.randomElement(using: &generator) ?? "a",
                    names.randomElement(using: &generator) ?? "a"
                )
                try link(seat, other, step, client)
                (next[seat], values[seat]) = (other, step)
            } else {
                let all = generator.oneIn(2)
                let seat = names.randomElement(using: &generator) ?? "a"
                let target = all ? #""type":"seat""# : #""store":"seat/\#(seat)""#
                try client.revision(after: #"{"op":"dispatch",\#(target),"action":"shift"}"#)
                let before = values
                for name in all ? names : [seat] { values[name] = next[name].flatMap { before[$0] } ?? 0 }
            }
            #expect(try here(client) == names.map { values[$0] }, "Seed \(seed), step \(step)")
        }
        #expect(try bus.isWhatTheLogSays())
    }
}
