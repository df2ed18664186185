import BusJSON
import BusLogic

/// What the daemon's configuration and a file of access rules may say.
enum ConfigurationSchema {
    private typealias Part = FileSchema

    static var configuration: JSONObject {
        [
            "title": "The configuration of fluxbusd", "type": ["object", "null"],
            "additionalProperties": false,
            "definitions": .object(definitions),
            "properties": [
                "listen": Part.either(
                    "Where clients connect.", null, ["type": "array", "items": Part.reference("address")]),
                "tokens": path("The file of the tokens of TCP clients, mode 0600."),
                "types": path("The directory of state types."),
                "stores": Part.either(
                    "Stores that are there from the start.", null,
                    ["type": "array", "items": ["type": "string", "pattern": "^[^/]+/.+$"]]),
                "log": Part.either("The action log.", null, log),
                "limits": Part.either("Limits.", null, limits),
                "cluster": Part.either("One bus on several machines.", null, cluster),
                "access": Part.either(
                    "Who may do what: the rules, or the file that has them.", null, ["type": "string"],
                    Part.reference("access")),
            ],
        ]
    }

    static var access: JSONObject {
        var schema = rules.object ?? [:]
        schema["title"] = "Access rules of a FluxBus bus"
        schema["definitions"] = .object(accessDefinitions)
        return schema
    }

    private static let null: JSON = ["type": "null"]

    private static func path(_ about: String) -> JSON { Part.value(about, "string", "null") }

    private static var definitions: JSONObject {
        var definitions = accessDefinitions
        definitions["access"] = rules
        definitions["address"] = address
        return definitions
    }

    // MARK: Addresses

    private static var address: JSON {
        let forms: [(kind: String, about: String, JSONObject)] = [
            (
                "unix", "A Unix socket, by its path.",
                [
                    "mode": Part.text(
                        "Who may connect: permission bits in quotes, such as \"0660\".", "^0?[0-7]{3}$"),
                    "group": Part.text("The group that the socket belongs to."),
                ]
            ),
            ("tcp", "HOST:PORT of this machine.", [:]),
            (
                "tls", "HOST:PORT, encrypted.",
                [
                    "certificate": path("The certificate of this bus: a PEM file."),
                    "key": path("The key of the certificate: a PEM file."),
                    "clients": path("Who issues the certificates of clients: a PEM file."),
                    "require": Part.value(
                        "Whether a client without a certificate is refused.", "boolean", "null"),
                ]
            ),
            ("systemd", "The sockets that systemd passes under this FileDescriptorName.", [:]),
        ]
        return [
            "description": "An address.",
            "anyOf": .array(
                forms.map { kind, about, members in
                    var all = members
                    all[kind] = Part.text(about)
                    return Part.object(
                        about, all, required: [kind] + (kind == "tls" ? ["certificate", "key"] : []))
                }),
        ]
    }

    // MARK: Log, limits, cluster

    private static let log = Part.object(
        "The action log.",
        [
            "path": Part.text("The file, in a directory that the daemon may write."),
            "sync": Part.either(
                "When commits are on disk: before anything leaves, every second, or when the kernel writes.",
                null,
                ["enum": ["always", "interval", "never"]]),
            "retain": Part.either(
                "How much of the past stays.", null,
                Part.object(
                    "How much of the past stays.",
                    [
                        "age": Part.value("Such as 12h, 30d or 2w.", "string", "null"),
                        "bytes": size("Such as 1GiB."),
                        "commits": Part.value("Has no effect any more.", "integer", "null"),
                    ])),
        ], required: ["path"])

    private static func size(_ about: String) -> JSON { Part.value(about, "integer", "string", "null") }
    private static func count(_ about: String) -> JSON { Part.value(about, "integer", "null") }

    private static let limits = Part.object(
        "Past a limit a request is answered `limit` or `too_large`.",
        [
            "line": size("One request, reply or event."), "depth": count("Nesting within a line."),
            "state": size("One store's state."), "stores": count("Stores on the whole bus."),
            "connections": count("Connections at one time."),
            "subscriptions": count("Subscriptions of one connection."),
            "outbox": size("What waits for one client."), "batch": count("Actions in one dispatch."),
            "commit": count("Operations of one dispatch."),
            "memory": size("What clients can make the daemon take in all."),
            "user": Part.either(
                "What each user may have at most.", null,
                Part.object(
                    "What each user may have at most.",
                    [
                        "connections": count("Connections."), "subscriptions": count("Subscriptions."),
                        "shapes": count("Different subscriptions."), "stores": count("Stores."),
                        "timers": count("Timers."), "wills": size("Wills."), "outboxes": size("Outboxes."),
                    ])),
        ])

    private static let cluster = Part.object(
        "One bus on several machines.",
        [
            "bus": Part.text("The bus's name, the same on all its machines."),
            "etcd": Part.list("The servers of the etcd.", of: ["type": "string", "pattern": "^https?://"]),
            "ca": path("Who issues etcd's certificates."),
            "certificate": path("What etcd knows this machine by."),
            "key": path("The key of the certificate."), "user": path("A user of etcd."),
            "password-file": path("The file of the user's password, mode 0600."),
            "member": path("This machine's name among the members."),
            "advertise": path("Where the others get a snapshot: unix:/path or tls:HOST:PORT."),
            "from": [
                "description":
                    "Members through which this one reads the shared log: the first that delivers.",
                "anyOf": [
                    ["type": "string"], ["type": "array", "items": ["type": "string"]],
                    ["type": "null"],
                ],
            ],
            "lease": Part.value(
                "How long a silent member keeps its sessions: 2s to 10m.", "string", "number", "null"),
        ], required: ["bus", "etcd"])

    // MARK: Access

    private static let rules = Part.object(
        "Who may do what. What no rule allows is forbidden.",
        [
            "roles": [
                "description": "Roles and who has them.", "type": "object",
                "propertyNames": ["pattern": "^[a-z][A-Za-z0-9_-]{0,63}$"],
                "additionalProperties": ["type": "array", "items": Part.reference("line")],
            ],
            "rules": Part.list("What roles may do.", of: Part.reference("rule")),
        ], required: ["roles", "rules"])

    private static let accessDefinitions: JSONObject = [
        "line": Part.either(
            "Who: everyone, or all that the line names.", ["const": "everyone"],
            Part.object(
                "Who: all that it names. * stands for anything.",
                [
                    "user": Part.text("A user of the machine."),
                    "uid": ["description": "A user by number.", "type": "integer", "minimum": 0],
                    "group": Part.text("A group of the machine."), "unit": Part.text("A unit of systemd."),
                    "token": Part.text("The name of a token."),
                    "certificate": Part.text("A name in a certificate."),
                    "client": Part.text(
                        "What the program calls itself; beside something that can be relied on."),
                ],
                [
                    "minProperties": 1,
                    "anyOf": .array(
                        AccessRole.members.filter { $0 != "client" }.map { ["required": [.string($0)]] }),
                ])),
        "rule": Part.object(
            "What a role may do.",
            [
                "role": Part.text("The role."),
                "may": Part.oneOrMore(
                    "What it may do.", ["enum": .array(Capability.named.map { .string($0.key) })]),
                "match": Part.oneOrMore("Of which stores: light/*.", ["type": "string"]),
                "actions": Part.oneOrMore("Which actions.", ["type": "string"]),
                "if": Part.value("A condition for dispatches and new stores.", "string", "object"),
                "select": Part.oneOrMore(
                    "Which parts of states: /target.", ["type": "string", "pattern": "^/"]),
                "maxStores": ["description": "How many stores at once.", "type": "integer", "minimum": 1],
            ], required: ["role", "may"]),
    ]
}
