import BusEngine
import BusJSON
import BusMachine
import TestModes
import TestSupport
import Testing

/// What a reload leaves alone, and what it is refused for beside states that do not fit.
@Suite(.inBothModes) struct RedefinitionTests {
    private static let note = """
        type: note
        initial: { text: "" }
        actions: { write: { payload: { text: string }, set: { text: { var: payload.text } } } }
        """
    private let reload = #"{"op":"reload"}"#

    private func bus(_ change: (inout MemoryBus.Setup) -> Void = { _ in }) throws -> (MemoryBus, MemoryClient)
    {
        let bus = try MemoryBus.logging {
            $0.definitions = [Self.note]
            $0.stores = ["note/a", "note/b"]
            change(&$0)
        }
        return (bus, bus.connect(uid: 0))
    }

    /// The type with another member, of so many bytes, in every store.
    private func grown(by count: Int) -> String {
        let text = String(repeating: "x", count: count)
        return Self.note.replacing(#"{ text: "" }"#, with: #"{ text: "", more: \#(text) }"#)
    }

    /// Stores that a new definition leaves as they are do not change: nobody is notified, and no revision moves.
    @Test func storesThatStayTheSameAreNotWritten() throws {
        let (bus, client) = try bus()
        let watcher = bus.connect()
        try watcher.reply(to: #"{"op":"subscribe","type":"note"}"#)
        bus.definitions = ["version: 2\nmigrate: { 1: {} }\n" + Self.note]
        let shown = try client.reply(to: #"{"op":"reload","dryRun":true}"#)
        #expect(shown["changed"] == 0 && shown["states"] == [:])
        #expect(shown["migrated"] == [["type": "note", "from": 1, "to": 2, "stores": 2]])
        let revision = try client.revision(after: reload)
        #expect(try watcher.all() == [])
        let history = try client.reply(to: #"{"op":"history","since":\#(revision - 1)}"#)
        let commit = history["commits"]?[0]
        #expect(commit?["revision"]?.int == revision)
        #expect(commit?["definitions"]?.array?.count == 1 && commit?["states"] == nil, "\(commit ?? .null)")
        let stores = try client.reply(to: #"{"op":"stores","match":"note/*"}"#)["stores"]?.array
        #expect(stores?.allSatisfy { ($0["revision"]?.int ?? revision) < revision } == true)
    }

    /// Of a shared bus, it is the settings of the member that was asked.
    @Test func theReplySaysWhatTakesARestart() throws {
        let (bus, client) = try bus()
        #expect(try client.reply(to: reload)["restart"] == nil)
        bus.restart = ["listen", "log.sync"]
        #expect(try client.reply(to: #"{"op":"reload","dryRun":true}"#)["restart"] == ["listen", "log.sync"])
        #expect(try client.reply(to: reload)["restart"] == ["listen", "log.sync"])
        bus.restart = []
        #expect(try client.reply(to: reload)["restart"] == nil)
    }

    /// A revert to the state that a store has is a commit, and the store has not changed.
    @Test func aRevertToTheSameStateChangesNothing() throws {
        let (bus, client) = try bus()
        let then = try client.revision(after: write("x", to: "note/a"))
        let watcher = bus.connect()
        try watcher.reply(to: #"{"op":"subscribe","type":"note"}"#)
        try client.revision(after: #"{"op":"revert","store":"note/a","revision":\#(then)}"#)
        #expect(try watcher.all() == [])
        let stores = try client.reply(to: #"{"op":"stores","match":"note/a"}"#)["stores"]?.array
        #expect(stores?.first?["revision"]?.int == then)
        #expect(try bus.isWhatTheLogSays())
    }

    private func write(_ text: String, to store: String) -> String {
        #"{"op":"dispatch","store":"\#(store)","action":"write","payload":{"text":"\#(text)"}}"#
    }

    /// What a state of the past was made of may be more by the definition of now.
    @Test func statesThatWouldBeTooLongRefuseARevert() throws {
        let (bus, client) = try bus { $0.limits.bus.state = 1000 }
        let then = try client.revision(after: write(String(repeating: "x", count: 600), to: "note/a"))
        try client.revision(after: write("y", to: "note/a"))
        bus.definitions = [Self.note + "\ncomputed: { twice: { cat: [{ var: text }, { var: text }] } }"]
        try client.revision(after: reload)
        let error = try client.reply(to: #"{"op":"revert","store":"note/a","revision":\#(then)}"#)["error"]
        #expect(error?["code"] == "too_large" && error?["store"] == "note/a", "\(error ?? .null)")
        #expect(try client.state(of: "note/a") == ["text": "y", "twice": "yy"])
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func statesThatNeedTooMuchMemoryRefuseARevert() throws {
        let (bus, client) = try bus { $0.limits.daemon.memory = 300_000 }
        let long = String(repeating: "x", count: 200_000)
        let then = try client.revision(after: write(long, to: "note/a"))
        try client.revision(after: write("", to: "note/a"))
        try client.revision(after: write(long, to: "note/b"))
        let revert = #"{"op":"revert","store":"note/a","revision":\#(then)}"#
        #expect(try client.reply(to: revert)["error"]?["code"] == "limit")
        #expect(try client.state(of: "note/a") == ["text": ""])
        try client.revision(after: write("", to: "note/b"))
        try client.revision(after: revert)
        #expect(try client.state(of: "note/a")?["text"]?.string == long)
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func statesThatWouldBeTooLongRefuseAReload() throws {
        let (bus, client) = try bus { $0.limits.bus.state = 1000 }
        bus.definitions = [grown(by: 900)]
        try client.revision(after: reload)
        let digest = bus.engine.stateDigest
        bus.definitions = [
            grown(by: 900).replacing("x }", with: "x, last: \(String(repeating: "y", count: 99)) }")
        ]
        for line in [reload, #"{"op":"reload","dryRun":true}"#] {
            let message = try client.reply(to: line)["error"]?["message"]?.string ?? ""
            #expect(
                message.contains("note/a: the state would be longer than limits.state, 1000"), "\(message)")
        }
        #expect(bus.engine.stateDigest == digest)
    }

    /// All of them together, too: what each takes is well within its limit.
    @Test func statesThatNeedTooMuchMemoryRefuseAReload() throws {
        let (bus, client) = try bus {
            $0.stores += (0..<50).map { "note/n\($0)" }
            $0.limits.daemon.memory = 300_000
        }
        bus.definitions = [grown(by: 1000)]
        try client.revision(after: reload)
        let digest = bus.engine.stateDigest
        // A member that is there already keeps its value, so one is added.
        bus.definitions = [
            grown(by: 10_000).replacing("more:", with: "further:").replacing(
                #"text: "","#, with: #"text: "", more: "","#)
        ]
        let message = try client.reply(to: reload)["error"]?["message"]?.string ?? ""
        #expect(message.contains("more than limits.memory, 300000 bytes"), "\(message)")
        #expect(bus.engine.stateDigest == digest)
    }

    /// A type whose only stores are a connection's is as much in use as any.
    @Test func aTypeWithNothingButEphemeralStoresStays() throws {
        let (bus, client) = try bus { $0.stores = [] }
        let owner = bus.connect()
        try owner.revision(after: #"{"op":"create","store":"note/mine","ephemeral":true}"#)
        bus.definitions = []
        let message = try client.reply(to: reload)["error"]?["message"]?.string ?? ""
        #expect(message.contains("note is gone but has 1 store"), "\(message)")
        owner.close()
        try client.revision(after: reload)
        #expect(try bus.isWhatTheLogSays())
    }

    /// A start whose connections are gone takes no account of the stores that go with them; one that takes connections
    /// over does.
    @Test func aStartNeedsNoFitOfStoresThatAreGone() throws {
        let (bus, client) = try bus { $0.stores = [] }
        try client.revision(
            after: #"{"op":"create","store":"note/mine","ephemeral":true,"state":{"text":5}}"#)
        let stricter = Self.note.replacing("initial:", with: "state: { text: string }\ninitial:")
        for definitions in [[stricter], []] {
            let types = try SampleTypes.load(and: definitions)
            #expect(throws: Redefinition.Refusal.self) {
                try bus.engine.requireFit(types, isWithConnected: true)
            }
            #expect(throws: Never.self) { try bus.engine.requireFit(types, isWithConnected: false) }
        }
    }

    /// The order in which stores commit is that of the new definitions, at once.
    @Test func aReloadOrdersTypesAnew() throws {
        func definitions(_ first: String, _ second: String) -> [String] {
            [
                "type: \(first)\ninitial: { n: 0 }\nactions: { go: { increment: { n: 1 } } }",
                """
                type: \(second)
                waitFor: [\(first)]
                initial: { n: 0 }
                actions: { go: { set: { n: { "+": [{ var: stores.\(first)/s.n }, 10] } } } }
                """,
            ]
        }
        let (bus, client) = try bus {
            $0.definitions += definitions("alpha", "beta")
            $0.stores = ["alpha/s", "beta/s"]
        }
        let go = #"{"op":"dispatch","type":"*","action":"go"}"#
        try client.revision(after: go)
        #expect(try client.state(of: "beta/s") == ["n": 11])
        bus.definitions = [Self.note] + definitions("beta", "alpha")
        try client.revision(after: reload)
        try client.revision(after: go)
        #expect(try client.state(of: "beta/s") == ["n": 12])
        #expect(try client.state(of: "alpha/s") == ["n": 22])
        #expect(try bus.isWhatTheLogSays())
    }

    /// The daemon's own reload, by a signal, has no request that could be refused before.
    @Test(.aloneOnly(because: "A member whose disk fails ends, and the bus goes on without it."))
    func nothingIsReloadedWhileNothingCanBeCommitted()
        throws
    {
        let (bus, client) = try bus()
        bus.disk = .fails
        client.send(#"{"op":"dispatch","store":"note/a","action":"write","payload":{"text":"x"}}"#)
        #expect(try client.codes() == ["unavailable"])
        let (revision, digest) = (bus.engine.revision, bus.engine.stateDigest)
        let types = try SampleTypes.load(and: [grown(by: 10)])
        #expect(
            !bus.engine.finishReload(
                nil, .success(LoadedDefinitions(types: types, limits: bus.engine.limits))))
        #expect(try client.code(of: reload) == "unavailable")
        #expect((bus.engine.revision, bus.engine.stateDigest) == (revision, digest))
        bus.disk = .works
        #expect(
            bus.engine.finishReload(nil, .success(LoadedDefinitions(types: types, limits: bus.engine.limits)))
        )
        bus.settle()
        #expect(try client.state(of: "note/b")?["more"] != nil)
    }
}
