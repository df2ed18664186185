import BusEngine
import BusJSON
import BusMachine
import TestModes
import TestSupport
import Testing

/// Types go from version to version, and their stores with them: all or none, in one commit.
@Suite(.inBothModes) struct MigrationTests {
    private static let first = """
        type: light
        initial: { level: 0, name: none }
        computed: { isOn: { ">": [{ var: level }, 0] } }
        actions: { dim: { payload: { to: integer }, set: { level: { var: payload.to } } } }
        """
    private static let second = """
        type: light
        version: 2
        initial: { brightness: 0, name: none }
        computed: { isDark: { "==": [{ var: brightness }, 0] } }
        actions: { dim: { payload: { to: integer }, set: { brightness: { var: payload.to } } } }
        migrate:
          1: { set: { brightness: { "*": [{ var: state.level }, 10] } }, unset: [level] }
        """
    private static let third = """
        type: light
        version: 3
        initial: { brightness: 0, name: none, history: [] }
        migrate:
          2: { set: { history: [] }, append: { history: { var: state.brightness } } }
          1: { set: { brightness: { "*": [{ var: state.level }, 10] } }, unset: [level] }
        """

    private static let costly = """
        type: light
        version: 2
        initial: { brightness: 0 }
        migrate:
          1: { set: { brightness: "= size(lists.range(8000).filter(i, i > state.level))" }, unset: [level] }
        """

    private func bus(_ definition: String = first, _ count: Int = 3) throws -> (MemoryBus, MemoryClient) {
        let bus = try MemoryBus.logging { $0.definitions = [definition] }
        let client = bus.connect(uid: 0)
        for number in 0..<count {
            try client.revision(
                after: #"{"op":"create","store":"light/l\#(number)","state":{"level":\#(number)}}"#)
        }
        return (bus, client)
    }

    private let reload = #"{"op":"reload"}"#

    @Test func theReplyToAReloadSaysWhatWasMigrated() throws {
        let (bus, client) = try bus()
        bus.definitions = [Self.third]
        let migrated: JSON = [["type": "light", "from": 1, "to": 3, "stores": 3]]
        #expect(try client.reply(to: reload)["migrated"] == migrated)
        #expect(try client.reply(to: reload)["migrated"] == nil)
    }

    @Test func everyStoreIsMigratedInTheCommitThatBringsTheDefinition() throws {
        let (bus, client) = try bus()
        let watcher = bus.connect()
        var mirror = ContractMirror()
        try mirror.take(try watcher.ask(#"{"op":"subscribe","type":"light","cause":true}"#))
        let before = bus.engine.revision
        bus.definitions = [Self.third]
        let reply = try client.reply(to: reload)
        #expect(reply["revision"]?.int == before + 1)
        #expect(reply["migrated"] == [["type": "light", "from": 1, "to": 3, "stores": 3]])
        let events = try watcher.all()
        #expect(events.count { $0["event"] == "change" } == 1)
        try mirror.take(events)
        for number in 0..<3 {
            let state: JSON = [
                "brightness": .int(number * 10), "name": "none", "history": [.int(number * 10)],
            ]
            #expect(try client.state(of: "light/l\(number)") == state)
            #expect(mirror.states["light/l\(number)"] == state)
        }
        #expect(try bus.isWhatTheLogSays())
        // And a bus that begins with the log has nothing more to do.
        let next = try bus.crash()
        #expect(next.engine.revision == before + 1)
        #expect(next.engine.stateDigest == bus.engine.stateDigest)
    }

    @Test func aDryRunShowsWhatAReloadThenDoes() throws {
        let (bus, client) = try bus()
        bus.definitions = [Self.second]
        let (revision, digest) = (bus.engine.revision, bus.engine.stateDigest)
        let shown = try client.reply(to: #"{"op":"reload","dryRun":true}"#)
        #expect(bus.engine.revision == revision)
        #expect(bus.engine.stateDigest == digest)
        #expect(shown["migrated"] == [["type": "light", "from": 1, "to": 2, "stores": 3]])
        #expect(shown["types"] == ["light"])
        #expect(shown["changed"] == 3)
        #expect(shown["more"] == nil)
        try client.revision(after: reload)
        let now = try client.reply(to: #"{"op":"get","type":"light"}"#)["states"]
        #expect(shown["states"] == now)
        #expect(try client.reply(to: #"{"op":"reload","dryRun":true}"#)["changed"] == 0)
        #expect(try bus.connect().code(of: #"{"op":"reload","dryRun":true}"#) == "forbidden")
    }

    /// A line holds only so many states; the rest is counted.
    @Test func aDryRunShowsNoMoreThanALineHolds() throws {
        let name = String(repeating: "n", count: 1000)
        let (bus, client) = try bus(Self.first, 200)
        for number in 0..<200 {
            try client.revision(
                after:
                    #"{"op":"create","store":"light/\#(name.prefix(90))\#(number)","state":{"name":"\#(name)"}}"#
            )
        }
        let daemon = try MemoryBus.logging {
            $0.log = bus.written?.copy()
            $0.definitions = [Self.first]
            $0.limits.daemon.line = 64 << 10
        }
        daemon.definitions = [Self.second]
        let shown = try daemon.connect(uid: 0).reply(to: #"{"op":"reload","dryRun":true}"#)
        #expect(shown["changed"] == 400)
        #expect(shown["more"] == true)
        let states = try #require(shown["states"]?.object)
        #expect((30..<300).contains(states.count))
    }

    @Test func oneStoreThatCannotBeMigratedRefusesAll() throws {
        let (bus, client) = try bus()
        try client.revision(after: #"{"op":"create","store":"light/odd","state":{"level":"high"}}"#)
        bus.definitions = [Self.second]
        let (revision, digest) = (bus.engine.revision, bus.engine.stateDigest)
        for line in [reload, #"{"op":"reload","dryRun":true}"#] {
            let error = try client.reply(to: line)["error"]
            #expect(error?["code"] == "rejected")
            let message = error?["message"]?.string ?? ""
            #expect(
                message.contains("light/odd: the step from version 1 to 2 fails: in set brightness"),
                "\(message)")
        }
        #expect(bus.engine.revision == revision)
        #expect(bus.engine.stateDigest == digest)
        #expect(try client.state(of: "light/l2") == ["level": 2, "name": "none", "isOn": true])
    }

    @Test(.aloneOnly(because: "A member goes by the definitions of the bus, whatever its files say."))
    func aLowerVersionIsRefusedBeforeAnythingChanges() throws {
        let (bus, client) = try bus(Self.second, 0)
        try client.revision(after: #"{"op":"create","store":"light/a"}"#)
        bus.definitions = [Self.first]
        let (revision, digest) = (bus.engine.revision, bus.engine.stateDigest)
        let message = try client.reply(to: reload)["error"]?["message"]?.string ?? ""
        #expect(
            message.contains("light has version 2 on the bus, and this definition is version 1"), "\(message)"
        )
        #expect((bus.engine.revision, bus.engine.stateDigest) == (revision, digest))
        // Also without a store, and at a start.
        try client.revision(after: #"{"op":"drop","store":"light/a"}"#)
        #expect(try client.code(of: reload) == "rejected")
        #expect(throws: Redefinition.Refusal.self) { try bus.crash() }
        bus.definitions = [Self.second]
        #expect(try bus.crash().engine.stateDigest == bus.engine.stateDigest)
    }

    @Test func anotherMeaningOfTheSameVersionFillsInOrNamesTheWay() throws {
        let (bus, client) = try bus()
        bus.definitions = [Self.first.replacing("name: none }", with: "name: none, room: hall }")]
        try client.revision(after: reload)
        #expect(try client.state(of: "light/l1")?["room"] == "hall")
        bus.definitions = [Self.first.replacing("name: none }", with: "title: none }")]
        let message = try client.reply(to: reload)["error"]?["message"]?.string ?? ""
        #expect(message.contains("light/l0: light has no member name"), "\(message)")
        #expect(message.contains("version: 2 and a step under migrate: 1"), "\(message)")
    }

    @Test(.aloneOnly(because: "A member goes by the definitions of the bus, whatever its files say."))
    func aTypeThatIsGoneIsRefusedAtAStartToo() throws {
        let (bus, client) = try bus()
        bus.definitions = []
        #expect(try client.code(of: reload) == "rejected")
        #expect(throws: Redefinition.Refusal.self) { try bus.crash() }
        bus.definitions = [Self.second]
        let next = try bus.crash()
        #expect(try next.connect().state(of: "light/l2")?["brightness"] == 20)
        #expect(try next.isWhatTheLogSays())
    }

    @Test func aStoreIsRevertedAcrossAMigration() throws {
        let (bus, client) = try bus()
        let then = try client.revision(
            after: #"{"op":"dispatch","store":"light/l1","action":"dim","payload":{"to":7}}"#)
        try client.revision(
            after: #"{"op":"dispatch","store":"light/l1","action":"dim","payload":{"to":9}}"#)
        bus.definitions = [Self.second]
        try client.revision(after: reload)
        let past = try client.reply(to: #"{"op":"get","store":"light/l1","revision":\#(then)}"#)
        #expect(past["states"]?["light/l1"] == ["level": 7, "name": "none", "isOn": true])
        try client.revision(after: #"{"op":"revert","store":"light/l1","revision":\#(then)}"#)
        #expect(
            try client.state(of: "light/l1") == ["brightness": 70, "name": "none", "isDark": false])
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func aStoreIsCreatedFromAStateOfAnEarlierVersion() throws {
        let (bus, client) = try bus(Self.second, 0)
        try client.revision(
            after: #"{"op":"create","store":"light/old","version":1,"state":{"level":4,"name":"x"}}"#)
        #expect(try client.state(of: "light/old")?["brightness"] == 40)
        for (line, code) in [
            (#"{"op":"create","store":"light/b","version":3,"state":{"brightness":1}}"#, "invalid_request"),
            (#"{"op":"create","store":"light/b","version":1}"#, "invalid_request"),
            (#"{"op":"create","store":"light/b","version":0,"state":{}}"#, "invalid_request"),
            (#"{"op":"create","store":"light/b","version":1,"state":{"name":"x"}}"#, "invalid_request"),
        ] {
            #expect(try client.code(of: line) == code, "\(line)")
        }
        #expect(try bus.isWhatTheLogSays())
    }

    @Test(arguments: [(10, true), (100, false)])
    func statesOfEarlierVersionsShareWhatOneCommitMaySpend(stores: Int, isAffordable: Bool) throws {
        let (bus, client) = try bus(Self.costly, 0)
        let creations = (0..<stores).map {
            #"{"op":"create","store":"light/l\#($0)","version":1,"state":{"level":0}}"#
        }
        let before = bus.engine.revision
        let reply = try client.reply(
            to: #"{"op":"dispatch","actions":[\#(creations.joined(separator: ","))]}"#)
        #expect(reply["ok"] == .bool(isAffordable), "\(reply)")
        #expect(bus.engine.revision == before + (isAffordable ? 1 : 0))
        if !isAffordable {
            #expect(reply["error"]?["message"]?.string?.contains("budget") == true, "\(reply)")
        }
        #expect(try bus.isWhatTheLogSays())
    }

    /// What a client asks for pays, also where it has the state from the past.
    @Test(arguments: [(2_000_000, true), (10_000, false)])
    func aRevertPaysForMigrations(operations: Int, isAffordable: Bool) throws {
        let bus = try MemoryBus.logging {
            $0.definitions = ["type: light\ninitial: { level: 0 }"]
            $0.limits.bus.commit = operations
        }
        let client = bus.connect(uid: 0)
        let revision = try client.revision(after: #"{"op":"create","store":"light/a"}"#)
        bus.definitions = [Self.costly]
        _ = try client.reply(to: reload)
        let reply = try client.reply(to: #"{"op":"revert","store":"light/a","revision":\#(revision)}"#)
        #expect(reply["ok"] == .bool(isAffordable), "\(reply)")
        #expect(isAffordable || reply["error"]?["message"]?.string?.contains("budget") == true, "\(reply)")
        #expect(try bus.isWhatTheLogSays())
    }

    /// A request that says another version is another request.
    @Test func aKeyStandsForTheVersionAsWell() throws {
        let (_, client) = try bus(Self.second, 0)
        func create(_ version: String) -> String {
            #"{"op":"create","store":"light/a","state":{"name":"x"},"ifMissing":true,"key":"k"\#(version)}"#
        }
        try client.revision(after: create(""))
        #expect(try client.reply(to: create(""))["duplicate"] == true)
        #expect(try client.code(of: create(#","version":2"#)) == "conflict")
    }

    @Test(.aloneOnly(because: "A member of a shared bus hands nothing over."))
    func aHandOverMigratesToo() throws {
        for hasLog in [true, false] {
            var setup = MemoryBus.Setup()
            setup.definitions = [Self.first]
            if hasLog { setup.log = MemoryLog() }
            let bus = try MemoryBus(setup)
            let client = bus.connect(uid: 0)
            try client.revision(after: #"{"op":"create","store":"light/a","state":{"level":5}}"#)
            var mirror = ContractMirror()
            try mirror.take(try client.ask(#"{"op":"subscribe","type":"light"}"#))
            try bus.restart(definitions: [Self.third])
            try mirror.take(try client.all())
            let state: JSON = ["brightness": 50, "history": [50], "name": "none"]
            #expect(try client.state(of: "light/a") == state)
            #expect(mirror.states["light/a"] == state)
        }
    }

    /// Nothing is migrated by a commit that did not reach the disk, and the next reload does it.
    @Test(.aloneOnly(because: "A member whose disk fails ends, and the bus goes on without it."))
    func aMigrationThatWasNotWrittenHasNotHappened()
        throws
    {
        let (bus, client) = try bus()
        bus.definitions = [Self.second]
        bus.disk = .fails
        client.send(reload)
        #expect(try client.codes() == ["unavailable"])
        #expect(try client.state(of: "light/l2") == ["level": 2, "name": "none", "isOn": true])
        bus.disk = .works
        try client.revision(after: reload)
        #expect(try client.state(of: "light/l2")?["brightness"] == 20)
        #expect(try bus.isWhatTheLogSays())
    }

    /// One commit over a hundred thousand stores: one revision, a mirror that stays exact, the same as its dry run.
    @Test func aHundredThousandStoresAreOneRevision() throws {
        let bus = try MemoryBus.logging {
            $0.definitions = [Self.first]
            $0.limits.daemon.outbox = 64 << 20
        }
        let client = bus.connect(uid: 0)
        let count = 100_000
        for number in 0..<count {
            client.send(#"{"op":"create","store":"light/l\#(number)","state":{"level":\#(number)}}"#)
            if number % 1000 == 999 { while client.nextLine() != nil {} }
        }
        let watcher = bus.connect()
        var mirror = ContractMirror()
        try mirror.take(try watcher.ask(#"{"op":"subscribe","type":"light"}"#))
        #expect(mirror.states.count == count)
        bus.definitions = [Self.second]
        let before = bus.engine.revision
        let shown = try client.reply(to: #"{"op":"reload","dryRun":true}"#)
        #expect(shown["changed"] == .int(count))
        // Long requests leave room for others.
        bus.advance(milliseconds: 60_000)
        #expect(shown["migrated"] == [["type": "light", "from": 1, "to": 2, "stores": .int(count)]])
        #expect(try client.revision(after: reload) == before + 1)
        try mirror.take(try watcher.all())
        #expect(mirror.states.count == count)
        for (address, state) in shown["states"]?.object?.members.map({ ($0.key, $0.value) }) ?? [] {
            #expect(mirror.states[address] == state)
        }
        for number in 0..<count {
            guard mirror.states["light/l\(number)"]?["brightness"]?.int == number * 10 else {
                Issue.record("light/l\(number) is \(String(describing: mirror.states["light/l\(number)"]))")
                break
            }
        }
        #expect(mirror.revision == before + 1)
        #expect(try bus.past(at: before + 1).stateDigest == bus.engine.stateDigest)
    }
}
