import BusJSON

/// The tests of a type or a view, in its file or in one of their own.
extension TypeFileSchema {
    static var tests: JSONObject {
        [
            "title": "Tests of a state type of FluxBus", "type": "object", "required": ["type", "tests"],
            "additionalProperties": false, "definitions": .object(testDefinitions),
            "properties": [
                "type": Part.text("The type that is tested; its file lies beside this one.", name),
                "tests": Part.list(
                    "What `fluxbus types test` and `fluxbusd --check` run.",
                    of: Part.either(
                        "A test of a type, or of a view.", Part.reference("test"), Part.reference("viewTest"))
                ),
            ],
        ]
    }

    private static let testStores = Part.map(
        "Other stores that are there, with members of their states.", of: ["type": "object"],
        names: "^[^/]+/.+$")
    private static let testTime = Part.either(
        "When it begins, in UTC.",
        [
            "type": "string",
            "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2})?Z)?$",
        ], ["type": "number"])
    private static let testUser: JSON = [
        "description": "The user who dispatches (1000).", "type": "integer", "minimum": 0,
    ]
    private static let testUnchanged: JSON = [
        "description": "That the state is as it was at the beginning.", "const": true,
    ]

    static let testDefinitions: JSONObject = [
        "tests": Part.list(
            "What `fluxbus types test` and `fluxbusd --check` run.", of: Part.reference("test")),
        "test": Part.object(
            "A test: a state to begin with, one or more dispatches, and what holds after them.",
            [
                "name": Part.text("What it shows."),
                "given": Part.value(
                    "Members of the state to begin with; the others are those of a new store.", "object"),
                "stores": testStores, "store": Part.text("The name of the store (main).", "^[^/]+$"),
                "time": testTime, "uid": testUser,
                "payload": Part.value("The payload of the dispatch.", "object"),
                "dispatch": Part.oneOrMore(
                    "The action, or several, one after the other.", Part.reference("step")),
                "state": Part.value(
                    "A part of the state afterwards; null says that a member is not there.", "object"),
                "rejected": Part.either(
                    "That the last dispatch is rejected: a part of the reason, or true.", ["type": "string"],
                    ["const": true]),
                "unchanged": testUnchanged,
                "returns": Part.value("What the last dispatch returns."),
            ], required: ["dispatch"],
            [
                "anyOf": [
                    ["required": ["state"]], ["required": ["rejected"]], ["required": ["unchanged"]],
                    ["required": ["returns"]],
                ]
            ]),
        "viewTest": Part.object(
            "A test of a view: the stores that it is made of, and what it is then.",
            [
                "name": Part.text("What it shows."), "stores": testStores,
                "store": Part.text("The name of the view's store (all).", "^[^/]+$"), "time": testTime,
                "uid": testUser, "payload": Part.value("The payload of the dispatch.", "object"),
                "dispatch": Part.oneOrMore(
                    "What happens to the stores, or only time that passes.", Part.reference("step")),
                "state": Part.either(
                    "A part of the state afterwards; null says that the store is not there.",
                    ["type": "object"], ["type": "null"]),
                "unchanged": testUnchanged,
            ],
            [
                "anyOf": [["required": ["state"]], ["required": ["dispatch", "unchanged"]]]
            ]),
        "step": Part.either(
            "A dispatch: the action's name, or an object.", ["type": "string"],
            Part.object(
                "A dispatch, or only time that passes.",
                [
                    "action": Part.text("The action."), "payload": Part.value("Its payload.", "object"),
                    "store": Part.text("Another store: TYPE/NAME.", "^[^/]+/.+$"),
                    "type": Part.text("All stores of a type, or of all types with *."),
                    "after": Part.either(
                        "How long passes before it: 30s, 5m.", ["type": "string", "pattern": .string(time)],
                        ["type": "number"]),
                ], ["anyOf": [["required": ["action"]], ["required": ["after"]]]])),
    ]
}
