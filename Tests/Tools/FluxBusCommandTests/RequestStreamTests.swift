import BusJSON
import FluxBusCommand
import Synchronization
import TestServer
import Testing

#if canImport(Glibc)
    import Glibc
#endif

@Suite("Requests from standard input")
struct RequestStreamTests {
    /// Answers with a growing revision; `bad` actions are refused, and unacknowledged ones get no answer.
    private static func answer(_ line: String) -> [String] {
        guard let request = try? JSON(parsing: line) else {
            return [#"{"ok":false,"error":{"code":"parse_error","message":"No JSON."}}"#]
        }
        if request["action"] == "bad" { return [ScriptedBus.refusal(of: line, "unknown_action")] }
        if request["action"] == "denied" { return [ScriptedBus.refusal(of: line, "forbidden")] }
        if request["ack"] == false { return [] }
        return [ScriptedBus.reply(to: line)]
    }

    @Test func repliesComeInOrderAndLinesPassAsTheyAre() throws {
        let bus = try ScriptedBus { Self.answer($0) }
        let input = (1...2500).map { #"{"id":\#($0),"type":"c","action":"x"}"# }
        let run = try CommandRun(
            ["dispatch", "-"], bus: bus.address, input: input[..<1500].joined(separator: "\n") + "\n")
        #expect(run.status == .success)
        #expect(run.lines == (1...1500).map { #"{"id":\#($0),"ok":true}"# })
        #expect(bus.received.first == #"{"op":"dispatch","id":1,"type":"c","action":"x"}"#)
        #expect(bus.received.count == 1500)
        bus.stop()
    }

    @Test func manyRequestsAreOnTheirWayAtOnce() throws {
        // The bus answers nothing before it holds a whole window: less in flight would never end.
        let window = 1024
        let waiting = Mutex<[String]>([])
        let bus = try ScriptedBus { line in
            waiting.withLock { lines in
                lines.append(line)
                guard lines.count == window else { return [] }
                defer { lines.removeAll() }
                return lines.map { ScriptedBus.reply(to: $0) }
            }
        }
        let input = String(repeating: "{\"type\":\"c\",\"action\":\"x\"}\n", count: 2 * window)
        let run = try CommandRun(["dispatch", "-", "--timeout", "10s"], bus: bus.address, input: input)
        #expect(run.status == .success)
        #expect(run.lines.count == 2 * window)
        bus.stop()
    }

    @Test(arguments: [[], ["--no-ack"]])
    func notMoreThanAWindowIsUnanswered(_ options: [String]) throws {
        let bus = try ScriptedBus { _ in [] }
        let input = String(repeating: "{\"type\":\"c\",\"action\":\"x\"}\n", count: 2000)
        let run = try CommandRun(
            ["dispatch", "-", "--timeout", "20ms"] + options, bus: bus.address, input: input)
        #expect(run.status == .temporary)
        bus.stop()
        #expect(bus.received.count { ScriptedBus.op(of: $0) == "dispatch" } == 1024)
    }

    @Test func theWorstReplyDecides() throws {
        let bus = try ScriptedBus { Self.answer($0) }
        let input = """
            {"type":"c","action":"denied"}
            {"type":"c","action":"bad"}

            nonsense
            {"op":"ping"}
            """
        let run = try CommandRun(["dispatch", "-"], bus: bus.address, input: input)
        #expect(run.status == .forbidden)
        #expect(run.lines.count == 4)
        #expect(run.lines.last == #"{"ok":true}"#)
        #expect(
            bus.received == [
                #"{"op":"dispatch","type":"c","action":"denied"}"#,
                #"{"op":"dispatch","type":"c","action":"bad"}"#,
                "nonsense", #"{"op":"ping"}"#,
            ])
        bus.stop()
    }

    @Test func withoutAcknowledgementOnlyRefusalsArePrinted() throws {
        let bus = try ScriptedBus { Self.answer($0) }
        let lines = (1...1300).map {
            $0 == 700 ? #"{"type":"c","action":"bad"}"# : #"{"type":"c","action":"x"}"#
        }
        let run = try CommandRun(
            ["dispatch", "-", "--no-ack"], bus: bus.address, input: lines.joined(separator: "\n"))
        #expect(run.status == .refused)
        #expect(run.lines.count == 1)
        let dispatches = bus.received.filter { ScriptedBus.op(of: $0) == "dispatch" }
        #expect(dispatches.count == 1300)
        #expect(dispatches.allSatisfy { $0.contains(#""ack":false"#) })
        bus.stop()
    }

    @Test func acknowledgedAndUnacknowledgedRequestsMix() throws {
        let bus = try ScriptedBus { Self.answer($0) }
        let lines = (1...900).map { number in
            #"{"id":\#(number),"type":"c","action":"x","ack":\#(number % 3 == 0)}"#
        }
        let run = try CommandRun(["dispatch", "-"], bus: bus.address, input: lines.joined(separator: "\n"))
        #expect(run.status == .success)
        #expect(run.lines == (1...900).filter { $0 % 3 == 0 }.map { #"{"id":\#($0),"ok":true}"# })
        bus.stop()
    }

    /// Such as `head -2`, which leaves while whoever writes the requests is still there.
    @Test(arguments: [true, false])
    func whoHasReadAllRepliesMayLeaveBeforeTheInputEnds(isLast: Bool) throws {
        let bus = try ScriptedBus { Self.answer($0) }
        defer { bus.stop() }
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        let program = try RunningProgram(
            [RunningProgram.path(of: "fluxbus"), "dispatch", "-"],
            environment: ["FLUXBUS_ADDRESS": bus.address], hasInput: true,
            streams: [STDOUT_FILENO: .descriptor(ends[1])])
        close(ends[1])
        for _ in 1...2 { try program.send(#"{"op":"ping"}"#) }
        var (replies, byte) = (0, UInt8(0))
        while replies < 2, read(ends[0], &byte, 1) == 1 { if byte == UInt8(ascii: "\n") { replies += 1 } }
        close(ends[0])
        if !isLast { try program.send(#"{"op":"ping"}"#) }
        try program.endInput()
        let outcome = try program.wait()
        #expect(outcome.status == (isLast ? 0 : 69) && outcome.errors.contains("send the rest") != isLast)
    }

    @Test func noInputIsNoWork() throws {
        let bus = try ScriptedBus { Self.answer($0) }
        let run = try CommandRun(["dispatch", "-"], bus: bus.address, input: "\n\n")
        #expect(run.status == .success)
        #expect(run.output.isEmpty)
        #expect(bus.received.isEmpty)
        bus.stop()
    }

    @Test func aBusThatEndsMidwayIsAnErrorAfterTheRepliesThatCame() throws {
        let bus = try ScriptedBus { line in line.contains("\"last\"") ? nil : Self.answer(line) }
        let input = """
            {"id":1,"type":"c","action":"x"}
            {"id":2,"type":"c","action":"last"}
            """
        let run = try CommandRun(["dispatch", "-"], bus: bus.address, input: input)
        #expect(run.status == .unreachable)
        #expect(run.messages.contains(": 1 requests were not answered, and may have been committed or not"))
        #expect(run.lines == [#"{"id":1,"ok":true}"#])
        bus.stop()
    }

    @Test func aBusThatStopsAnsweringIsATimeOut() throws {
        let bus = try ScriptedBus { _ in [] }
        let run = try CommandRun(
            ["dispatch", "-", "--timeout", "20ms"], bus: bus.address, input: #"{"type":"c","action":"x"}"#)
        #expect(run.status == .temporary)
        #expect(run.messages.contains(": 1 requests were not answered, and may have been committed or not"))
        bus.stop()
    }

    /// Whoever repeats what may have been committed commits it twice.
    @Test(arguments: [
        (["dispatch", "c/a", "x"], "it may have been committed or not; look before you send it again."),
        (["dispatch", "c/a", "x", "--no-ack"], "it may have been committed or not; look before"),
        (["dispatch", "c/a", "x", "--key", "k"], "committed or not; send it again with the same key."),
        (["dispatch", "c/a", "x", "--dry-run"], "try a longer --timeout."),
        (["drop", "c/a"], "it may have been committed or not; look before you send it again."),
        (["get", "c/a"], "try a longer --timeout."),
    ])
    func requestThatIsNotAnsweredMayBeCommitted(_ command: [String], _ advice: String) throws {
        for answer in [[], nil] as [[String]?] {
            let bus = try ScriptedBus { $0.contains("hello") ? Self.answer($0) : answer }
            let run = try CommandRun(command + ["--timeout", "20ms"], bus: bus.address)
            #expect(run.status == (answer == nil ? .unreachable : .temporary))
            let mayRepeat = answer == nil && advice.contains("longer")
            #expect(mayRepeat || run.messages.contains(advice), "\(run.messages)")
            bus.stop()
        }
    }
}
