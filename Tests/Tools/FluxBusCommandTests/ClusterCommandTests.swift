import BusJSON
import FluxBusCommand
import Testing

/// The members of a bus that several machines share, on the command line.
@Suite("Several machines on the command line") struct ClusterCommandTests {
    /// What runs take for now, in seconds since 1970.
    private static let now = 1_795_219_985.072
    private static let epoch = "7c1f6a52-9a43-4a7e-8c55-2f0d8e5b1a90"

    private static func standing(attached: Bool = true, since: Double = now - 60) -> JSONObject {
        var standing: JSONObject = [
            "bus": "home", "member": "kitchen", "attached": .bool(attached), "since": .double(since),
        ]
        if !attached { standing["reason"] = "No etcd answers." }
        return standing
    }

    private static func cluster(attached: Bool = true, since: Double = now - 60) -> JSON {
        var cluster = standing(attached: attached, since: since)
        cluster["epoch"] = .string(epoch)
        cluster["revision"] = 1234
        cluster["members"] = [
            [
                "name": "hall", "incarnation": 9, "place": 5600, "behind": 12, "clock": .double(now + 75),
                "agrees": false,
            ],
            [
                "name": "kitchen", "incarnation": 17, "stored": 5600, "place": 5678, "revision": 1234,
                "behind": 0, "clock": .double(now - 3), "agrees": true, "version": "0.9.0",
                "address": "tls:10.0.0.4:7412",
            ],
        ]
        return .object(cluster)
    }

    /// The time of day of so many seconds ago, in the zone of the machine, as `log` shows it.
    private static func time(_ seconds: Double) -> String {
        ClockText.second(milliseconds: Int((seconds * 1000).rounded()))
    }

    private func bus(_ cluster: JSON = cluster()) throws -> ScriptedBus {
        try ScriptedBus { [ScriptedBus.reply(to: $0, ["cluster": cluster])] }
    }

    /// A run on a terminal without colours.
    private func seen(_ arguments: [String], _ bus: ScriptedBus) throws -> CommandRun {
        try CommandRun(arguments + ["--color", "never"], bus: bus.address, terminal: true)
    }

    @Test func membersAreATable() throws {
        let bus = try bus()
        let run = try seen(["cluster"], bus)
        bus.stop()
        #expect(run.status == .success)
        #expect(run.messages.isEmpty)
        #expect(
            run.lines == [
                "bus home, kitchen attached since \(Self.time(Self.now - 60)), epoch \(Self.epoch), revision 1234",
                "MEMBER   WHICH  BEHIND  STORED  CLOCK     AGREES  VERSION  ADDRESS",
                "hall     other  12              1m ahead  no",
                "kitchen  this   0       5600    3s ago    yes     0.9.0    tls:10.0.0.4:7412",
            ])
        #expect(bus.received == [#"{"op":"cluster","id":1}"#])
    }

    @Test func aDetachedMemberSaysSinceWhenAndWhy() throws {
        let bus = try bus(Self.cluster(attached: false))
        let run = try seen(["cluster"], bus)
        bus.stop()
        #expect(
            run.lines.first
                == "bus home, kitchen detached since \(Self.time(Self.now - 60)) (No etcd answers), "
                + "epoch \(Self.epoch), revision 1234")
    }

    @Test func aSuspendedMemberSaysSinceWhenAndWhy() throws {
        var standing = Self.standing()
        standing["suspended"] = ["since": .double(Self.now - 30), "reason": "The log can't grow."]
        #expect(
            told(try pinged(Self.standing(), standing))
                == "suspended since \(Self.time(Self.now - 30)) (The log can't grow)")
    }

    @Test func whatIsWrongStandsOut() throws {
        let bus = try bus(Self.cluster(attached: false))
        let lines = try CommandRun(["cluster"], bus: bus.address, terminal: true).lines
        bus.stop()
        #expect(lines.first?.hasPrefix("\u{1b}[1;31mbus home, kitchen detached") == true)
        #expect(lines.filter { $0.contains("\u{1b}[1;31mno\u{1b}[0m") }.count == 1)
    }

    @Test func aPipeGetsTheClusterAsOneObject() throws {
        let bus = try bus()
        let piped = try CommandRun(["cluster"], bus: bus.address)
        #expect(piped.output == Self.cluster().encoded + "\n")
        for arguments in [["cluster", "--json"], ["--json", "cluster"]] {
            #expect(try CommandRun(arguments, bus: bus.address, terminal: true).output == piped.output)
        }
        bus.stop()
    }

    /// A bus of another version, or one that means harm, says less or something else.
    @Test(arguments: [
        #"{}"#, #"{"members":[]}"#, #"{"members":[{}]}"#, #"{"members":[7]}"#,
        #"{"since":1e300,"members":[{"clock":-1e300,"behind":1e300}]}"#,
        #"{"since":"now","members":[{"clock":"now","name":7,"agrees":"no"}]}"#,
    ])
    func whateverIsMissingIsLeftOut(_ text: String) throws {
        let bus = try bus(try JSON(parsing: text))
        let run = try seen(["cluster"], bus)
        bus.stop()
        #expect(run.status == .success)
        #expect(run.lines.first?.hasPrefix("bus ") == true)
        #expect(!run.output.contains("since"))
    }

    @Test func namesCanNotMoveTheCursor() throws {
        let bus = try bus(["bus": "\u{1b}[2J", "member": "m", "members": [["name": "\u{1b}[2J"]]])
        let run = try seen(["cluster"], bus)
        bus.stop()
        #expect(run.output.contains("bus \\u001b[2J, m"))
        #expect(!run.output.contains("\u{1b}[2J"))
    }

    @Test(arguments: [
        ["cluster", "leave"], ["--human", "cluster", "leave"], ["cluster", "--human", "leave"],
        ["cluster", "leave", "--human"],
    ])
    func leavingIsAskedForAndTold(_ arguments: [String]) throws {
        let bus = try ScriptedBus { [ScriptedBus.reply(to: $0)] }
        let run = try CommandRun(arguments, bus: bus.address, terminal: true)
        bus.stop()
        #expect(run.status == .success)
        #expect(run.output == "left the bus; the daemon stops\n")
        #expect(bus.received == [#"{"op":"cluster","id":1,"leave":true}"#])
    }

    @Test func leavingInAPipeGivesTheReply() throws {
        let bus = try ScriptedBus { [ScriptedBus.reply(to: $0)] }
        for arguments in [["cluster", "leave"], ["cluster", "--json", "leave"]] {
            #expect(try CommandRun(arguments, bus: bus.address).output == #"{"ok":true}"# + "\n")
        }
        bus.stop()
    }

    @Test(arguments: [["cluster", "leav"], ["cluster", "leave", "hall"], ["cluster", "hall"]])
    func aWrongWordIsWrongUsage(_ arguments: [String]) {
        #expect {
            try RootCommand.parseAsRoot(arguments)
        } throws: { error in
            RootCommand.exitCode(for: error).rawValue == 64
        }
    }

    /// The daemon's own words, from a real engine.
    @Test(arguments: [["cluster"], ["cluster", "leave"]])
    func aBusOfOneMachineSaysSo(_ arguments: [String]) throws {
        let bus = try RememberingBus()
        let run = try CommandRun(arguments, bus: try bus.listen(), terminal: true)
        bus.stop()
        #expect(run.status == .temporary)
        #expect(run.output.isEmpty)
        #expect(
            run.messages
                == "fluxbus: This bus is one machine's; name the etcd that it is shared by under cluster: of the "
                + "configuration.\n")
    }

    @Test func onlyWhoMayIsAnswered() throws {
        let bus = try ScriptedBus { [ScriptedBus.refusal(of: $0, "forbidden", "Only root may.")] }
        let run = try CommandRun(["cluster", "leave"], bus: bus.address)
        bus.stop()
        #expect(run.status == .forbidden)
        #expect(run.messages == "fluxbus: Only root may.\n")
    }

    // MARK: - ping

    /// Each operation is answered with what is said of it, `hello` and `ping` apart.
    private func pinged(
        _ hello: JSONObject?, _ ping: JSONObject?, terminal: Bool = true
    ) throws -> CommandRun {
        let bus = try ScriptedBus { line in
            let cluster = ScriptedBus.op(of: line) == "hello" ? hello : ping
            var reply: JSONObject = ["server": "fluxbusd", "epoch": .string(Self.epoch), "revision": 1234]
            reply["cluster"] = cluster.map(JSON.object)
            return [ScriptedBus.reply(to: line, reply)]
        }
        defer { bus.stop() }
        return terminal ? try seen(["ping"], bus) : try CommandRun(["ping"], bus: bus.address)
    }

    private func told(_ run: CommandRun) -> String? {
        run.lines.first { $0.hasPrefix("cluster") }?.dropFirst("cluster".count)
            .drop { $0 == " " }.description
    }

    @Test func pingSaysWhetherTheMemberIsAttached() throws {
        let attached = try pinged(Self.standing(), Self.standing())
        #expect(attached.status == .success)
        #expect(told(attached) == "attached to home as kitchen")
        let detached = try pinged(Self.standing(), Self.standing(attached: false))
        #expect(detached.status == .success)
        #expect(told(detached) == "detached since \(Self.time(Self.now - 60)) (No etcd answers)")
        // What it prints on any bus is there too.
        #expect(detached.output.contains("answered in") && detached.output.contains("1234"))
    }

    @Test func aDayAgoIsToldWithItsDate() throws {
        let since = Self.now - 86_400
        let date = ClockText.date(milliseconds: Int((since * 1000).rounded()))
        let run = try pinged(nil, Self.standing(attached: false, since: since))
        #expect(told(run) == "detached since \(date) \(Self.time(since)) (No etcd answers)")
        let almost = try pinged(nil, Self.standing(attached: false, since: since + 1))
        #expect(told(almost) == "detached since \(Self.time(since + 1)) (No etcd answers)")
    }

    @Test func aBusOfOneMachineIsPingedAsEver() throws {
        #expect(told(try pinged(nil, nil)) == nil)
        let piped = try pinged(nil, nil, terminal: false)
        #expect(try JSON(parsing: piped.output)["cluster"] == nil)
    }

    @Test func aPipeGetsWhatThePingSaid() throws {
        let run = try pinged(Self.standing(), Self.standing(attached: false), terminal: false)
        #expect(try JSON(parsing: run.output)["cluster"] == .object(Self.standing(attached: false)))
    }
}
