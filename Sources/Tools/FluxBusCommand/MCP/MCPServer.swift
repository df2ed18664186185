import BusJSON
import FluxBus

/// The server of `fluxbus mcp`: JSON-RPC 2.0, one message on a line, and a connection to the bus, which is made again when it was
/// lost.
final class MCPServer {
    /// What the protocol has for errors, by its number.
    private enum Failure: Int {
        case parse = -32700, invalidRequest = -32600, unknownMethod = -32601, invalidParams = -32602,
            noResource = -32002
    }

    private struct Refusal: Error {
        let failure: Failure
        let message: String
    }

    /// The versions of the protocol that this server speaks, the newest first.
    private static let versions = ["2025-06-18", "2025-03-26", "2024-11-05"]
    /// The longest message of an agent.
    private static let longestLine = 4 << 20
    private static let place = "fluxbus://store/"

    private let session: CommandSession
    private var input = InputLines(longestLine: MCPServer.longestLine)
    private var connection: BusConnection?
    /// The name of the agent's program.
    private var agent = "agent"
    private var tools = MCPTools([])
    /// The addresses of stores that the agent follows, and the same by the numbers of their subscriptions.
    private var followed: Set<String> = []
    private var numbers: [Int: String] = [:]

    init(_ session: CommandSession) { self.session = session }

    func run() throws {
        while true {
            while let line = try input.next() { try take(line) }
            try tellChanges()
            try session.console.flush()
            if input.hasEnded { return }
            try wait()
        }
    }

    /// Waits for the agent or the bus. A bus that is away is looked for with the agent's next message.
    private func wait() throws {
        if let connection {
            do throws(BusError) {
                if try connection.wait(input: session.context.input).input { try read() }
            } catch {
                lose()
            }
        } else {
            try read()
        }
    }

    private func read() throws(BusError) {
        do { try input.read(session.context.input) } catch { throw BusError(.unexpectedReply, "\(error)") }
    }

    // MARK: - The bus

    /// The connection is gone. What the agent follows is followed on the next one.
    private func lose() {
        connection = nil
        numbers = [:]
        _ = try? connect()
    }

    private func connect() throws -> BusConnection {
        if let connection { return connection }
        let new = try session.connect()
        if new.greeting == nil { try new.hello(client: agent, until: session.replyDeadline) }
        for store in followed {
            do {
                try follow(store, on: new)
            } catch let error as BusError where !Reconnection.mayPass(error) {
                followed.remove(store)
            }
            // It may have changed meanwhile.
            try tell(changed: store)
        }
        connection = new
        return new
    }

    /// Asks the bus; where the connection was lost, once more on another. What would be committed has a key.
    private func ask(_ request: BusRequest) throws -> JSONObject {
        do {
            return try askOnce(request)
        } catch let error as BusError where error.code == .closed {
            do {
                return try askOnce(request)
            } catch let later as BusError where CommandFailure.mayCommit(request) && Self.isSilent(later) {
                throw error
            }
        }
    }

    /// Whether an error leaves open what became of the request before.
    private static func isSilent(_ error: BusError) -> Bool {
        error.saysNothingOfKey || [.unreachable, .untrusted, .unauthorized].contains(error.code)
    }

    /// Gives up a connection on which a reply is still due: the next request would take it for its own.
    private func askOnce(_ request: BusRequest) throws -> JSONObject {
        let connection = try connect()
        do throws(BusError) {
            var reply = try connection.request(request, until: session.replyDeadline)
            reply["id"] = nil
            return reply
        } catch {
            if [.closed, .timedOut, .unexpectedReply].contains(error.code) {
                (self.connection, numbers) = (nil, [:])
            }
            throw error
        }
    }

    private func follow(_ store: String, on connection: BusConnection) throws {
        let request = BusRequest("subscribe", ["match": .string(store), "initial": false])
        if let number = try session.ask(request, on: connection)["sub"]?.int { numbers[number] = store }
    }

    private func tellChanges() throws {
        while let line = connection?.receiveLineIfReady() {
            guard case .event("change", let event) = try BusMessage(parsing: line), event["more"] == nil,
                let store = event["sub"]?.int.flatMap({ numbers[$0] })
            else { continue }
            try tell(changed: store)
        }
    }

    private func tell(changed store: String) throws {
        try send([
            "jsonrpc": "2.0", "method": "notifications/resources/updated",
            "params": ["uri": .string(Self.place + store)],
        ])
    }

    // MARK: - Messages

    private func send(_ message: JSONObject) throws {
        try session.console.output.write(line: Array(JSON.object(message).encoded.utf8))
    }

    private func take(_ line: [UInt8]) throws {
        guard let message = try? JSON(parsing: line, depthLimit: 256) else {
            return try refuse(nil, Refusal(failure: .parse, message: "This line is not JSON."))
        }
        // An answer to what nobody asked.
        if message["method"] == nil, message["result"] != nil || message["error"] != nil { return }
        let id = message["id"]
        guard id == nil || id?.string != nil || id?.int != nil else {
            return try refuse(
                nil, Refusal(failure: .invalidRequest, message: "An id is a string or a whole number."))
        }
        do {
            let (method, params) = try Self.call(in: message)
            let result = try answer(method, params)
            // Notifications have no id, and no answer.
            if let id, let result { try send(["jsonrpc": "2.0", "id": id, "result": .object(result)]) }
        } catch let refusal as Refusal {
            if id != nil || refusal.failure == .invalidRequest { try refuse(id, refusal) }
        } catch let error as BusError {
            let failure: Failure = error.code == .unknownStore ? .noResource : .invalidParams
            if id != nil { try refuse(id, Refusal(failure: failure, message: error.message)) }
        }
        if connection == nil, !followed.isEmpty { _ = try? connect() }
    }

    /// What a message asks for.
    private static func call(in message: JSON) throws(Refusal) -> (method: String, params: JSONObject) {
        guard message["jsonrpc"] == "2.0" else {
            throw Refusal(failure: .invalidRequest, message: "A message is an object with jsonrpc: \"2.0\".")
        }
        guard let method = message["method"]?.string else {
            throw Refusal(failure: .invalidRequest, message: "A message has a method, which is a string.")
        }
        guard let params = (message["params"] ?? [:]).object else {
            throw Refusal(failure: .invalidParams, message: "The params must be an object.")
        }
        return (method, params)
    }

    private func refuse(_ id: JSON?, _ refusal: Refusal) throws {
        try send([
            "jsonrpc": "2.0", "id": id ?? .null,
            "error": ["code": .int(refusal.failure.rawValue), "message": .string(refusal.message)],
        ])
    }

    /// Nil for what has no answer.
    private func answer(_ method: String, _ params: JSONObject) throws -> JSONObject? {
        switch method {
        case "initialize": return initialize(params)
        case "ping": return [:]
        case "tools/list":
            tools = MCPTools(try ask(BusRequest("types"))["types"]?.array ?? [])
            return ["tools": .array(tools.list)]
        case "tools/call": return try call(params)
        case "resources/list": return try resources(after: params["cursor"]?.string)
        case "resources/templates/list":
            return [
                "resourceTemplates": [
                    [
                        "uriTemplate": .string(Self.place + "{type}/{name}"), "name": "store",
                        "mimeType": "application/json",
                    ]
                ]
            ]
        case "resources/read":
            let (uri, store) = try self.store(params)
            let state = try ask(BusRequest("get", ["store": .string(store)]))["states"]?[store] ?? .null
            return [
                "contents": [
                    ["uri": .string(uri), "mimeType": "application/json", "text": .string(state.encoded)]
                ]
            ]
        case "resources/subscribe":
            let store = try store(params).address
            if !followed.contains(store) {
                try follow(store, on: connect())
                followed.insert(store)
            }
            return [:]
        case "resources/unsubscribe":
            let store = try store(params).address
            followed.remove(store)
            for (number, other) in numbers where other == store {
                numbers[number] = nil
                // It goes with the connection; on another one the number may be that of another store.
                do {
                    _ = try askOnce(BusRequest("unsubscribe", ["sub": .int(number)]))
                } catch let error as BusError where error.code == .closed {}
            }
            return [:]
        case _ where method.hasPrefix("notifications/"): return nil
        default: throw Refusal(failure: .unknownMethod, message: "There is no method \(method) here.")
        }
    }

    private func initialize(_ params: JSONObject) -> JSONObject {
        if let name = params["clientInfo"]?["name"]?.string, !name.isEmpty { agent = String(name.prefix(64)) }
        let wanted = params["protocolVersion"]?.string
        let version = Self.versions.first { $0 == wanted } ?? Self.versions[0]
        return [
            "protocolVersion": .string(version),
            "capabilities": ["tools": [:], "resources": ["subscribe": true]],
            "serverInfo": ["name": "fluxbus", "version": .string(RootCommand.configuration.version)],
            "instructions":
                "Stores of typed state, changed by actions. A tool of an action shows what it would change; call it again with confirm: true to commit it.",
        ]
    }

    /// The store that a resource is.
    private func store(_ params: JSONObject) throws -> (uri: String, address: String) {
        guard let uri = params["uri"]?.string, uri.hasPrefix(Self.place) else {
            throw Refusal(failure: .invalidParams, message: "A resource is \(Self.place)TYPE/NAME.")
        }
        return (uri, String(uri.dropFirst(Self.place.count)))
    }

    private func resources(after cursor: String?) throws -> JSONObject {
        let reply = try ask(BusRequest("stores", ["limit": 500, "after": cursor.map(JSON.string)]))
        let resources = (reply["stores"]?.array ?? []).compactMap { $0["store"]?.string }.map {
            store -> JSON in
            ["uri": .string(Self.place + store), "name": .string(store), "mimeType": "application/json"]
        }
        var result: JSONObject = ["resources": .array(resources)]
        result["nextCursor"] = reply["next"]
        return result
    }

    private func call(_ params: JSONObject) throws -> JSONObject {
        let name = params["name"]?.string ?? ""
        if tools.isEmpty { tools = MCPTools(try ask(BusRequest("types"))["types"]?.array ?? []) }
        guard let arguments = (params["arguments"] ?? [:]).object else {
            throw Refusal(failure: .invalidParams, message: "The arguments must be an object.")
        }
        guard let request = try tools.request(name, arguments) else {
            throw Refusal(
                failure: .invalidParams,
                message: "There is no tool \(name); tools/list tells those that there are.")
        }
        do {
            var reply = try ask(request)
            reply["ok"] = nil
            let text = JSON.object(reply)
            return ["content": [["type": "text", "text": .string(text.encoded)]], "structuredContent": text]
        } catch let error as BusError {
            // The agent reads it, and may do better.
            let isOpen = [.closed, .timedOut].contains(error.code) && CommandFailure.mayCommit(request)
            let advice = isOpen ? "it may have been committed or not; look before you confirm it again" : nil
            let text = "\(error.code.rawValue): \(error.message.endingSentence(with: advice))"
            return ["content": [["type": "text", "text": .string(text)]], "isError": true]
        }
    }
}
