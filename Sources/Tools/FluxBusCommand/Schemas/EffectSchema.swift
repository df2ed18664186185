import BusEffects
import BusJSON

/// What a file of `fluxbus-effects` may say.
enum EffectSchema {
    private typealias Part = FileSchema

    static var effect: JSONObject {
        [
            "title": "An effect of FluxBus", "type": "object", "additionalProperties": false,
            "required": ["effect", "do"], "oneOf": [["required": ["on"]], ["required": ["when"]]],
            "properties": [
                "effect": Part.text("The effect's name.", "^[a-z][A-Za-z0-9_-]{0,\(EffectLimits.name - 1)}$"),
                "summary": Part.text("What it is for, in one sentence."),
                "on": Part.object(
                    "For which actions.",
                    [
                        "action": Part.oneOrMore(
                            "An action, or several.", ["type": "string", "pattern": name]),
                        "of": Part.text("The stores: door/*.", "^[a-z][A-Za-z0-9_-]*/[^/]+$"),
                    ], required: ["action", "of"]),
                "when": Part.object(
                    "For which condition, once it becomes true.",
                    [
                        "of": Part.text("The stores: light/*.", "^[a-z][A-Za-z0-9_-]*/[^/]+$"),
                        "becomes": Part.text("An expression over the members of the state."),
                        "for": time("How long it has to hold."),
                    ], required: ["of", "becomes"]),
                "if": Part.text(
                    "An expression over store, type, name, action, payload, state, by, time and revision."),
                "do": deed, "timeout": time("How long one attempt may take (5m)."),
                "retry": Part.object(
                    "Attempts after the first one.",
                    [
                        "times": [
                            "description": "How many (5).", "type": "integer", "minimum": 0, "maximum": 1000,
                        ],
                        "first": time("The wait before the first of them (1s)."),
                        "most": time("The longest wait (1m)."),
                    ]),
                "limit": Part.object(
                    "How much at a time.",
                    [
                        "running": [
                            "description": "Events at a time (4).", "type": "integer", "minimum": 1,
                            "maximum": .int(EffectLimits.running),
                        ],
                        "for": Part.words("Whose events are handled one after the other.", ["store", "all"]),
                        "rate": Part.text("How many may begin: 10/s, 100/m, 20/h.", "^[0-9]+/[smh]$"),
                    ]),
                "after-downtime": Part.words(
                    "Which events count from while the service was down.",
                    Effect.Downtime.allCases.map(\.rawValue)),
            ],
        ]
    }

    static let name: JSON = "^[a-z][A-Za-z0-9_-]*$"

    static func time(_ about: String) -> JSON { Part.value(about, "string", "integer") }

    static func file(_ more: JSONObject = [:]) -> JSON {
        var members = more
        members["file"] = Part.text(
            "A whole path, or the name of a credential of the unit (LoadCredential=).", "^(/.*|[^/]+)$")
        return Part.object("A file, read for each attempt.", members, required: ["file"])
    }

    /// An action, as effects and hooks dispatch it.
    static let dispatch: JSONObject = [
        "store": Part.text("Its store, or an expression after =."),
        "type": Part.text("The type to all stores of which it goes."),
        "action": ["description": "The action.", "type": "string", "pattern": name],
        "payload": Part.value("Its payload, with expressions after =.", "object"),
    ]

    private static var deed: JSON {
        var members: JSONObject = [
            "run": Part.list(
                "A program and its arguments, without a shell. The event is its input.",
                of: ["type": ["string", "number", "boolean"]], isEmpty: false),
            "post": Part.object(
                "A request over HTTP with the method POST.",
                [
                    "url": Part.either(
                        "The address, with {expression} behind the host, or the file that holds it.",
                        ["type": "string", "pattern": "^https?://[^/?#@{}]+([/?#].*)?$"], file()),
                    "headers": Part.map(
                        "Headers: a text, an expression after =, or the file of a secret.",
                        of: [
                            "anyOf": [
                                ["type": ["string", "number", "boolean"]],
                                file(["prefix": Part.text("What stands before the secret: Bearer .")]),
                            ]
                        ], names: "^[!#$%&'*+.^_`|~A-Za-z0-9-]+$"),
                    "body": Part.value("The body, with expressions after = (the event)."),
                    "ca": Part.text(
                        "A PEM file with the authorities of the server's certificate, or a credential (those that the system trusts)."
                    ),
                    "certificate": Part.text(
                        "A PEM file with the certificate that the server is shown, or a credential."),
                    "key": Part.text(
                        "A PEM file with its key, or a credential (the file of the certificate)."),
                ], required: ["url"]),
            "dispatch": Part.object("An action, exactly once.", dispatch, required: ["action"]),
        ]
        for verb in UnitVerb.allCases {
            members[verb.rawValue] = Part.text(
                "A unit to \(verb.rawValue): alarm@{store.name}.service.",
                #"^([^{}]+@)?[^{]*.*\.[a-z]+$"#)
        }
        return Part.object("What follows.", members, ["minProperties": 1, "maxProperties": 1])
    }
}
