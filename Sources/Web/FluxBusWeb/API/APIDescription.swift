import BusHooks
import BusJSON
import BusProtocol
import TypeCode

/// What there is over HTTP, for programs: made of the state types that the bus has, so that every action is an operation with
/// the schema of its payload.
package struct APIDescription {
    let types: [TypeDescription]
    private let hooks: [Hook]

    /// - Parameter definitions: As the bus's reply to `types` has them.
    package init(_ definitions: [JSON], _ hooks: [Hook] = []) {
        types = definitions.compactMap { TypeDescription(definition: $0) }
        self.hooks = hooks
    }

    static let info: JSON = [
        "title": "FluxBus", "version": .string(WebCommand.configuration.version),
        "description":
            "Stores of typed state. What is committed has one order, and whoever follows gets what changed.",
    ]

    // MARK: - OpenAPI

    /// A document of OpenAPI 3.1.
    package var openAPI: JSON {
        var paths: JSONObject = [
            "/v1/dispatch": [
                "post": operation(
                    "dispatch", "Commit actions", Self.dispatchText,
                    parameters: [Self.ifMatch, Self.key, Self.trace],
                    body: [
                        "type": "object",
                        "properties": ["op": ["const": "dispatch"], "ack": ["const": true]],
                        "anyOf": [["required": ["action"]], ["required": ["actions"]]],
                    ],
                    reply: Self.committed)
            ],
            "/v1/stores": [
                "get": operation(
                    "getStores", "Read stores", Self.readingText,
                    parameters: [Self.query("match", Self.pattern)] + Self.choice, reply: Self.states)
            ],
            "/v1/stores/{type}": [
                "get": operation(
                    "getStoresOfType", "Read stores of a type", Self.readingText,
                    parameters: [Self.typeName] + Self.choice, reply: Self.states)
            ],
            "/v1/stores/{type}/{name}": .object(store),
            "/v1/changes": ["get": .object(changes)],
            "/v1/history": [
                "get": operation(
                    "history", "Read what happened", nil, parameters: Self.historical,
                    reply: ["type": "object", "required": ["commits"]])
            ],
            "/v1/blame": [
                "get": operation(
                    "blame", "Find who set a value", nil,
                    parameters: [
                        Self.query("store", Self.address, required: true), Self.query("path", Self.pointer),
                        Self.group(
                            "moment", ["revision": Self.number, "time": Self.time, "at": Self.time],
                            ["maxProperties": 1]),
                    ], reply: ["type": "object", "required": ["values"]])
            ],
            "/v1/samples": [
                "get": operation(
                    "samples", "Read the values of one member over time", nil,
                    parameters: [
                        Self.query("store", Self.address, required: true),
                        Self.query("path", Self.pointer, required: true), Self.query("most", Self.count),
                        Self.query("cause", Self.flag),
                        Self.group("range", Self.range, Self.notBoth("since", "time")),
                    ],
                    reply: ["type": "object", "required": ["samples"]])
            ],
            "/v1/types": [
                "get": operation(
                    "types", "Read the state types", nil, parameters: [Self.at], reply: Self.typeList)
            ],
            "/v1/types/{type}": [
                "get": operation(
                    "type", "Read a state type", nil, parameters: [Self.typeName, Self.at],
                    reply: Self.typeList)
            ],
            "/v1/stats": [
                "get": operation(
                    "stats", "Read the bus's counters", nil, reply: ["type": "object", "required": ["stats"]])
            ],
        ]
        var schemas: JSONObject = ["Error": Self.failure]
        for type in types {
            schemas["state." + type.name] = SchemaDocument.state(of: type)
            for action in type.actions {
                let schema = "payload.\(type.name).\(action.name)"
                schemas[schema] = SchemaDocument.payload(of: action)
                let path = "/v1/dispatch/\(type.name)/"
                let body: JSON = ["$ref": .string("#/components/schemas/" + schema)]
                paths[path + "{name}/" + action.name] = [
                    "post": operation(
                        "\(type.name).\(action.name)", "\(action.name) at one \(type.name)", action.summary,
                        parameters: [Self.storeName, Self.ifMatch] + Self.sending, body: body,
                        reply: Self.committed)
                ]
                paths[path + action.name] = [
                    "post": operation(
                        "\(type.name).\(action.name).all", "\(action.name) at every \(type.name)",
                        action.summary,
                        parameters: Self.sending, body: body, reply: Self.committed)
                ]
            }
        }
        for hook in hooks { paths["/hooks/" + hook.name] = ["post": self.operation(of: hook)] }
        return [
            "openapi": "3.1.0", "info": Self.info, "paths": .object(paths),
            "components": [
                "schemas": .object(schemas),
                "securitySchemes": ["token": ["type": "http", "scheme": "bearer"]],
            ],
            "security": [["token": []]],
        ]
    }

    /// What it has to show is between the hook's file and whoever calls.
    private func operation(of hook: Hook) -> JSON {
        var post = operation(
            "hook.\(hook.name)", hook.summary ?? "Call the hook \(hook.name)", Self.hookText,
            parameters: [Self.trace], body: [:],
            reply: [
                "type": "object",
                "properties": ["revision": ["type": "integer"], "ignored": ["const": true]],
            ]
        ).object!
        post["security"] = []
        return .object(post)
    }

    private var store: JSONObject {
        let place = [Self.typeName, Self.storeName]
        var get = operation(
            "getStore", "Read one store", "Its state; the ETag is the revision of its last change.",
            parameters: place + [
                Self.query("select", Self.pointers, isList: true), Self.at, Self.query("fresh", Self.flag),
                Self.field("If-None-Match", "^(\\*|\(Self.anyTag)( *, *\(Self.anyTag))*)$"),
            ],
            reply: ["type": "object"]
        ).object!
        get["responses"] = .object(
            get["responses"]!.object!.with("304", ["description": "It is as the tag says."]))
        var put = operation(
            "putStore", "Make or replace a store",
            "Makes it; with If-Match it is replaced, if its last change is the one that the tag names.",
            parameters: place + [Self.ifMatchAny, Self.field("If-None-Match", "^\\*$"), Self.key],
            body: ["type": "object"], reply: Self.committed
        ).object!
        put["responses"] = .object(put["responses"]!.object!.with("201", put["responses"]!["200"]!))
        return [
            "get": .object(get), "put": .object(put),
            "delete": operation(
                "deleteStore", "Drop a store", nil, parameters: place + [Self.ifMatchAny, Self.key],
                reply: Self.committed),
        ]
    }

    private var changes: JSONObject {
        let parameters =
            [
                Self.query("match", Self.pattern), Self.query("where", Self.nonEmpty),
                Self.query("select", Self.pointers, isList: true),
                Self.query("format", ["enum": ["patch", "state", "merge"]]),
            ] + ["actions", "initial", "cause"].map { Self.query($0, Self.flag) } + [
                Self.field("Last-Event-ID", "^[^:]+:[0-9]+(:[0-9]+)?$")
            ]
        var changes = operation(
            "changes", "Follow changes", Self.changesText, parameters: parameters, reply: [:]
        ).object!
        changes["responses"] = [
            "200": [
                "description": "Events as they happen.",
                "content": ["text/event-stream": ["schema": ["type": "string"]]],
            ],
            "default": Self.refusal,
        ]
        return changes
    }

    private func operation(
        _ id: String, _ summary: String, _ about: String?, parameters: [JSON] = [], body: JSON? = nil,
        reply: JSON
    ) -> JSON {
        var operation: JSONObject = [
            "operationId": .string(id), "summary": .string(summary),
            "responses": [
                "200": ["description": "Done.", "content": ["application/json": ["schema": reply]]],
                "default": Self.refusal,
            ],
        ]
        operation["description"] = about.map(JSON.string)
        if !parameters.isEmpty { operation["parameters"] = .array(parameters) }
        if let body { operation["requestBody"] = ["content": ["application/json": ["schema": body]]] }
        return .object(operation)
    }

    // MARK: - Parts

    private static let dispatchText =
        "The wire's `dispatch`: one action at a store or at a type, or several in one commit. If-Match is for one store."
    private static let readingText =
        "States by address; where not all fit, `next` is the `after` of the next page."
    private static let changesText =
        "Server-sent events: change, reset, action, gap. The id of an event, given back as Last-Event-ID, goes on behind it."

    private static let hookText =
        "Dispatches what the hook's file makes of the body; the sender shows a signature or a secret of its own."

    // As `Names` has them.
    private static let typePattern = "[a-z][A-Za-z0-9_-]{0,\(Names.longestType - 1)}"
    private static let storePattern = namePattern(of: Names.longestStore)
    private static let address = matching("^\(typePattern)/\(storePattern)$")
    private static let day =
        "((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|[12][0-9]))"
    private static let time = matching(
        "^([0-9]+(\\.[0-9]+)?|(19[7-9][0-9]|2[0-9]{3})-\(day)T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z)$")
    private static let pattern = matching("^[a-z*?][A-Za-z0-9_*?-]*/[A-Za-z0-9*?][A-Za-z0-9_:@*?-]*$")
    private static let pointer = matching("^(/([^~/]|~[01])*)*$")
    private static let pointers: JSON = ["type": "array", "items": pointer]
    private static let nonEmpty: JSON = ["type": "string", "minLength": 1]
    private static let text: JSON = ["type": "string"]
    static let texts: JSON = ["type": "array", "items": ["type": "string"]]
    private static let number: JSON = ["type": "integer", "minimum": 0]
    private static let flag: JSON = ["type": "boolean"]
    private static let page: JSON = ["type": "integer", "minimum": 1]
    private static let count: JSON = ["type": "integer", "minimum": 1, "maximum": 1000]

    private static func query(_ name: String, _ schema: JSON, required: Bool = false, isList: Bool = false)
        -> JSON
    {
        var parameter: JSONObject = ["name": .string(name), "in": "query", "schema": schema]
        if required { parameter["required"] = true }
        if isList { (parameter["style"], parameter["explode"]) = ("form", true) }
        return .object(parameter)
    }

    /// Parameters that do not all go together: the members of one object (style `form`, exploded).
    private static func group(_ name: String, _ members: JSONObject, _ rule: JSONObject) -> JSON {
        var schema = rule
        schema["type"] = "object"
        schema["properties"] = .object(members)
        schema["additionalProperties"] = false
        return [
            "name": .string(name), "in": "query", "style": "form", "explode": true, "schema": .object(schema),
        ]
    }

    private static func notBoth(_ one: String, _ other: String) -> JSONObject {
        ["not": ["required": [.string(one), .string(other)]]]
    }

    private static func field(_ name: String, _ pattern: String) -> JSON {
        ["name": .string(name), "in": "header", "schema": matching(pattern)]
    }

    private static func matching(_ pattern: String) -> JSON {
        ["type": "string", "pattern": .string(pattern)]
    }

    private static func namePattern(of longest: Int) -> String {
        "[A-Za-z0-9][A-Za-z0-9_:@-]{0,\(longest - 1)}"
    }

    private static func segment(_ name: String, _ pattern: String) -> JSON {
        [
            "name": .string(name), "in": "path", "required": true,
            "schema": matching("^\(pattern)$"),
        ]
    }

    private static let typeName = segment("type", typePattern)
    private static let storeName = segment("name", storePattern)
    private static let key: JSON = ["name": "Idempotency-Key", "in": "header", "schema": nonEmpty]
    private static let tag = "\"[0-9]+\""
    private static let anyTag = "(W/)?" + tag
    private static let ifMatch = field("If-Match", "^\(tag)$")
    private static let ifMatchAny = field("If-Match", "^(\\*|\(tag))$")
    private static let at: JSON = [
        "name": "at", "in": "query", "description": "A revision, or a time such as 2027-01-31T10:00:00Z.",
        "schema": time,
    ]
    private static let choice =
        [
            query("where", nonEmpty), query("select", pointers, isList: true), query("limit", page),
            query("after", address), at, query("fresh", flag),
        ]
    private static let trace: JSON = ["name": "traceparent", "in": "header", "schema": text]
    private static let sending = [
        key, trace, query("dryRun", flag),
        group(
            "when",
            [
                "in": matching("^[0-9]+(\\.[0-9]+)?(ms|s|m|h|d|w)?$"), "at": time,
                "timer": matching("^\(namePattern(of: Names.longestTimer))$"),
            ],
            notBoth("in", "at").with(
                "dependentSchemas", ["timer": ["anyOf": [["required": ["in"]], ["required": ["at"]]]]])),
    ]
    private static let range: JSONObject = ["since": number, "time": time, "until": number]
    private static let historical = [
        query("limit", count), query("action", text), query("where", nonEmpty),
        query("by", ["type": "array", "items": nonEmpty, "maxItems": 8], isList: true),
        group("subject", ["type": matching("^\(typePattern)$"), "store": address], ["maxProperties": 1]),
        group(
            "range", range.with("order", ["enum": ["oldest", "newest"]]),
            [
                "if": ["required": ["order"], "properties": ["order": ["const": "newest"]]],
                "then": .object(notBoth("until", "time")), "else": .object(notBoth("since", "time")),
            ]),
    ]

    private static let committed: JSON = ["type": "object", "properties": ["revision": ["type": "integer"]]]
    private static let states: JSON = [
        "type": "object", "required": ["revision", "states"],
        "properties": ["revision": ["type": "integer"], "states": ["type": "object"], "next": text],
    ]
    private static let typeList: JSON = [
        "type": "object", "required": ["types"], "properties": ["types": ["type": "array"]],
    ]
    private static let failure: JSON = [
        "type": "object", "required": ["error"],
        "properties": [
            "error": [
                "type": "object", "required": ["code", "message"],
                "properties": ["code": ["type": "string"], "message": ["type": "string"]],
            ]
        ],
    ]
    private static let refusal: JSON = [
        "description": "Refused; the error has the code of the wire, and a sentence that says what to do.",
        "content": ["application/json": ["schema": ["$ref": "#/components/schemas/Error"]]],
    ]
}

extension JSONObject {
    /// The same with another member.
    fileprivate func with(_ name: String, _ value: JSON) -> JSONObject {
        var object = self
        object[name] = value
        return object
    }
}
