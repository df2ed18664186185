import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// Timers of stores that a batch creates, changes and drops: after each commit a store has those that its state asks for.
@Suite(.inBothModes) struct BatchTimerTests {
    /// `close` is the type's own and shuts a door that is open for ten minutes; `beat` is set by an action, and repeats.
    private static let door = """
        type: door
        initial: { open: false, fails: false, beats: 0, closes: 0 }
        timers:
          close: { for: '= fails ? "never" : "10m"', while: open, action: shut, payload: { byItself: true } }
        actions:
          open: { set: { open: true }, timers: { beat: { in: 2m, every: 3m, action: beat } } }
          shut:
            payload: { byItself: { type: boolean, default: false } }
            set: { open: false }
            increment: { closes: "= payload.byItself ? 1 : 0" }
            timers: { beat: null }
          fail: { set: { fails: true } }
          beat: { increment: { beats: 1 } }
          refuse: { require: [{ if: state.beats < 0, else: never }] }
        """

    private static func batch(_ elements: [String], more: String = "") -> String {
        #"{"op":"dispatch"\#(more),"actions":[\#(elements.joined(separator: ","))]}"#
    }

    private static func element(_ action: String, _ name: String) -> String {
        #"{"store":"door/\#(name)","action":"\#(action)"}"#
    }

    private static func create(_ name: String, isOpen: Bool = false) -> String {
        #"{"op":"create","store":"door/\#(name)","state":{"open":\#(isOpen)}}"#
    }

    private static func drop(_ name: String) -> String { #"{"op":"drop","store":"door/\#(name)"}"# }

    private func make(_ stores: String...) throws -> MemoryBus {
        var setup = MemoryBus.Setup()
        setup.definitions = [Self.door]
        setup.stores = stores
        setup.log = MemoryLog()
        return try MemoryBus(setup)
    }

    /// What a store that goes has been in between asks for nothing.
    @Test func storeThatGoesNeedsNoTimer() throws {
        let bus = try make("door/a")
        let client = bus.connect(uid: 0)
        let failing = [Self.element("fail", "a"), Self.element("open", "a")]
        #expect(try client.code(of: Self.batch(failing)) == "rejected")
        try client.revision(after: Self.batch(failing + [Self.drop("a")]))
        #expect(try client.timers() == [])
        #expect(try bus.isWhatTheLogSays())
    }

    /// Stores that come and go leave no holes among those of their type, which every dispatch to it would step over.
    @Test func storesThatComeAndGoLeaveNoHoles() throws {
        let bus = try make("door/a")
        let client = bus.connect(uid: 0)
        let line = Self.batch([Self.create("b", isOpen: true), Self.drop("b")])
        for _ in 0..<300 { client.queue(line) }
        bus.settle()
        #expect(try client.all().allSatisfy { $0["ok"] == true })
        let type = try #require(
            try bus.past(at: bus.engine.revision).liveTypes.first { $0.name == "door" })
        #expect(type.count == 1)
        #expect(type.members.count <= 128)
        try client.revision(after: Self.batch([Self.create("b"), Self.create("c")]))
        #expect(
            try client.reply(to: #"{"op":"dispatch","type":"door","action":"open"}"#)["changed"] == 3)
        #expect(try bus.isWhatTheLogSays())
    }

    // MARK: Against a model

    private struct Door: Equatable {
        var open = false
        var beats = 0
        var closes = 0
        /// When its timers are due, in milliseconds.
        var beat: Int?
        var close: Int?
    }

    /// What becomes of the doors by a batch at a time; nil where it is refused.
    private func model(
        _ elements: [(kind: String, name: String)], _ doors: [String: Door], at now: Int
    ) -> [String: Door]? {
        var after = doors
        // A store that is made anew has no timers of the one before.
        var made: Set<String> = []
        for (kind, name) in elements {
            switch kind {
            case "create", "createOpen":
                guard after[name] == nil else { return nil }
                after[name] = Door(open: kind == "createOpen")
                made.insert(name)
            case "drop": guard after.removeValue(forKey: name) != nil else { return nil }
            case "open", "shut":
                guard after[name] != nil else { return nil }
                after[name]!.open = kind == "open"
                after[name]!.beat = kind == "open" ? now + 120_000 : nil
            default: return nil
            }
        }
        for (name, door) in after {
            let wasOpen = !made.contains(name) && doors[name]?.open == true
            if door.open != wasOpen { after[name]!.close = door.open ? now + 600_000 : nil }
        }
        return after
    }

    /// Lets time pass for the doors.
    private func advance(_ doors: inout [String: Door], through now: Int) {
        for name in doors.keys {
            while let door = doors[name] {
                let (beat, close) = (door.beat ?? .max, door.close ?? .max)
                if min(beat, close) > now { break }
                // What repeats was set again behind the other, which comes first where both are due.
                if beat < close {
                    doors[name]!.beats += 1
                    doors[name]!.beat = beat + 180_000
                } else {
                    doors[name] = Door(beats: door.beats, closes: door.closes + 1)
                }
            }
        }
    }

    private func expect(
        _ doors: [String: Door], _ client: MemoryClient, _ note: Comment
    ) throws {
        let states = try client.reply(to: #"{"op":"get","type":"door"}"#)["states"]?.object ?? [:]
        #expect(Set(states.keys) == Set(doors.keys.map { "door/\($0)" }), note)
        for (name, door) in doors {
            let state = states["door/\(name)"]
            #expect(state?["open"] == .bool(door.open), note)
            #expect(state?["beats"] == .int(door.beats) && state?["closes"] == .int(door.closes), note)
        }
        var expected: Set<String> = []
        for (name, door) in doors {
            if let due = door.beat { expected.insert("door/\(name) beat \(due)") }
            if let due = door.close { expected.insert("door/\(name) close \(due)") }
        }
        let timers = try client.reply(to: #"{"op":"timers"}"#)["timers"]?.array ?? []
        let found = timers.map {
            "\($0["store"]?.string ?? "") \($0["timer"]?.string ?? "") \(Int(($0["due"]?.double ?? 0) * 1000))"
        }
        #expect(Set(found) == expected && found.count == expected.count, note)
    }

    /// Batches of all kinds, refused ones, dry runs, time that passes, and daemons that start over.
    @Test(arguments: Seeds.some(12 as UInt64))
    func everyStoreHasTheTimersOfItsState(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var bus = try make()
        var client = bus.connect(uid: 0)
        var doors: [String: Door] = [:]
        let kinds = ["create", "createOpen", "drop", "open", "shut"]
        for round in 0..<60 {
            var elements = (0..<Int.random(in: 1...5, using: &generator)).map { _ in
                (
                    kind: kinds.randomElement(using: &generator)!,
                    name: ["a", "b"].randomElement(using: &generator)!
                )
            }
            if Int.random(in: 0..<8, using: &generator) == 0 { elements.append(("refuse", "a")) }
            let isDryRun = Int.random(in: 0..<6, using: &generator) == 0
            let lines = elements.map { kind, name in
                switch kind {
                case "create", "createOpen": Self.create(name, isOpen: kind == "createOpen")
                case "drop": Self.drop(name)
                default: Self.element(kind, name)
                }
            }
            let note: Comment = "seed \(seed), round \(round): \(elements)"
            let reply = try client.reply(to: Self.batch(lines, more: isDryRun ? #","dryRun":true"# : ""))
            let after = model(elements, doors, at: bus.now)
            #expect((reply["ok"] == true) == (after != nil), note)
            if let after, !isDryRun { doors = after }
            try expect(doors, client, note)
            bus.advance(milliseconds: [0, 1000, 119_999, 120_000, 170_000].randomElement(using: &generator)!)
            advance(&doors, through: bus.now)
            try expect(doors, client, note)
            guard round % 15 == 14 else { continue }
            #expect(try bus.isWhatTheLogSays(), note)
            let digest = bus.engine.stateDigest
            if BusMode.current == .alone, round % 30 == 14 {
                try bus.restart()
            } else {
                bus = try bus.crash()
            }
            #expect(bus.engine.stateDigest == digest, note)
            client = bus.connect(uid: 0)
            advance(&doors, through: bus.now)
            try expect(doors, client, note)
        }
    }
}
