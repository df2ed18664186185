import BusJSON
import FluxBus
import TypeCode

/// What an agent can call: an action of each type, and questions.
struct MCPTools {
    private struct Action {
        let type: String
        let name: String
    }

    /// As `tools/list` tells them.
    private(set) var list: [JSON] = []
    private var actions: [String: Action] = [:]

    var isEmpty: Bool { list.isEmpty }

    /// - Parameter definitions: As the bus's reply to `types` has them.
    init(_ definitions: [JSON]) {
        let types = definitions.compactMap { TypeDescription(definition: $0) }
        guard !types.isEmpty else { return }
        for type in types {
            for action in type.actions { add(action, of: type.name) }
        }
        list += Self.questions.map(\.description)
    }

    private mutating func add(_ action: TypeDescription.Action, of type: String) {
        let name = free(type + "_" + action.name)
        actions[name] = Action(type: type, name: action.name)
        let payload = SchemaDocument.payload(of: action)
        let about = action.summary.map { $0 + " " } ?? ""
        list.append([
            "name": .string(name), "title": .string("\(action.name) at \(type)"),
            "description": .string(
                about
                    + "Shows what \(action.name) at \(type) would change; with confirm: true it is committed."
            ),
            "inputSchema": [
                "type": "object", "additionalProperties": false,
                "properties": [
                    "store": [
                        "type": "string",
                        "description": .string("The name of one \(type); without it all of them are meant."),
                    ],
                    "payload": payload,
                    "confirm": ["type": "boolean", "default": false, "description": "True commits it."],
                ],
                "required": payload["required"] == nil ? [] : ["payload"],
            ],
            "annotations": ["readOnlyHint": false, "idempotentHint": false],
        ])
    }

    /// A name that agents take, and that no other tool has.
    private func free(_ text: String) -> String {
        let name = String(
            text.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") ? $0 : "_" }.prefix(60))
        let taken = { (name: String) in actions[name] != nil || Self.questions.contains { $0.name == name } }
        guard taken(name) else { return name }
        return (2...).lazy.map { "\(name)\($0)" }.first { !taken($0) } ?? name
    }

    /// What a call asks of the bus; nil where there is no such tool.
    func request(_ tool: String, _ arguments: JSONObject) throws -> BusRequest? {
        if let question = Self.questions.first(where: { $0.name == tool }) {
            var request = BusRequest(question.op)
            for argument in arguments {
                guard question.members[argument.key] != nil else {
                    throw Self.unknown(argument.key, question.members.keys)
                }
                request.set(argument.key, argument.value)
            }
            for (name, value) in question.usual where request[name] == nil { request.set(name, value) }
            return request
        }
        guard let action = actions[tool] else { return nil }
        let known = ["store", "payload", "confirm"]
        for argument in arguments where !known.contains(argument.key) {
            throw Self.unknown(argument.key, known)
        }
        var request = BusRequest("dispatch")
        let isConfirmed = try Self.argument("confirm", arguments, "true or false", \.bool) ?? false
        // Without one all stores are meant, which nobody who named one wants.
        if let store = try Self.argument("store", arguments, "the name of a store, as text", \.string) {
            // An agent may have the address from the resource.
            request.set(
                "store", .string(store.hasPrefix(action.type + "/") ? store : action.type + "/" + store))
        } else {
            request.set("type", .string(action.type))
        }
        request.set("action", .string(action.name))
        request.set("payload", arguments["payload"])
        if isConfirmed {
            request.set("key", .string(Self.key()))
        } else {
            request.set("dryRun", true)
        }
        return request
    }

    private static func key() -> String {
        (0..<2).map { _ in String(UInt64.random(in: 0 ... .max), radix: 36) }.joined(separator: "-")
    }

    /// Throws where it is there and is not what it must be.
    private static func argument<Value>(
        _ name: String, _ arguments: JSONObject, _ must: String, _ read: (JSON) -> Value?
    ) throws -> Value? {
        guard let given = arguments[name] else { return nil }
        guard let value = read(given) else {
            throw BusError(
                .invalidRequest, "The argument \(name) must be \(must); leave it out, or give that.")
        }
        return value
    }

    private static func unknown(_ name: String, _ known: some Collection<String>) -> BusError {
        BusError(
            .invalidRequest,
            "There is no argument \(name); there are: \(known.sorted().joined(separator: ", ")).")
    }

    // MARK: - Questions

    private struct Question {
        let name: String
        let op: String
        let about: String
        let members: [String: JSON]
        var required: [JSON] = []
        /// What is asked where the agent says nothing.
        var usual: [String: JSON] = [:]

        var description: JSON {
            [
                "name": .string(name), "description": .string(about),
                "inputSchema": [
                    "type": "object", "additionalProperties": false,
                    "properties": .object(members.reduce(into: [:]) { $0[$1.key] = $1.value }),
                    "required": .array(required),
                ],
                "annotations": ["readOnlyHint": true],
            ]
        }
    }

    private static func text(_ about: String) -> JSON { ["type": "string", "description": .string(about)] }
    private static let revision: JSON = ["type": "integer", "minimum": 0]
    private static let count: JSON = ["type": "integer", "minimum": 1, "maximum": 1000]

    private static let questions = [
        Question(
            name: "find", op: "get",
            about:
                "Finds stores by what they are like, and gives their states. One of store, type and match says where to look.",
            members: [
                "store": text("One address, such as counter/kitchen."), "type": text("All stores of a type."),
                "match": text("Addresses, such as counter/* or */kitchen."),
                "where": text("An expression on the members of a state, such as count > 2."), "limit": count,
                "revision": revision,
            ]),
        Question(
            name: "history", op: "history", about: "Tells what was committed, by whom: the newest first.",
            members: [
                "store": text("Only what concerns this store."),
                "type": text("Only what concerns this type."),
                "action": text("Only this action."), "by": text("Only by this user, client, token or unit."),
                "where": text("An expression on the payload."), "since": revision, "until": revision,
                "limit": count,
                "order": ["enum": ["newest", "oldest"]],
            ], usual: ["order": "newest", "limit": 20]),
        Question(
            name: "blame", op: "blame",
            about: "Tells which commit gave a store's members the values that they have.",
            members: [
                "store": text("The address."), "path": text("A JSON pointer to one member, such as /count."),
                "revision": revision,
            ], required: ["store"]),
    ]
}
