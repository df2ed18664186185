import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// What one user may have of what all share: half of what the others have left.
@Suite(.inBothModes) struct ShareTests {
    private func bus(_ stores: String..., change: (inout MemoryBus.Setup) -> Void = { _ in }) throws
        -> MemoryBus
    {
        var setup = MemoryBus.Setup()
        setup.definitions = [Self.bag]
        setup.stores = stores
        change(&setup)
        return try MemoryBus(setup)
    }

    private static let bag = """
        type: bag
        initial: { items: [] }
        actions:
          put: { payload: { items: array }, set: { items: { var: payload.items } } }
        """

    /// How often a user succeeds before it is refused; the reason names its share.
    private func count(_ most: Int = 200, _ ask: (Int) throws -> JSON?) throws -> Int {
        for number in 0..<most {
            guard let reply = try ask(number), reply["ok"] != true else { continue }
            #expect(reply["error"]?["code"] == "limit")
            #expect(reply["error"]?["message"]?.string?.contains("share") == true, "\(reply)")
            return number
        }
        return most
    }

    private func create(_ client: MemoryClient, _ prefix: String) throws -> Int {
        try count { try client.ask(#"{"op":"create","store":"counter/\#(prefix)\#($0)"}"#).last }
    }

    @Test(arguments: [(64, [32, 16, 8, 4, 2, 1, 1]), (1, [1, 0]), (2, [1, 1, 0]), (3, [1, 1, 1, 0])])
    func storesAreDividedAmongUsers(limit: Int, expected: [Int]) throws {
        let bus = try bus { $0.limits.bus.stores = limit }
        for (user, share) in expected.enumerated() {
            let client = bus.connect(uid: 1001 + user)
            if user == 0, share > 1 {
                // What one gives back, it may have again.
                #expect(try create(client, "first") == share)
                for number in 0..<share {
                    #expect(try client.code(of: #"{"op":"drop","store":"counter/first\#(number)"}"#) == nil)
                }
            }
            if share == 0 {
                #expect(try client.code(of: #"{"op":"create","store":"counter/none"}"#) == "limit")
            } else {
                #expect(try create(client, "u\(user)x") == share)
                // Another connection is the same user.
                let other = bus.connect(uid: 1001 + user)
                #expect(try other.code(of: #"{"op":"create","store":"counter/more"}"#) == "limit")
            }
        }
    }

    @Test func operatorsMayHaveAll() throws {
        for uid in [0, MemoryBus.ownUID] {
            let bus = try bus { $0.limits.bus.stores = 10 }
            let client = bus.connect(uid: uid)
            for number in 0..<10 {
                #expect(try client.code(of: #"{"op":"create","store":"counter/s\#(number)"}"#) == nil)
            }
        }
    }

    @Test func storesStillCountAfterASnapshotAndARestart() throws {
        let log = MemoryLog()
        func bus() throws -> MemoryBus {
            var setup = MemoryBus.Setup()
            setup.log = log
            setup.limits.bus.stores = 8
            return try MemoryBus(setup)
        }
        let before = try bus()
        #expect(try create(before.connect(uid: 1001), "a") == 4)
        before.settle()
        let after = try bus()
        #expect(try after.connect(uid: 1001).code(of: #"{"op":"create","store":"counter/z"}"#) == "limit")
        #expect(try create(after.connect(uid: 1002), "b") == 2)
    }

    @Test func timersAreDivided() throws {
        let bus = try bus("counter/a") { $0.limits.bus.timers = 32 }
        let ada = bus.connect(uid: 1001)
        func later(_ name: String) -> String {
            #"{"op":"dispatch","store":"counter/a","action":"increment","in":60,"timer":"\#(name)"}"#
        }
        #expect(try count { try ada.ask(later("t\($0)")).last } == 16)
        // One that takes another's place needs none of its own.
        #expect(try ada.code(of: later("t3")) == nil)
        // One that has gone makes room.
        #expect(try ada.code(of: #"{"op":"cancel","store":"counter/a","timer":"t5"}"#) == nil)
        #expect(try ada.code(of: later("t99")) == nil)
        // As soon as another has some, there is less to divide.
        #expect(try bus.connect(uid: 1002).code(of: later("mine")) == nil)
        #expect(try ada.code(of: #"{"op":"cancel","store":"counter/a","timer":"t6"}"#) == nil)
        #expect(try ada.code(of: later("t100")) == "limit")
    }

    @Test(
        .aloneOnly(
            because:
                "What actions do is the same on all members, and a user's share is what one of them gives."))
    func timersThatActionsSetCountForWhoDispatches() throws {
        let bus = try TimedBus.make {
            $0.limits.bus.timers = 4
            $0.stores = ["lamp/l0", "lamp/l1", "lamp/l2"]
        }
        let ada = bus.connect(uid: 1001)
        func switchOn(_ number: Int) -> String {
            #"{"op":"dispatch","store":"lamp/l\#(number)","action":"switchOn"}"#
        }
        #expect(try count(3) { try ada.ask(switchOn($0)).last } == 2)
        // Nothing of the refused one happened.
        #expect(try ada.state(of: "lamp/l2")?["on"] == false)
        #expect(try ada.timers() == ["lamp/l0 off", "lamp/l1 off"])
        #expect(try bus.connect(uid: 1002).code(of: switchOn(2)) == nil)
        // What is set anew takes no more.
        #expect(try ada.code(of: switchOn(0)) == nil)
    }

    /// A timer that sets itself again goes on, whatever others have taken since.
    @Test func whatRepeatsItselfGoesOn() throws {
        let bus = try TimedBus.make { $0.limits.bus.timers = 4 }
        let blink = #"{"op":"dispatch","store":"lamp/a","action":"blink"}"#
        let (ada, bob) = (bus.connect(uid: 1001), bus.connect(uid: 1002))
        #expect(try ada.code(of: blink) == nil)
        #expect(try bob.code(of: blink.replacing("lamp/a", with: "lamp/b")) == nil)
        let root = bus.connect(uid: 0)
        for name in ["x", "y"] {
            let later =
                #"{"op":"dispatch","store":"counter/a","action":"increment","in":900,"timer":"\#(name)"}"#
            #expect(try root.code(of: later) == nil)
        }
        for _ in 0..<5 { bus.advance(milliseconds: 1000) }
        #expect(try ada.state(of: "lamp/a")?["times"] == 6)
        #expect(try ada.state(of: "lamp/b")?["times"] == 6)
    }

    @Test func subscriptionsAreDividedByShape() throws {
        let bus = try bus { $0.limits.daemon.user.shapes = 3 }
        let client = bus.connect(uid: 1001)
        func subscribe(_ number: Int) -> String {
            #"{"op":"subscribe","store":"counter/s\#(number)","initial":false}"#
        }
        #expect(try count { try client.ask(subscribe($0)).last } == 3)
        // One that is there may be shared, and another user has a share of its own.
        #expect(try client.code(of: subscribe(0)) == nil)
        #expect(try bus.connect(uid: 1002).code(of: subscribe(9)) == nil)
        #expect(try client.code(of: subscribe(9)) == nil)
        // With the last subscription of a shape its place is free.
        for number in [1, 4] { client.send(#"{"op":"unsubscribe","sub":\#(number)}"#) }
        for sub in 1...3 { client.send(#"{"op":"unsubscribe","sub":\#(sub)}"#) }
        _ = try client.all()
        #expect(try client.code(of: subscribe(5)) == nil)
    }

    @Test func subscriptionsAreCountedForAllConnectionsOfAUser() throws {
        let bus = try bus { $0.limits.daemon.user.subscriptions = 4 }
        let subscribe = #"{"op":"subscribe","type":"counter","initial":false}"#
        let (one, two) = (bus.connect(uid: 1001), bus.connect(uid: 1001))
        for client in [one, two, one, two] { #expect(try client.code(of: subscribe) == nil) }
        #expect(try one.code(of: subscribe) == "limit")
        #expect(try bus.connect(uid: 1002).code(of: subscribe) == nil)
        two.close()
        #expect(try one.code(of: subscribe) == nil)
    }

    @Test func nobodyTakesAllPatternsThatBeginAlike() throws {
        let bus = try bus()
        func subscribe(_ number: Int) -> String {
            #"{"op":"subscribe","match":"counter/?*\#(number)","initial":false}"#
        }
        let ada = bus.connect(uid: 1001)
        #expect(try count(2000) { try ada.ask(subscribe($0)).last } == DaemonLimits.alikePatterns / 2)
        #expect(try bus.connect(uid: 1002).code(of: subscribe(100_000)) == nil)
    }

    @Test func nobodyTakesAllExpressionsOfAType() throws {
        let bus = try bus()
        func subscribe(_ number: Int) -> String {
            #"{"op":"subscribe","type":"counter","where":"count == \#(number)","initial":false}"#
        }
        let ada = (0..<5).map { _ in bus.connect(uid: 1001) }
        let made = try count(5000) { try ada[$0 / 1000].ask(subscribe($0)).last }
        #expect(made == DaemonLimits.alikeShapes / 2)
        #expect(try bus.connect(uid: 1002).code(of: subscribe(100_000)) == nil)
    }

    @Test func willsAreDivided() throws {
        let bus = try bus("bag/a") { $0.limits.daemon.memory = 4_000_000 }
        let text = String(repeating: "x", count: 10_000)
        let will =
            #"{"op":"will","actions":[{"store":"bag/a","action":"put","payload":{"items":["\#(text)"]}}]}"#
        let ada = try count { _ in try bus.connect(uid: 1001).ask(will).last }
        let bob = try count { _ in try bus.connect(uid: 1002).ask(will).last }
        #expect(ada > 4 && bob > 1 && bob <= ada / 2)
        // A smaller one in place of another is no more.
        let small = bus.connect(uid: 1003)
        #expect(try small.code(of: will) == nil)
        #expect(try small.code(of: #"{"op":"will","actions":[]}"#) == nil)
        #expect(try small.code(of: will) == nil)
    }

    @Test func connectionsAreRefusedBeforeTheyAreMade() throws {
        let bus = try bus { $0.limits.daemon.connections = 16 }
        var clients: [MemoryClient] = []
        for _ in 0..<8 {
            #expect(bus.engine.refusal(of: .unix(uid: 1001, pid: 1)) == nil)
            clients.append(bus.connect(uid: 1001))
        }
        #expect(bus.engine.refusal(of: .unix(uid: 1001, pid: 1))?.contains("share") == true)
        #expect(bus.engine.refusal(of: .unix(uid: 1002, pid: 1)) == nil)
        #expect(bus.engine.refusal(of: .unix(uid: 0, pid: 1)) == nil)
        clients[0].close()
        #expect(bus.engine.refusal(of: .unix(uid: 1001, pid: 1)) == nil)
    }

    @Test func tokensAreUsersToo() throws {
        let bus = try bus {
            $0.limits.daemon.connections = 8
            $0.tokens = ["phone-secret-phone": "phone", "lamp-secret-of-lamp": "lamp"]
        }
        func hello(_ token: String) throws -> JSON? {
            try bus.connect(.tcp(address: "192.0.2.7:1")).ask(#"{"op":"hello","token":"\#(token)"}"#).last
        }
        for _ in 0..<4 { #expect(try hello("phone-secret-phone")?["ok"] == true) }
        let goodbye = try hello("phone-secret-phone")
        #expect(goodbye?["event"] == "goodbye")
        #expect(goodbye?["code"] == "limit")
        bus.settle()
        #expect(try hello("lamp-secret-of-lamp")?["ok"] == true)
    }

    @Test(
        .aloneOnly(
            because: "How many wait on a shared bus is a limit of the bus; `EarlierRulesTests` try it."))
    func lingeringSessionsAreDivided() throws {
        let bus = try MemoryBus.logging("counter/a") { $0.limits.daemon.connections = 8 }
        func leave(_ number: Int, uid: Int) throws {
            let client = bus.connect(uid: uid)
            for line in [
                #"{"op":"hello","session":"s\#(number)","linger":60}"#,
                #"{"op":"create","store":"counter/n\#(number)","ephemeral":true}"#,
            ] { #expect(try client.code(of: line) == nil) }
            client.close()
        }
        for number in 0..<7 { try leave(number, uid: 1001) }
        // Who comes back makes room for another.
        let back = bus.connect(uid: 1001)
        #expect(try back.reply(to: #"{"op":"hello","session":"s0","linger":60}"#)["resumed"] == true)
        try leave(7, uid: 1001)
        try leave(8, uid: 1002)
        let reply = try bus.connect(uid: 0).reply(to: #"{"op":"get","type":"counter"}"#)
        #expect(
            reply["states"]?.object?.keys.sorted() == ["counter/a"]
                + [0, 1, 2, 3, 7, 8].map { "counter/n\($0)" })
    }

    /// Clients that do not read, or only slowly: together they hold no more than their user's share, and those that do not
    /// read at all are ended.
    @Test(
        .aloneOnly(
            because: "A bus with a log, as a shared one, tells actions later and ends nobody for them."),
        arguments: [("actions", true), ("actions", false), ("states", true), ("states", false)])
    func whoHoldsTooMuchUnreadOutputMayHoldLittle(kind: String, isStuck: Bool) throws {
        let bus = try bus("bag/a") {
            $0.limits.daemon.memory = 32 << 20
            $0.limits.daemon.outbox = 1 << 20
            $0.limits.daemon.user.outboxes = 4 << 20
        }
        let innocent = bus.connect(uid: 1002)
        let readers = (0..<20).map { _ in bus.connect(uid: 1001) }
        for (number, client) in readers.enumerated() {
            (client.isReading, client.isFullWhenNotReading) = (false, isStuck)
            // Each in its own way, or they would share the bytes.
            client.send(
                kind == "actions"
                    ? #"{"op":"subscribe","type":"bag","actions":true}"#
                    : #"{"op":"subscribe","type":"bag","select":["/items","/\#(number)"]}"#)
        }
        let text = String(repeating: "x", count: 100_000)
        for number in 0..<60 {
            #expect(
                try innocent.code(
                    of:
                        #"{"op":"dispatch","store":"bag/a","action":"put","payload":{"items":["\#(number)\#(text)"]}}"#
                ) == nil)
            bus.advance(milliseconds: 200)
            bus.engine.relieveMemory()
        }
        let waiting = readers.reduce(0) {
            $0 + ($1.isEnded ? 0 : bus.engine.waitingOutput(of: $1.connection))
        }
        // And what is under way when that is full.
        #expect(waiting < (4 << 20) + 20 * 110_000, "\(waiting)")
        let closing = readers.count {
            if case .closing = bus.engine.status(of: $0.connection) { true } else { false }
        }
        #expect((closing > 0) == (isStuck || kind == "actions"))
        #expect(try innocent.code(of: #"{"op":"ping"}"#) == nil)
    }

    @Test func statsShowWhatUsersHave() throws {
        let bus = try bus("counter/a")
        let ada = bus.connect(uid: 1001)
        for line in [
            #"{"op":"create","store":"counter/b"}"#,
            #"{"op":"subscribe","store":"counter/b","initial":false}"#,
            #"{"op":"dispatch","store":"counter/b","action":"increment","in":60,"timer":"t"}"#,
        ] { #expect(try ada.code(of: line) == nil) }
        let users = try bus.connect(uid: 0).reply(to: #"{"op":"stats"}"#)["stats"]?["users"]?.array ?? []
        let her = users.first { $0["uid"] == 1001 }
        for name in ["connections", "subscriptions", "shapes", "stores", "timers"] {
            #expect(her?[name] == 1, "\(name)")
        }
        #expect(her?["willBytes"] == 0)
        #expect((her?["work"]?.int ?? 0) > 0)
        #expect(users.contains { $0["uid"] == 0 })
    }
}
