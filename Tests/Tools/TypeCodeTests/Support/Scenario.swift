import BusJSON
import Testing

/// What the programs in `Programs` do, as requests: each in its language has to make these.
enum Scenario {
    /// The requests, to the store `main` of a type or to all of it.
    static let requests: [JSON] = plain + withSchemas

    private static let plain: [JSON] = [
        request("counter", "increment", ["by": 5]), request("counter", "increment"),
        request("thermostat", "setTarget", ["celsius": 21.5]),
        request("thermostat", "boost"), request("thermostat", "setMode", ["mode": "manual"]),
        request("door", "open"),
        request("todo", "add", ["id": "1", "title": "Milk"]), request("todo", "toggle", ["id": "1"]),
        request("presence", "enter", ["name": "anna"]),
        request("value", "set", ["value": ["a": [.null, 1.5, "x"]]]),
        request(
            Definitions.awkwardName, "import",
            [
                "in": 5, "my name": "n", "class": .null, "quo\"te\\": ["q"], "self": 2.5, "func": "f",
                "default": ["a": 1], "value1": true, "payload": [1],
            ]),
        request(Definitions.awkwardName, "import", ["in": 6]),
        request(Definitions.awkwardName, "switch-on"), request(Definitions.awkwardName, "switch_on"),
        request(Definitions.awkwardName, "switchOn", ["by": 2]), request(Definitions.awkwardName, "list"),
        request(Definitions.awkwardName, "str"), request(Definitions.awkwardName, "init"),
        request(Definitions.awkwardName, "default"), request(Definitions.awkwardName, "dispatch"),
        request(Definitions.awkwardName, "encode"), request(Definitions.awkwardName, "self"),
        request(Definitions.awkwardName, "match"),
        ["op": "dispatch", "type": "counter", "action": "increment", "payload": ["by": 0]],
    ]

    private static let withSchemas: [JSON] = [
        request(
            "everything", "configure",
            [
                "door": ["open": true], "measured": .null, "mode": "by hand", "note": .null, "extra": [1],
                "names": ["a"], "ages": ["a b": 1], "level": 6, "limit": 1.5, "step": 2,
            ]), request("everything", "quiet", ["for": 1]),
    ]

    private static func request(_ type: String, _ action: String, _ payload: JSON = [:]) -> JSON {
        ["op": "dispatch", "store": .string("\(type)/main"), "action": .string(action), "payload": payload]
    }

    /// A program printed each request that it sent, and its reply.
    static func check(requestsAndReplies output: String) throws {
        let lines = try output.split(separator: "\n").map { try JSON(parsing: String($0)) }
        #expect(stride(from: 0, to: lines.count, by: 2).map { lines[$0] } == requests)
        for reply in stride(from: 1, to: lines.count, by: 2) {
            #expect(lines[reply]["ok"] == true, "\(lines[reply - 1]): \(lines[reply])")
        }
    }

    /// The stores `main` have become what requests, written by hand, make of the stores `raw`.
    static func checkStates(in workshop: Workshop) throws {
        let client = try workshop.bus.client()
        for request in requests where request["store"] != nil {
            let raw = request.encoded.replacing("/main\"", with: "/raw\"")
            #expect(try client.ask(raw).hasPrefix(#"{"ok":true"#), "\(raw)")
        }
        for (type, _) in Workshop.storedTypes {
            func state(_ name: String) throws -> String {
                let reply = try JSON(parsing: client.ask(#"{"op":"get","store":"\#(type)/\#(name)"}"#))
                let state = try #require(reply["states"]?["\(type)/\(name)"])
                // When it was done differs.
                return state.encoded.replacing(/"(added|since)":[0-9.]+/, with: "")
            }
            #expect(try state("main") == state("raw"))
        }
    }
}
