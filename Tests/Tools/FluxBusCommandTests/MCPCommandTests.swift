import BusJSON
import Synchronization
import TestServer
import Testing

/// The bus for agents: what goes over standard input and output.
@Suite(.timeLimit(.minutes(10))) struct MCPCommandTests {
    /// An agent, by hand.
    private final class Agent {
        private let program: RunningProgram
        private var last = 0
        /// What came that answers nothing.
        private(set) var told: [JSON] = []

        init(_ address: String, timeout: String = "30s") throws {
            program = try RunningProgram(
                "fluxbus", ["--address", address, "--timeout", timeout, "mcp"], hasInput: true)
        }

        func send(_ line: String) throws { try program.send(line) }

        func next() throws -> JSON {
            let line = try #require(program.nextLine())
            return try JSON(parsing: Array(line.utf8))
        }

        /// The whole answer.
        func ask(_ method: String, _ params: String = "{}") throws -> JSON {
            last += 1
            try send(#"{"jsonrpc":"2.0","id":\#(last),"method":"\#(method)","params":\#(params)}"#)
            while true {
                let message = try next()
                if message["id"] == .int(last) { return message }
                told.append(message)
            }
        }

        func call(_ tool: String, _ arguments: String) throws -> JSON {
            try #require(
                try ask("tools/call", #"{"name":"\#(tool)","arguments":\#(arguments)}"#)["result"])
        }

        /// Waits until a resource is told to have changed.
        func changed() throws -> String? {
            while told.isEmpty { told.append(try next()) }
            return told.removeFirst()["params"]?["uri"]?.string
        }

        /// Closes its input, and waits for its end.
        func end() throws -> Int32 {
            try program.endInput()
            return try program.wait().status
        }
    }

    private func bus() throws -> LiveBus {
        var setup = LiveBus.Setup()
        (setup.stores, setup.hasLog) = (["counter/main", "counter/other"], true)
        return try LiveBus(setup)
    }

    private static let hello =
        #"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"tester","version":"1"}}"#

    @Test func anActionIsTriedAndThenCommitted() throws {
        let bus = try bus()
        let agent = try Agent(bus.address)
        let greeting = try agent.ask("initialize", Self.hello)["result"]
        #expect(greeting?["protocolVersion"] == "2025-06-18" && greeting?["serverInfo"]?["name"] == "fluxbus")
        try agent.send(#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        let tools = try agent.ask("tools/list")["result"]?["tools"]?.array ?? []
        let increment = try #require(tools.first { $0["name"] == "counter_increment" })
        #expect(
            increment["inputSchema"]?["properties"]?["payload"]?["properties"]?["by"]?["type"] == "integer")
        let arguments = #"{"store":"main","payload":{"by":3}}"#
        let trial = try agent.call("counter_increment", arguments)["structuredContent"]
        #expect(trial?["changes"]?["counter/main"]?["count"] == 3)
        #expect(
            try agent.call("find", #"{"type":"counter","where":"count > 0"}"#)["structuredContent"]?["states"]
                == [:])
        let done = try agent.call("counter_increment", arguments.dropLast() + #","confirm":true}"#)
        #expect(done["structuredContent"]?["changed"] == 1 && done["isError"] == nil)
        // Without a store every one is meant, and who did it is known.
        #expect(
            try agent.call("counter_increment", #"{"confirm":true}"#)["structuredContent"]?["matched"] == 2)
        let history = try agent.call("history", #"{"limit":1,"type":"counter"}"#)["structuredContent"]
        #expect(history?["commits"]?[0]?["by"]?["client"] == "tester")
        let blame = try agent.call("blame", #"{"store":"counter/main","path":"/count"}"#)["structuredContent"]
        #expect(blame?["values"]?[0]?["value"] == 4)
        #expect(try agent.end() == 0)
    }

    @Test func mistakesAreAnswered() throws {
        let bus = try bus()
        let agent = try Agent(bus.address)
        // What the bus refuses is for the agent to read.
        let refused = try agent.call("counter_increment", #"{"store":"none","confirm":true}"#)
        #expect(refused["isError"] == true)
        #expect(refused["content"]?[0]?["text"]?.string?.hasPrefix("unknown_store: ") == true)
        for (method, params, code) in [
            ("nothing", "{}", -32601), ("tools/call", #"{"name":"nothing"}"#, -32602),
            ("tools/call", #"{"name":"counter_increment","arguments":{"shop":"x"}}"#, -32602),
            // What names no store would be for all of them.
            ("tools/call", #"{"name":"counter_increment","arguments":{"store":5,"confirm":true}}"#, -32602),
            ("tools/call", #"{"name":"counter_increment","arguments":{"confirm":"yes"}}"#, -32602),
            ("tools/call", #"{"name":"counter_increment","arguments":[1]}"#, -32602),
            ("resources/read", #"{"uri":"file:///etc/passwd"}"#, -32602),
            ("resources/read", #"{"uri":"fluxbus://store/counter/none"}"#, -32002),
        ] {
            let error = try agent.ask(method, params)["error"]
            #expect(error?["code"]?.int == code, "\(method) \(params) \(String(describing: error))")
            #expect(error?["message"]?.string?.hasSuffix(".") == true)
        }
        for line in [
            "{", "[]", #"{"jsonrpc":"2.0","id":7}"#, #"{"id":7,"method":"ping"}"#,
            #"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, #"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            #"{"jsonrpc":"2.0","id":[7],"method":"ping"}"#, #"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            #"{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}"#, #"{"jsonrpc":"2.0","method":7}"#,
        ] {
            try agent.send(line)
            #expect(try agent.next()["error"]?["code"]?.int ?? 0 < 0, "\(line)")
        }
        #expect(try agent.ask("ping")["result"] == [:])
        #expect(try agent.end() == 0)
    }

    private static func answer(_ line: String) -> String {
        ScriptedBus.reply(
            to: line,
            ["types": [["type": "lamp", "initial": ["on": false], "actions": ["flip": ["toggle": ["on"]]]]]])
    }

    private static let flip = #"{"store":"hall","confirm":true}"#

    @Test func anActionIsCommittedOnceThoughTheConnectionIsLost() throws {
        let keys = Mutex<[JSON?]>([])
        let bus = try ScriptedBus { line in
            guard ScriptedBus.op(of: line) == "dispatch" else { return [Self.answer(line)] }
            let key = (try? JSON(parsing: line))?["key"]
            let isFirst = keys.withLock { keys in
                keys.append(key)
                return keys.count == 1
            }
            return isFirst ? nil : [ScriptedBus.reply(to: line, ["revision": 5, "changed": 1])]
        }
        defer { bus.stop() }
        let agent = try Agent(bus.address)
        let done = try agent.call("lamp_flip", Self.flip)
        #expect(done["structuredContent"]?["changed"] == 1, "\(done)")
        let sent = keys.withLock { $0 }
        #expect(sent.count == 2 && sent[0]?.string != nil && sent[0] == sent[1])
        #expect(try agent.end() == 0)
    }

    /// What the bus says of it now is nothing of before, nor is there a subscription of before.
    @Test func aRefusalBehindALostConnectionIsNotBelieved() throws {
        let hasCut = Mutex(false)
        let ended = Mutex(0)
        let bus = try ScriptedBus { line in
            switch ScriptedBus.op(of: line) {
            case "dispatch":
                let isAgain = hasCut.withLock { hasCut in
                    defer { hasCut = true }
                    return hasCut
                }
                return isAgain ? [ScriptedBus.refusal(of: line, "forbidden")] : nil
            case "subscribe": return [ScriptedBus.reply(to: line, ["sub": 1])]
            case "unsubscribe":
                ended.withLock { $0 += 1 }
                return nil
            default: return [Self.answer(line)]
            }
        }
        defer { bus.stop() }
        let agent = try Agent(bus.address)
        let text = try agent.call("lamp_flip", Self.flip)["content"]?[0]?["text"]?.string ?? ""
        #expect(text.hasPrefix("closed: ") && text.contains("it may have been committed or not"), "\(text)")
        let hall = #"{"uri":"fluxbus://store/lamp/hall"}"#
        #expect(try agent.ask("resources/subscribe", hall)["result"] == [:])
        #expect(try agent.ask("resources/unsubscribe", hall)["result"] == [:])
        #expect(ended.withLock { $0 } == 1)
        #expect(try agent.end() == 0)
    }

    @Test func whoIsNotAnsweredMayHaveCommitted() throws {
        let place = Mutex<ScriptedBus?>(nil)
        let bus = try ScriptedBus { line in
            guard ScriptedBus.op(of: line) == "dispatch" else { return [Self.answer(line)] }
            place.withLock { $0.take() }?.endListening()
            return nil
        }
        place.withLock { $0 = bus }
        let agent = try Agent(bus.address)
        let answer = try agent.call("lamp_flip", Self.flip)
        let text = answer["content"]?[0]?["text"]?.string ?? ""
        #expect(answer["isError"] == true && text.hasPrefix("closed: "), "\(text)")
        #expect(
            text.hasSuffix("it may have been committed or not; look before you confirm it again."), "\(text)")
        // The server stays, and what commits nothing is told as it is.
        let other = try agent.call("find", #"{"type":"lamp"}"#)["content"]?[0]?["text"]?.string ?? ""
        #expect(other.hasPrefix("unreachable: ") && !other.contains("committed"), "\(other)")
        #expect(try agent.end() == 0)
    }

    @Test func aReplyThatComesLateIsGivenToNobodyElse() throws {
        let late = Mutex<String?>(nil)
        let bus = try ScriptedBus { line in
            switch ScriptedBus.op(of: line) {
            case "hello": late.withLock { $0 = nil }
            case "dispatch":
                late.withLock { $0 = ScriptedBus.refusal(of: line, "conflict") }
                return []
            default: break
            }
            return (late.withLock { $0.take() }.map { [$0] } ?? []) + [Self.answer(line)]
        }
        defer { bus.stop() }
        let agent = try Agent(bus.address, timeout: "200ms")
        // Whatever may take that long on a busy machine.
        func told(_ tool: String, _ arguments: String) throws -> JSON {
            while true {
                let params = #"{"name":"\#(tool)","arguments":\#(arguments)}"#
                guard let result = try agent.ask("tools/call", params)["result"] else { continue }
                return result
            }
        }
        let text = try told("lamp_flip", Self.flip)["content"]?[0]?["text"]?.string ?? ""
        #expect(text.hasPrefix("timed_out: ") && text.contains("look before you confirm it again"), "\(text)")
        var found: String
        repeat {
            found = try told("find", #"{"type":"lamp"}"#)["content"]?[0]?["text"]?.string ?? ""
        } while found.hasPrefix("timed_out: ")
        #expect(found.contains("lamp"), "\(found)")
        #expect(try agent.end() == 0)
    }

    @Test func storesAreResourcesThatTellOfChanges() throws {
        let bus = try bus()
        let agent = try Agent(bus.address)
        let listed = try agent.ask("resources/list")["result"]?["resources"]?.array?.compactMap {
            $0["uri"]?.string
        }
        #expect(listed == ["fluxbus://store/counter/main", "fluxbus://store/counter/other"])
        let main = #"{"uri":"fluxbus://store/counter/main"}"#
        let read = try agent.ask("resources/read", main)["result"]?["contents"]?[0]
        #expect(read?["mimeType"] == "application/json")
        #expect(try JSON(parsing: Array((read?["text"]?.string ?? "").utf8))["count"] == 0)
        #expect(try agent.ask("resources/subscribe", main)["result"] == [:])
        let client = try bus.client()
        let increment = #"{"op":"dispatch","store":"counter/main","action":"increment"}"#
        #expect(try client.ask(increment).contains("true"))
        #expect(try agent.changed() == "fluxbus://store/counter/main")
        // A bus that was restarted may have changed what is followed.
        bus.stop()
        try bus.start()
        #expect(try agent.ask("resources/read", main)["result"] != nil)
        #expect(try agent.changed() == "fluxbus://store/counter/main")
        #expect(try bus.client().ask(increment).contains("true"))
        #expect(try agent.changed() == "fluxbus://store/counter/main")
        #expect(try agent.ask("resources/unsubscribe", main)["result"] == [:])
        #expect(try agent.end() == 0)
    }
}
