import BusJSON
import Foundation
import Synchronization
import TestFiles
import TestServer
import Testing

/// `fluxbus lock`: commands run one at a time, and none longer than its lease lasts.
@Suite("A command while a lease is held", .timeLimit(.minutes(10)))
struct LockCommandTests {
    private func bus() throws -> AutomationBus { try AutomationBus(stores: []) }

    private func isFree(_ bus: AutomationBus) throws -> Bool {
        try bus.ask(["op": "stores", "match": "lease/*"])["stores"]?.array?.isEmpty == true
    }

    @Test func theStatusIsThatOfTheCommandAndTheLeaseIsGivenBack() throws {
        let bus = try bus()
        for (script, status) in [("exit 0", Int32(0)), ("exit 7", 7), ("kill -9 $$", 137)] {
            let told = try bus.run(
                "lock", "lease/boiler", "--", "sh", "-c",
                "fluxbus get lease/boiler --select /holder --raw; echo $FLUXBUS_STORE $FLUXBUS_REVISION; \(script)"
            )
            #expect(told.status == status && told.errors.isEmpty, "\(told.errors)")
            let lines = told.output.split(separator: "\n")
            try #require(lines.count == 2)
            #expect(lines[0].contains(" pid "))
            let commits =
                try bus.ask(["op": "history", "store": "lease/boiler", "since": 0])["commits"]?.array ?? []
            let created = commits.last { $0["created"] != nil }
            #expect(lines[1] == "lease/boiler \(created?["revision"]?.encoded ?? "?")")
            #expect(try isFree(bus))
        }
        let nothing = try bus.run("lock", "lease/boiler", "--", "no-such-command")
        #expect(try nothing.status == 127 && isFree(bus))
    }

    @Test func oneHolderExcludesTheOthers() throws {
        let bus = try bus()
        // `mkdir` fails while another holder has the directory.
        let holders = try (0..<6).map { _ in
            try bus.start(
                "lock", "lease/boiler", "--", "sh", "-c",
                "mkdir held || echo clash; fluxbus ping > /dev/null; rmdir held; echo $FLUXBUS_REVISION")
        }
        let outcomes = try holders.map { try $0.wait() }
        #expect(outcomes.allSatisfy { $0.status == 0 }, "\(outcomes)")
        let tokens = try outcomes.map { outcome in
            let lines = outcome.output.split(separator: "\n")
            return try #require(lines.count == 1 ? Int(lines[0]) : nil, "\(outcome)")
        }
        #expect(Set(tokens).count == 6)
        #expect(try isFree(bus))
    }

    @Test func whoDoesNotGetItInTimeEndsWithAStatusOfItsOwn() throws {
        let bus = try bus()
        try bus.ask(["op": "create", "store": "lease/boiler", "state": ["holder": "ada"]])
        for (words, status) in [
            (["--wait", "0"], Int32(75)), (["--wait", "100ms"], 75),
            (["--wait", "0", "--conflict-exit-code", "9"], 9),
        ] {
            let told = try bus.start(["lock", "lease/boiler"] + words + ["--", "echo", "mine"]).wait()
            #expect(told.status == status && told.output.isEmpty)
            #expect(told.errors.contains("its holder is ada."), "\(told.errors)")
        }
        // A command that waits gets the lease as soon as it is free.
        let waiting = try bus.start("lock", "lease/boiler", "--wait", "30s", "--", "echo", "mine")
        #expect(try bus.comesTrue("subscriptions"))
        try bus.ask(["op": "drop", "store": "lease/boiler"])
        #expect(try waiting.wait().output == "mine\n")
        // A command that waits can be ended.
        try bus.ask(["op": "create", "store": "lease/boiler", "state": ["holder": "ada"]])
        let ended = try bus.start("lock", "lease/boiler", "--", "echo", "mine")
        #expect(try bus.comesTrue("subscriptions"))
        #expect(try ended.end().status == 143)
    }

    /// A store without `ttl` would be waited for without end.
    @Test func whatIsNoLeaseIsNotWaitedFor() throws {
        let bus = try AutomationBus(stores: ["counter/a"])
        let told = try bus.run("lock", "counter/a", "--", "echo", "mine")
        #expect(told.status == 65 && told.output.isEmpty)
        #expect(told.errors.contains("counter/a is there and has no ttl"), "\(told.errors)")
        let short = try bus.run("lock", "lease/boiler", "--ttl", "1ms", "--", "echo", "mine")
        #expect(short.errors.hasSuffix("or null for a store that stays.\n"), "\(short.errors)")
    }

    @Test func aBusThatHangsIsNotWaitedForMuchLonger() throws {
        let bus = try bus()
        try bus.ask(["op": "create", "store": "lease/other", "state": ["holder": "ada"]])
        // One that hangs while the lease is waited for.
        let waiting = try bus.start("lock", "lease/other", "--wait", "5s", "--", "echo", "mine")
        #expect(try bus.comesTrue("subscriptions"))
        bus.pause()
        let (began, told) = (
            ContinuousClock.now, try bus.run("lock", "lease/boiler", "--wait", "0", "--", "echo", "mine")
        )
        #expect(told.status == 69 && told.output.isEmpty)
        #expect(told.errors.contains("the bus did not answer within 0"), "\(told.errors)")
        let later = try waiting.wait()
        #expect(later.status == 69 && later.errors.contains("the bus did not answer within 5s"), "\(later)")
        #expect(ContinuousClock.now - began < .seconds(25), "The limit of a request is 30 s.")
    }

    @Test func itIsRenewedForAsLongAsTheCommandRuns() throws {
        let bus = try bus()
        try bus.makeGate("gate")
        let renewals = try bus.start(
            "watch", "lease/boiler", "--actions", "--since", "0", "--epoch", epoch(bus))
        let lock = try bus.start(
            "lock", "lease/boiler", "--ttl", "3s", "--", "sh", "-c", "echo up; timeout 50 cat gate")
        #expect(lock.reads("up"))
        // Each renewal comes a third of the ttl after the one before; the first is made before the command runs.
        let times = try (0..<7).map { _ -> Double in
            let line = try #require(renewals.nextLine())
            return try #require(try JSON(parsing: line)["time"]?.double)
        }
        #expect(times[6] - times[0] > 4.6)
        #expect(try bus.run("lock", "lease/boiler", "--wait", "0", "--", "echo", "mine").status == 75)
        try bus.openGate("gate")
        #expect(try lock.wait().status == 0)
        #expect(try isFree(bus))
        renewals.kill()
    }

    /// The command may end while a renewal has not been answered.
    @Test func theLeaseIsGivenBackThoughARenewalIsOnItsWay() throws {
        let directory = TemporaryDirectory()
        let gate = "\(directory.path)/gate"
        try #require(mkfifo(gate, 0o600) == 0)
        let renewals = Mutex<[String]>([])
        let drops = Mutex(0)
        let bus = try ScriptedBus { line in
            let stores: JSON = [["store": "lease/a", "ttl": 3]]
            let reply = ScriptedBus.reply(to: line, ["revision": 5, "created": true, "stores": stores])
            let renewal: String? = renewals.withLock { renewals in
                if ScriptedBus.op(of: line) == "dispatch" { renewals.append(line) }
                return renewals.count == 2 ? renewals[1] : nil
            }
            switch (ScriptedBus.op(of: line), renewal) {
            case ("dispatch", _?):
                try? FileHandle(forWritingAtPath: gate)?.close()
                return []
            case ("drop", let renewal?):
                drops.withLock { $0 += 1 }
                return [ScriptedBus.reply(to: renewal), reply]
            default: return [reply]
            }
        }
        defer { bus.stop() }
        let lock = try RunningProgram.run(
            "fluxbus", ["--address", bus.address, "lock", "lease/a", "--ttl", "3s", "--", "cat", gate])
        #expect(lock.status == 0 && lock.errors.isEmpty, "\(lock)")
        #expect(drops.withLock { $0 } == 1)
    }

    private func epoch(_ bus: AutomationBus) throws -> String { try bus.bus.client().epoch() }

    @Test func aShortOutageOfTheBusDoesNotEndIt() throws {
        let bus = try bus()
        try bus.makeGate("gate")
        let lock = try bus.start(
            "lock", "lease/boiler", "--", "sh", "-c", "echo up; timeout 50 cat gate; echo done")
        #expect(lock.reads("up"))
        bus.kill()
        try bus.startAgain()
        #expect(lock.waitFor("Connection lost; trying again until the bus answers."))
        #expect(try bus.comesTrue("dispatched"))
        try bus.openGate("gate")
        let told = try lock.wait()
        #expect(told.status == 0 && told.output.hasSuffix("done\n"), "\(told.errors)")
        #expect(try isFree(bus))
    }

    /// Its messages go to a program that has ended.
    @Test func itIsHeldThoughNobodyReadsItsMessages() throws {
        let bus = try bus()
        try bus.makeGate("gate")
        let command = "sh -c 'echo up; timeout 50 cat gate; echo done'"
        let lock = try bus.start(
            script:
                "exec 3>&1; { fluxbus lock lease/boiler -- \(command) 2>&1 >&3; echo ended $? >&3; } | true")
        #expect(lock.reads("up"))
        bus.kill()
        try bus.startAgain()
        #expect(try bus.comesTrue("dispatched"))
        try bus.openGate("gate")
        #expect(try lock.wait().output.hasSuffix("done\nended 0\n"))
        #expect(try isFree(bus))
    }

    // MARK: Lost leases

    @Test func aLeaseThatIsTakenAwayEndsTheCommand() throws {
        let bus = try bus()
        let lock = try bus.start(
            "lock", "lease/boiler", "--ttl", "3s", "--", "sh", "-c",
            "trap 'echo bye; exit 0' TERM; echo up; sleep 50 & wait")
        #expect(lock.reads("up"))
        try bus.ask(["op": "drop", "store": "lease/boiler"])
        try bus.ask(["op": "create", "store": "lease/boiler", "state": ["holder": "ada"]])
        let told = try lock.wait()
        #expect(told.status == 69 && told.output.hasSuffix("bye\n"))
        #expect(
            told.errors
                == "fluxbus: lease/boiler was lost, and the command was ended: it has another holder.\n")
        // The other holder's lease is left alone.
        #expect(try !isFree(bus))
    }

    /// The daemon hangs. By the time it runs again and can give the lease to another, the command has ended.
    @Test func aLeaseThatCannotBeRenewedEndsTheCommandBeforeItsTimeIsOver() throws {
        let bus = try bus()
        let lock = try bus.start(
            "lock", "lease/boiler", "--ttl", "4500ms", "--", "sh", "-c",
            "trap 'echo asked' TERM; echo up; for i in $(seq 3000); do sleep 0.01; done")
        #expect(lock.reads("up"))
        let begin = ContinuousClock.now
        bus.pause()
        #expect(lock.reads("asked"))
        let asked = ContinuousClock.now
        let told = try lock.wait()
        let end = ContinuousClock.now
        bus.continueRunning()
        #expect(
            told.status == 69 && told.errors.contains("no bus answered for two thirds of its ttl"),
            "\(told.errors)")
        // The last renewal was up to a third of the ttl earlier, and a busy machine may notice late that a time is over.
        #expect(asked - begin >= .milliseconds(1490) && end - asked >= .milliseconds(400), "\(asked - begin)")
        #expect(end - begin < .seconds(12))
    }

    @Test func signalsArePassedOn() throws {
        let bus = try bus()
        let lock = try bus.start(
            "lock", "lease/boiler", "--", "sh", "-c",
            "trap 'kill $!; echo int; exit 5' INT; echo up; sleep 50 & wait")
        #expect(lock.reads("up"))
        lock.signal(SIGINT)
        let told = try lock.wait()
        #expect(told.status == 5 && told.output.hasSuffix("int\n"))
        #expect(try isFree(bus))
    }

    // MARK: Stores that are no leases

    @Test func whatATypeNeedsIsSaid() throws {
        let bus = try bus()
        let told = try bus.run("lock", "counter/a", "--", "echo", "mine")
        #expect(told.status == 65 && told.output.isEmpty)
        #expect(
            told.errors.contains(
                "A lease needs a type with a text `holder` in its state, and an action `renew`"))
        try bus.bus.directory.write(
            "types/forever.yaml",
            """
            type: forever
            initial: { holder: "" }
            actions:
              renew: { payload: { holder: string } }
            """)
        try bus.ask(["op": "reload"])
        let lasting = try bus.run("lock", "forever/a", "--", "echo", "mine")
        #expect(lasting.status == 65 && lasting.errors.contains("has no ttl"), "\(lasting.errors)")
        #expect(try bus.ask(["op": "stores", "match": "forever/*"])["stores"] == [])
        #expect(try bus.run("lock", "forever/a", "--ttl", "30s", "--", "echo", "mine").output == "mine\n")
    }
}
