import BusEngine
import BusJSON
import BusMachine
import TestModes
import TestSupport
import Testing

/// A member that an action took away stays away, whatever else happens to its store.
@Suite(.inBothModes) struct UnsetMemberTests {
    private static let form = """
        type: form
        initial: { name: none, hint: help, deep: { a: 1 } }
        actions:
          drop: { unset: [hint] }
          put: { payload: { text: string }, set: { hint: { var: payload.text } } }
        """
    private let reload = #"{"op":"reload"}"#

    /// `form/a` without its hint, `form/b` as it began; and the revision.
    private func bus(_ definition: String = form) throws -> (MemoryBus, MemoryClient, Int) {
        let bus = try MemoryBus.logging("form/a", "form/b") { $0.definitions = [definition] }
        let client = bus.connect(uid: 0)
        let revision = try client.revision(after: #"{"op":"dispatch","store":"form/a","action":"drop"}"#)
        return (bus, client, revision)
    }

    private static let without: JSON = ["name": "none", "deep": ["a": 1]]

    @Test func revertGivesTheStateBackAsItWas() throws {
        let (bus, client, revision) = try bus()
        try client.revision(
            after: #"{"op":"dispatch","store":"form/a","action":"put","payload":{"text":"x"}}"#)
        try client.revision(after: #"{"op":"revert","store":"form/a","revision":\#(revision)}"#)
        #expect(try client.state(of: "form/a") == Self.without)
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func aReloadFillsInOnlyWhatInitialGained() throws {
        let (bus, client, _) = try bus()
        let watcher = bus.connect()
        try watcher.reply(to: #"{"op":"subscribe","type":"form"}"#)
        bus.definitions = ["summary: A form.\n" + Self.form]
        try client.revision(after: reload)
        #expect(try client.state(of: "form/a") == Self.without)
        #expect(try watcher.all() == [])
        bus.definitions = [Self.form.replacing("name: none", with: "name: none, more: 5")]
        try client.revision(after: reload)
        #expect(try client.state(of: "form/a") == ["name": "none", "deep": ["a": 1], "more": 5])
        #expect(
            try client.state(of: "form/b") == ["name": "none", "hint": "help", "deep": ["a": 1], "more": 5])
        #expect(try bus.isWhatTheLogSays())
        #expect(try bus.crash().engine.stateDigest == bus.engine.stateDigest)
    }

    /// What a step takes away starts over as `initial` says; what an action took away before does not.
    @Test func aMigrationDoesNotBringBackWhatAnActionTookAway() throws {
        let (bus, client, revision) = try bus()
        bus.definitions = [
            "version: 2\nmigrate: { 1: { unset: [name] } }\n"
                + Self.form.replacing("name: none", with: "name: nobody, more: 5")
        ]
        try client.revision(after: reload)
        #expect(try client.state(of: "form/a") == ["name": "nobody", "deep": ["a": 1], "more": 5])
        #expect(
            try client.state(of: "form/b") == ["name": "nobody", "hint": "help", "deep": ["a": 1], "more": 5])
        try client.revision(
            after: #"{"op":"dispatch","store":"form/a","action":"put","payload":{"text":"x"}}"#)
        try client.revision(after: #"{"op":"revert","store":"form/a","revision":\#(revision)}"#)
        #expect(try client.state(of: "form/a") == ["name": "nobody", "deep": ["a": 1], "more": 5])
    }

    /// `state:` names the members that every state has: they are there from then on.
    @Test func whatEveryStateHasIsThere() throws {
        let (bus, client, revision) = try bus()
        bus.definitions = [
            Self.form.replacing("initial:", with: "state: { hint: string, name: string }\ninitial:")
                .replacing("drop: { unset: [hint] }", with: "drop: { unset: [deep] }")
        ]
        try client.revision(after: reload)
        let whole: JSON = ["name": "none", "hint": "help", "deep": ["a": 1]]
        #expect(try client.state(of: "form/a") == whole)
        let dropped = try client.revision(after: #"{"op":"dispatch","store":"form/a","action":"drop"}"#)
        try client.revision(after: #"{"op":"revert","store":"form/a","revision":\#(revision)}"#)
        #expect(try client.state(of: "form/a") == whole)
        try client.revision(after: #"{"op":"revert","store":"form/a","revision":\#(dropped)}"#)
        #expect(try client.state(of: "form/a") == ["name": "none", "hint": "help"])
    }
}
