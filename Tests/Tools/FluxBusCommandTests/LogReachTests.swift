import BusJSON
import FluxBusCommand
import Testing

/// `fluxbus log` of a type whose past begins later than that of the bus, and by whom commits were made.
@Suite("The log of types with a shorter past")
struct LogReachTests {
    private static func gauge(_ log: String) -> String {
        "type: gauge\nlog: { \(log) }\ninitial: { n: 0 }\nactions: { add: { increment: { n: 1 } } }"
    }

    private func revisions(_ run: CommandRun) -> [Int] {
        run.lines.compactMap { (try? JSON(parsing: $0))?["revision"]?.int }
    }

    /// Has counted a gauge at revisions 2 to 4 and 6 to 8, and knows it since revision 4.
    private func bus() throws -> (RememberingBus, since: Int) {
        let bus = try RememberingBus(definitions: [Self.gauge("commits: 3")], snapshots: [4])
        try bus.ask(#"{"op":"create","store":"gauge/a"}"#)
        let count = #"{"op":"dispatch","store":"gauge/a","action":"add"}"#
        for _ in 0..<3 { try bus.ask(count) }
        bus.definitions = [Self.gauge("commits: 4")]
        try bus.ask(#"{"op":"reload"}"#, uid: 0)
        for _ in 0..<3 { try bus.ask(count) }
        bus.thin(["gauge": 4])
        return (bus, 4)
    }

    @Test func theLogOfATypeIsShownAsFarAsItIsKept() throws {
        let (bus, since) = try bus()
        let all = Array(since + 1...8)
        let address = try bus.listen()
        for target in ["gauge", "gauge/a"] {
            func log(_ arguments: String...) throws -> CommandRun {
                let run = try CommandRun(["log", target] + arguments, bus: address)
                #expect(run.status == .success, "\(arguments): \(run.messages)")
                return run
            }
            let plain = try log()
            #expect(revisions(plain) == all && plain.messages.isEmpty)
            #expect(revisions(try log("--limit", "2")) == [7, 8])
            #expect(revisions(try log("--newest")) == all.reversed())
            let whole = try log("--since", "0")
            #expect(revisions(whole) == all && whole.messages.isEmpty)
            for arguments in [["--since", "2"], ["--since", "2", "-n", "9"]] {
                let run = try CommandRun(["log", target] + arguments, bus: address)
                #expect(revisions(run) == all, "\(arguments)")
                #expect(
                    run.messages
                        == "Commits up to revision \(since) are no longer kept; the log begins after it.\n")
            }
        }
        // Without any past there is nothing to show.
        bus.definitions = [Self.gauge("keep: none")]
        try bus.ask(#"{"op":"reload"}"#, uid: 0)
        #expect(try CommandRun(["log", "gauge"], bus: address).status == .no)
        bus.stop()
    }

    // MARK: - By whom

    @Test func theBusDecidesWhoseCommitsTheseAre() throws {
        let bus = try RememberingBus()
        try bus.ask(#"{"op":"create","store":"counter/a"}"#)
        try bus.ask(#"{"op":"hello","client":"panel","via":"192.0.2.7:1"}"#, uid: 7)
        try bus.ask(#"{"op":"dispatch","store":"counter/a","action":"increment"}"#, uid: 7)
        let by = try #require(try bus.commits().last?["by"]?.object)
        let address = try bus.listen()
        for name in ["uid", "client", "via", "comm", "user"] {
            guard let value = by[name] else { continue }
            let text = value.string ?? value.encoded
            let found = revisions(try CommandRun(["log", "--by", text], bus: address))
            #expect(found.contains(2), "\(name) \(text)")
        }
        #expect(by["client"] == "panel" && by["via"] == "192.0.2.7:1")
        #expect(try CommandRun(["log", "--by", "pane"], bus: address).lines.isEmpty)
        bus.stop()
    }

    /// Where the bus knew no name, this machine's number of the user does, and no other.
    @Test(
        arguments: [
            (["uid": 1001], true), (["uid": 5, "user": "ada"], true),
            (["uid": 5, "unit": "ada.service"], true),
            (["uid": 5, "pid": 1001], false), (["uid": 1001, "member": "b"], false),
        ] as [(JSON, Bool)])
    func theNumberOfAUserIsNoOthers(_ by: JSON, isTaken: Bool) {
        let users = UserNames(lookUp: { _ in nil }, lookUpNumber: { $0 == "ada" ? 1001 : nil })
        #expect(CommitFilter(by: "ada", users: users).takes(["by": by]) == isTaken)
    }
}
