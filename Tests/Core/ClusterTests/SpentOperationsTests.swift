import BusCluster
import BusJSON
import BusMachine
import Testing

/// Whatever an entry of a proposal has evaluated takes from what the proposal may spend, and so bounds the turn of all members.
@Suite struct SpentOperationsTests {
    private static let everything = "list.exists(x, list.exists(y, y == x + 1000 + n))"
    private static let list: JSON = .array((0..<80).map { .int($0) })

    private static func type(computed: Int) -> JSON {
        [
            "type": "form", "expressions": "cel", "initial": ["list": [], "n": 0],
            "computed": .object((0..<computed).map { ("c\($0)", .string(everything)) }),
            "actions": ["bump": ["increment": ["n": 1]]],
        ]
    }

    private static func view(_ name: String, values: Int) -> JSON {
        let values = JSON.object((0..<values).map { ("v\($0)", .string("count(\(everything))")) })
        return ["type": .string(name), "view": ["of": "form", "values": values]]
    }

    /// A bus with one store whose list is long.
    private func bus(_ rules: Int, computed: Int = 0, values: Int = 0) throws -> ReplicaBus {
        let bus = try ReplicaBus()
        bus.rules = rules
        var types: [JSON] = [ClusterTypes.counter, Self.type(computed: computed)]
        for name in ["one", "other"] where values > 0 { types.append(Self.view(name, values: values)) }
        let configure = ClusterEntry.Command.configure(Array((["types": .array(types)] as JSON).encoded.utf8))
        #expect(try bus.refusal(of: configure, by: #"{"daemon":true}"#) == nil)
        // A bus puts its views together in its first commit.
        #expect(try bus.ask(#"{"op":"create","store":"form/empty"}"#).code == "ok")
        #expect(try bus.ask(Self.creation("a", of: values > 1 ? 10 : 80)).code == "ok")
        return bus
    }

    private static func creation(_ name: String, of count: Int = 80) -> String {
        let list = JSON.array((0..<count).map { .int($0) })
        return #"{"op":"create","store":"form/\#(name)","state":{"list":\#(list.encoded)}}"#
    }

    private static func request(_ line: String) -> ClusterEntry {
        ClusterEntry(session: 1, by: Array(ReplicaBus.anna.utf8), .request(Array(line.utf8)))
    }

    /// By the rules of before all entries are carried out, by those of now only as many as may spend what a proposal may.
    private func expectBound(
        computed: Int = 0, values: Int = 0, isRefused: Bool = false, _ entries: [ClusterEntry],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        for rules in [5, 6] {
            let bus = try bus(rules, computed: computed, values: values)
            let restored = try ClusterDisk.restored(bus.replica.snapshot(), build: .usual, omitting: [])
            let applied = try bus.propose(entries)
            let count = applied.outcomes.count
            #expect(
                rules == 5 ? count == entries.count : 1..<entries.count ~= count, "\(rules): \(count)",
                sourceLocation: sourceLocation)
            for outcome in applied.outcomes where rules == 6 {
                if case .refused(let error) = outcome {
                    #expect(isRefused, "\(error.message)", sourceLocation: sourceLocation)
                }
            }
            // A member that comes from a copy has spent the same.
            let again = try bus.repeated(by: restored)
            #expect(again.spent == applied.spent, sourceLocation: sourceLocation)
            #expect(again.link == applied.link, sourceLocation: sourceLocation)
        }
    }

    @Test func creationsSpendWhatTheirComputedValuesTake() throws {
        try expectBound(computed: 1, (0..<20).map { Self.request(Self.creation("s\($0)")) })
    }

    @Test func commitsSpendWhatViewsEvaluateOfThem() throws {
        try expectBound(values: 1, (0..<20).map { Self.request(Self.creation("s\($0)")) })
        let bump = Self.request(#"{"op":"dispatch","store":"form/a","action":"bump"}"#)
        try expectBound(values: 1, Array(repeating: bump, count: 20))
    }

    @Test func commitsSpendWhatComputedValuesOfViewsTake() throws {
        let slow = "lists.range(400).all(i, lists.range(400).all(j, i + j >= -forms))"
        let view: JSON = [
            "type": "slow", "view": ["of": "form", "values": ["forms": "count()"]],
            "computed": ["c": .string(slow)], "expressions": "cel",
        ]
        for rules in [6, 7] {
            let bus = try ReplicaBus()
            bus.rules = rules
            let types: JSON = ["types": [ClusterTypes.counter, Self.type(computed: 0), view]]
            let configure = ClusterEntry.Command.configure(Array(types.encoded.utf8))
            #expect(try bus.refusal(of: configure, by: #"{"daemon":true}"#) == nil)
            #expect(try bus.ask(#"{"op":"create","store":"form/empty"}"#).code == "ok")
            let restored = try ClusterDisk.restored(bus.replica.snapshot(), build: .usual, omitting: [])
            let applied = try bus.propose(
                (0..<20).map { Self.request(#"{"op":"create","store":"form/s\#($0)"}"#) })
            let count = applied.outcomes.count
            #expect(rules == 6 ? count == 20 : 1..<20 ~= count, "\(rules): \(count)")
            let again = try bus.repeated(by: restored).spent
            #expect(again == applied.spent, "\(rules): \(again), \(applied.spent)")
        }
    }

    /// By the rules of before the bytes of several entries counted together, by those of now each entry counts alike.
    @Test func entriesOfEarlierRulesSpendWhatTheyDidThen() throws {
        let types: JSON = [
            "types": [
                ClusterTypes.counter,
                [
                    "type": "note", "expressions": "cel", "initial": ["text": ""],
                    "actions": ["write": ["payload": ["text": "string"], "set": ["text": "= payload.text"]]],
                ],
                [
                    "type": "short", "expressions": "cel",
                    "view": ["of": "note", "where": "double(text) > 0.0", "values": ["n": "count()"]],
                ],
            ]
        ]
        var spent: [[Int]] = []
        for rules in [6, 7] {
            let bus = try ReplicaBus()
            bus.rules = rules
            let configure = ClusterEntry.Command.configure(Array(types.encoded.utf8))
            #expect(try bus.refusal(of: configure, by: #"{"daemon":true}"#) == nil)
            #expect(try bus.ask(#"{"op":"create","store":"note/a"}"#).code == "ok")
            let entries = (0..<16).map { number in
                let text = String(repeating: number % 2 == 0 ? "1" : "2", count: 67)
                return Self.request(
                    #"{"op":"dispatch","store":"note/a","action":"write","payload":{"text":"\#(text)"}}"#)
            }
            // A bus puts its views together in its first commit.
            _ = try bus.propose([entries[1]])
            spent.append(try bus.propose(entries).spent)
        }
        #expect(Set(spent[1]).count == 1 && Set(spent[0]).count == 2, "\(spent)")
        let (before, now) = (spent[0].reduce(0, +), spent[1].reduce(0, +))
        // A part of an operation of each.
        #expect(1..<16 ~= before - now, "\(spent)")
    }

    @Test func refusedCreationsSpendWhatWasEvaluatedForThem() throws {
        try expectBound(
            values: 50, isRefused: true, (0..<20).map { Self.request(Self.creation("s\($0)")) })
    }

    @Test func revertsSpendWhatTheirComputedValuesTake() throws {
        let past: JSON = [
            "state": ["list": Self.list, "n": 0], "version": 1, "named": ["list", "n"], "namesAll": true,
        ]
        let line = Array(#"{"op":"revert","store":"form/a","revision":2}"#.utf8)
        let entry = ClusterEntry(
            session: 1, by: Array(ReplicaBus.anna.utf8), isOperator: true,
            .revert(line, past: Array(past.encoded.utf8)))
        try expectBound(computed: 1, Array(repeating: entry, count: 20))
    }

    @Test func timersSpendWhatTheirConditionsTake() throws {
        let later = Self.request(
            #"{"op":"dispatch","store":"form/a","action":"bump","in":100,"if":"!\#(Self.everything)"}"#)
        try expectBound(Array(repeating: later, count: 20))
    }

    /// A drop by value looks at all stores of its type, whether or not any is meant.
    @Test func dropsByValueLookAtNoMoreStoresThanACommitMayReach() throws {
        let drop = #"{"op":"drop","type":"counter","where":"false"}"#
        func drops(_ count: Int) -> String {
            let elements = Array(repeating: drop, count: count).joined(separator: ",")
            return #"{"op":"dispatch","actions":[\#(elements)]}"#
        }
        for rules in [7, 8] {
            let bus = try ReplicaBus()
            bus.rules = rules
            for index in 0..<1000 {
                #expect(try bus.ask(#"{"op":"create","store":"counter/s\#(index)"}"#).code == "ok")
            }
            #expect(try bus.ask(drops(1024)).code == (rules == 7 ? "ok" : "rejected"), "\(rules)")
            #expect(try bus.ask(drops(900)).code == "ok", "\(rules)")
        }
    }

    /// Asking it of each store would take time, and no operations.
    @Test func whatHoldsForNoStoreIsAskedOfNone() throws {
        let machine = try ReplicaBus().replica.machine
        let counter = try machine.requireType("counter")
        for (condition, count) in [("false", 0), ("1 == 2", 0), ("true", 5), ("count > 9", 5)] {
            let filter = try machine.filter(.string(condition))
            #expect(machine.members(of: counter, for: filter).count == count, "\(condition)")
        }
    }

    /// What is due before the entries is bounded by its operations, too.
    @Test func timersThatFireSpendWhatViewsEvaluateOfThem() throws {
        for rules in [5, 6] {
            let bus = try bus(rules, values: 1)
            let later = #"{"op":"dispatch","store":"form/a","action":"bump","in":1}"#
            for _ in 0..<20 { #expect(try bus.ask(later).code == "ok") }
            bus.clock += 2000
            _ = try bus.propose([])
            let count = try #require(bus.replica.machine.state(at: "form/a")?["n"]?.int)
            #expect(rules == 5 ? count == 20 : 1..<20 ~= count, "\(rules): \(count)")
        }
    }

    /// What one member evaluates for its own clients is no part of an entry.
    @Test func entriesSpendTheSameOnAllMembersWhateverEachDoesBeside() throws {
        let (bus, other) = (try bus(6, computed: 1), try bus(6, computed: 1))
        let entries = (0..<3).map { Self.request(Self.creation("s\($0)")) }
        let machine = bus.replica.machine
        _ = try machine.newState(
            of: try machine.requireType("form"), replacing: ["list": Self.list], in: nil)
        let spent = try bus.propose(entries).spent
        #expect(try other.propose(entries).spent == spent && spent.count == 3)
    }
}
