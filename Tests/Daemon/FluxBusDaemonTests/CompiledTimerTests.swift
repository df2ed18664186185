import BusDefinitions
import BusEngine
import BusJSON
import BusLogic
import BusMachine
import BusProtocol
import BusSource
import Flux
import FluxBusDaemon
import TestModes
import TestSupport
import Testing

/// The timers of a type in code are those of a type in a file: set by commits, fired once at their time, in the log.
@Suite(.inBothModes) struct CompiledTimerTests {
    /// A lamp that switches itself off.
    struct Lantern: SharedState, Equatable {
        var isOn = false
        var reason: String?
        var times = 0

        enum Action: Codable, Sendable, Equatable {
            case switchOn(minutes: Double = 5)
            case switchOff(reason: String? = nil)
            case blink
            case stop
            case setMany(count: Int)
            case setWrongly(how: String)
            /// Not listed.
            case secret
        }
        static let actions = ActionList<Lantern>(.switchOn(), .switchOff(), .blink, .stop)
            .requiring { .setMany(count: $0) }.requiring { .setWrongly(how: $0) }
            .excluding(.secret)

        struct Mutations: Flux.Mutations {
            func commit(_ action: Lantern.Action, to state: inout Lantern) throws {
                switch action {
                case .switchOn: state.isOn = true
                case .switchOff(let reason):
                    (state.isOn, state.reason, state.times) = (false, reason, state.times + 1)
                case .blink: state.times += 1
                case .stop, .setMany, .setWrongly, .secret: break
                }
            }
        }

        struct Refusal: Error, CustomStringConvertible { let description = "the rule refuses it" }

        static let timers = TimerRule<Lantern> { action, lantern in
            switch action {
            case .switchOn(let minutes):
                return [.set("off", after: .seconds(minutes * 60), .switchOff(reason: "timer"))]
            case .switchOff: return [.cancel("off")]
            // The state is the one before the action.
            case .blink: return lantern.times < 5 ? [.set("blink", after: .seconds(1), .blink)] : []
            case .stop: return [.cancel("blink")]
            case .setMany(let count): return (0..<count).map { .set("t\($0)", after: .seconds(9), .blink) }
            case .setWrongly("name"): return [.set("no name", after: .seconds(1), .blink)]
            case .setWrongly("time"): return [.cancel("off"), .set("t", after: .seconds(-1), .blink)]
            case .setWrongly("action"): return [.set("t", after: .seconds(1), .secret)]
            case .setWrongly: throw Refusal()
            case .secret: return []
            }
        }
    }

    /// Its stores go after a minute without a dispatch.
    struct Guest: SharedState {
        var visits = 0
        enum Action: Codable, Sendable { case visit }
        static let actions = ActionList<Guest>(.visit)
        static let timeToLive: Duration? = .seconds(60)
        struct Mutations: Flux.Mutations {
            func commit(_ action: Guest.Action, to state: inout Guest) { state.visits += 1 }
        }
    }

    private func bus(
        isLogged: Bool = true, _ change: (inout MemoryBus.Setup) -> Void = { _ in }
    ) throws -> MemoryBus {
        var setup = MemoryBus.Setup()
        setup.natives = try FluxBusDaemon.compile([Lantern.self, Guest.self])
        setup.stores = ["lantern/a", "lantern/b"]
        if isLogged { setup.log = MemoryLog() }
        change(&setup)
        return try MemoryBus(setup)
    }

    private let switchOn = #"{"op":"dispatch","store":"lantern/a","action":"switchOn"}"#

    private func ask(_ client: MemoryClient, _ line: String) throws -> JSON {
        try #require(try client.ask(line).last)
    }

    private func state(_ bus: MemoryBus, _ store: String = "lantern/a") throws -> JSON? {
        try ask(bus.connect(), #"{"op":"get","match":"\#(store)"}"#)["states"]?[store]
    }

    private func timers(_ bus: MemoryBus) throws -> [JSON] {
        try ask(bus.connect(), #"{"op":"timers"}"#)["timers"]?.array ?? []
    }

    // MARK: As in a file

    @Test func timerFiresOnceAtItsTime() throws {
        let bus = try bus()
        let client = bus.connect(uid: 7)
        _ = try ask(client, switchOn)
        let timer = try #require(try timers(bus).first)
        #expect(timer["store"] == "lantern/a" && timer["timer"] == "off" && timer["action"] == "switchOff")
        #expect(timer["payload"] == ["reason": "timer"])
        #expect(timer["due"]?.double == Double(bus.now + 300_000) / 1000)
        #expect(timer["by"]?["uid"] == 7)
        bus.advance(milliseconds: 299_999)
        #expect(try state(bus)?["isOn"] == true)
        bus.advance(milliseconds: 1)
        #expect(try state(bus) == ["isOn": false, "reason": "timer", "times": 1])
        bus.advance(milliseconds: 900_000)
        #expect(try state(bus)?["times"] == 1)
        #expect(try timers(bus).isEmpty)
    }

    @Test func timerIsSetAnewAndTakenAway() throws {
        let bus = try bus()
        let client = bus.connect()
        _ = try ask(client, switchOn)
        bus.advance(milliseconds: 200_000)
        _ = try ask(client, switchOn)
        bus.advance(milliseconds: 299_999)
        #expect(try state(bus)?["isOn"] == true)
        _ = try ask(client, #"{"op":"dispatch","store":"lantern/a","action":"switchOff"}"#)
        #expect(try timers(bus).isEmpty)
        bus.advance(milliseconds: 900_000)
        #expect(try state(bus)?["times"] == 1)
    }

    @Test func globalDispatchSetsATimerOfEachStoreAndTheStateBeforeDecides() throws {
        let bus = try bus()
        _ = try ask(bus.connect(), #"{"op":"dispatch","type":"lantern","action":"blink"}"#)
        #expect(try timers(bus).count == 2)
        for _ in 0..<9 { bus.advance(milliseconds: 1000) }
        for store in ["lantern/a", "lantern/b"] { #expect(try state(bus, store)?["times"] == 6) }
        #expect(try timers(bus).isEmpty)
    }

    @Test func timerGoesWithItsStore() throws {
        let bus = try bus()
        let client = bus.connect()
        _ = try ask(client, #"{"op":"create","store":"lantern/c"}"#)
        _ = try ask(client, #"{"op":"dispatch","store":"lantern/c","action":"switchOn"}"#)
        #expect(try timers(bus).count == 1)
        _ = try ask(client, #"{"op":"drop","store":"lantern/c"}"#)
        #expect(try timers(bus).isEmpty)
    }

    @Test(arguments: [
        (
            "\"action\":\"setWrongly\",\"payload\":{\"how\":\"name\"}",
            "in the timer no name, its name must begin with"
        ),
        (
            "\"action\":\"setWrongly\",\"payload\":{\"how\":\"time\"}",
            "in the timer t, the time lies in the past."
        ),
        (
            "\"action\":\"setWrongly\",\"payload\":{\"how\":\"action\"}",
            "in the timer t, Lantern.actions does not list secret"
        ),
        ("\"action\":\"setWrongly\",\"payload\":{\"how\":\"rule\"}", "the rule refuses it."),
        ("\"action\":\"setMany\",\"payload\":{\"count\":65}", "it has 64 timers, which is the limit."),
        (
            "\"action\":\"switchOn\",\"payload\":{\"minutes\":1e9}",
            "in the timer off, the time lies more than ten years ahead."
        ),
    ]) func whatIsRefusedLeavesTimersAsTheyWere(request: String, reason: String) throws {
        let bus = try bus()
        let client = bus.connect()
        _ = try ask(client, switchOn)
        let digest = bus.engine.stateDigest
        let error = try ask(client, #"{"op":"dispatch","store":"lantern/a",\#(request)}"#)["error"]
        #expect(error?["code"] == "rejected")
        let message = try #require(error?["message"]?.string)
        #expect(message.hasPrefix("lantern/a refused ") && message.contains(reason), "\(message)")
        #expect(bus.engine.stateDigest == digest)
        // A batch is rolled back with all its timers, a dry run too.
        let batch =
            #"{"op":"dispatch","actions":[{"store":"lantern/a","action":"switchOff"},{"store":"lantern/a",\#(request)}]}"#
        #expect(try ask(client, batch)["error"]?["code"] == "rejected")
        _ = try ask(
            client, #"{"op":"dispatch","store":"lantern/a","action":"switchOff","dryRun":true}"#)
        #expect(bus.engine.stateDigest == digest)
    }

    @Test func timersSpendTheBudgetOfACommit() throws {
        let bus = try bus { $0.limits.bus.commit = 1000 }
        func reply(_ count: Int) throws -> JSON {
            try ask(
                bus.connect(),
                #"{"op":"dispatch","store":"lantern/a","action":"setMany","payload":{"count":\#(count)}}"#)
        }
        #expect(try reply(20)["ok"] == true)
        let message = try reply(60)["error"]?["message"]?.string
        #expect(
            message == "lantern/a refused setMany: the commit's budget is used up; do less in one dispatch.")
    }

    // MARK: History

    @Test func replayMakesTheSameTimersAtEveryRevision() throws {
        let bus = try bus()
        let client = bus.connect()
        var digests: [Int: String] = [:]
        for action in ["switchOn", "blink", "stop", "blink", "switchOff", "switchOn"] {
            _ = try ask(client, #"{"op":"dispatch","type":"lantern","action":"\#(action)"}"#)
            digests[bus.engine.revision] = bus.engine.stateDigest
            bus.advance(milliseconds: 1500)
            digests[bus.engine.revision] = bus.engine.stateDigest
        }
        for _ in 0..<7 {
            bus.advance(milliseconds: 60_000)
            digests[bus.engine.revision] = bus.engine.stateDigest
        }
        #expect(try state(bus)?["reason"] == "timer")
        #expect(digests.count >= 10)
        for (revision, digest) in digests {
            #expect(try bus.past(at: revision).stateDigest == digest, "revision \(revision)")
        }
    }

    @Test(arguments: [false, true]) func nextDaemonFiresWhatIsDue(isFromSnapshot: Bool) throws {
        let bus = try bus()
        let client = bus.connect()
        _ = try ask(client, switchOn)
        _ = try ask(client, #"{"op":"create","store":"guest/g"}"#)
        if isFromSnapshot { bus.written?.takeSnapshot(bus.engine.snapshot(), at: bus.engine.revision) }
        let next = try bus.crash()
        #expect(next.engine.stateDigest == bus.engine.stateDigest)
        #expect(try timers(next).count == 1)
        next.advance(milliseconds: 300_000)
        #expect(try state(next)?["times"] == 1)
        #expect(try state(next, "guest/g") == nil)
        // And what has fired does not fire again.
        let third = try next.crash()
        third.advance(milliseconds: 300_000)
        #expect(try state(third)?["times"] == 1)
    }

    @Test(.aloneOnly(because: "A member of a shared bus hands nothing over."), arguments: [false, true])
    func successorTakesTimersOver(isLogged: Bool) throws {
        let bus = try bus(isLogged: isLogged)
        _ = try ask(bus.connect(), switchOn)
        let digest = bus.engine.stateDigest
        try bus.restart()
        #expect(bus.engine.stateDigest == digest)
        bus.advance(milliseconds: 299_999)
        #expect(try state(bus)?["times"] == 0)
        bus.advance(milliseconds: 1)
        #expect(try state(bus)?["times"] == 1)
    }

    /// Another build, whose lanterns have a further member.
    enum Next {
        struct Lantern: SharedState {
            var isOn = false
            var cause = ""
            static let version = 2
            enum Action: Codable, Sendable { case switchOff(reason: String? = nil) }
            static let actions = ActionList<Lantern>(.switchOff())
            struct Mutations: Flux.Mutations {
                func commit(_ action: Lantern.Action, to state: inout Lantern) {
                    if case .switchOff(let reason) = action {
                        (state.isOn, state.cause) = (false, reason ?? "")
                    }
                }
            }
            static func migrate(_ state: JSON, from version: Int) throws -> JSON {
                ["isOn": state["isOn"] ?? false, "cause": "unknown"]
            }
        }
    }

    /// What the log says of an earlier build's rule is that there was one; its timers are in the snapshot.
    @Test(.aloneOnly(because: "Another build begins with a snapshot in the log of one machine."))
    func laterBuildTakesTimersOver() throws {
        let bus = try bus()
        _ = try ask(bus.connect(), switchOn)
        bus.written?.takeSnapshot(bus.engine.snapshot(), at: bus.engine.revision)
        let natives = try FluxBusDaemon.compile([Next.Lantern.self, Guest.self])
        let next = try bus.crash { $0.natives = natives }
        #expect(try state(next) == ["isOn": true, "cause": "unknown"])
        next.advance(milliseconds: 300_000)
        #expect(try state(next) == ["isOn": false, "cause": "timer"])
        let again = try next.crash()
        #expect(again.engine.stateDigest == next.engine.stateDigest)
    }

    // MARK: Leases and definitions

    @Test func storesOfATypeWithATimeToLiveGoWithoutADispatch() throws {
        let bus = try bus()
        let client = bus.connect()
        _ = try ask(client, #"{"op":"create","store":"guest/a"}"#)
        _ = try ask(client, #"{"op":"create","store":"guest/b","ttl":null}"#)
        bus.advance(milliseconds: 59_999)
        _ = try ask(client, #"{"op":"dispatch","store":"guest/a","action":"visit"}"#)
        bus.advance(milliseconds: 59_999)
        #expect(try state(bus, "guest/a")?["visits"] == 1)
        bus.advance(milliseconds: 1)
        #expect(try state(bus, "guest/a") == nil)
        #expect(try state(bus, "guest/b") != nil)
    }

    @Test func definitionsSayWhatIsKnownWithoutTheCode() throws {
        let client = try bus().connect()
        func definition(_ name: String) throws -> JSON? {
            try ask(client, #"{"op":"types","type":"\#(name)"}"#)["types"]?[0]
        }
        #expect(try definition("lantern")?["timers"] == .null)
        #expect(try definition("lantern")?["ttl"] == nil)
        #expect(try definition("guest")?["ttl"] == 60)
        #expect(try definition("guest")?.object?.keys.contains("timers") == false)
    }

    /// What `types` shows can be compiled, by whoever reads a log; a file can't say that its timers are in code.
    @Test(.aloneOnly(because: "It makes no bus."))
    func definitionsCanBeReadWithoutTheCode() throws {
        for type in try FluxBusDaemon.compile([Lantern.self, Guest.self]) {
            let declared = try DeclaredType(definition: type.definition)
            #expect(declared.timeToLive == type.timeToLive)
            #expect(declared.actionNames == type.actionNames)
        }
        let file = "type: t\ninitial: {}\ntimers: null\n"
        #expect(throws: SourceError.self) {
            try TypeCatalog([.init(name: "t.yaml", bytes: Array(file.utf8))])
        }
        #expect(throws: SourceError.self) {
            try DeclaredType(definition: ["type": "t", "initial": [:], "timers": 1])
        }
    }

    struct Mayfly: SharedState {
        enum Action: Codable, Sendable { case dance }
        static let actions = ActionList<Mayfly>(.dance)
        static let timeToLive: Duration? = .milliseconds(1)
        struct Mutations: Flux.Mutations {
            func commit(_ action: Mayfly.Action, to state: inout Mayfly) {}
        }
    }

    @Test(.aloneOnly(because: "It makes no bus."))
    func timeToLiveOutOfRangeRefusesTheStart() {
        #expect(throws: (any Error).self) { try FluxBusDaemon.compile([Mayfly.self]) }
        #expect(
            Mayfly.mistakes() == [
                "Mayfly.timeToLive is 0.001 seconds; let it be from 10 milliseconds to ten years."
            ])
    }

    /// One rule for both: what a process takes, a daemon takes, and the other way round.
    @Test(.aloneOnly(because: "It makes no bus."))
    func limitsAreTheSameInAProcessAndOnABus() {
        #expect(TimerLimits.timersOfStore == BusLimits().timersOfStore)
        #expect(TimerLimits.shortest == .milliseconds(DurationText.shortest))
        #expect(TimerLimits.longest == .milliseconds(DurationText.longest))
        #expect(TimerLimits.nameRule == Names.timerNameRule)
        for name in ["", "a", "9", "_", "a_:@-9", "ä", "a b", "a.b", "a\n", "@1"]
            + [63, 64, 65].map({ String(repeating: "x", count: $0) })
        {
            #expect(TimerLimits.isName(name) == Names.isTimerName(name), "\(name)")
        }
    }

    /// The same type in a process, without a bus.
    @Test(.aloneOnly(because: "It makes no bus."))
    func sameTypeSwitchesItselfOffInAProcess() {
        let time = ManualClock()
        let store = Store<Lantern>(state: Lantern(), clock: time.clock)
        store.dispatch(.switchOn())
        time.advance(by: .seconds(300))
        #expect(store.state == Lantern(isOn: false, reason: "timer", times: 1))
    }
}
