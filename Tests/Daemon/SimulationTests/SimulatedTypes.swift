import BusJSON
import BusLogic

/// The two types that simulations use, as definitions. `ModelActions` says the same in Swift.
enum SimulatedTypes {
    static let note: JSON = [
        "type": "note",
        "initial": ["count": 0, "flag": false, "value": .null, "list": [], "map": [:], "tally": 0],
        "computed": ["size": ["+": [["var": "count"], 1]]],
        "actions": actions(step: 2),
    ]

    /// Each computed member reads another kind of write: a counter, a computed member, a list.
    static let tree: JSON = [
        "type": "tree",
        "initial": [
            "count": 0, "flag": true, "value": [:], "list": [1, 2], "map": ["a": ["x": 1, "y": [1]]],
            "tally": 0,
        ],
        "computed": [
            "twice": ["*": [["var": "count"], 2]], "isLost": ["===": [["var": "twice"], .null]],
            "isEmpty": ["!": [["var": "list"]]],
        ],
        "actions": actions(step: 3),
    ]

    /// Types have one default alike, that of `guarded`, and differ in that of `step`.
    private static func actions(step: JSON) -> JSON {
        [
            "add": ["payload": ["by": "integer"], "increment": ["count": ["var": "payload.by"]]],
            "step": [
                "payload": ["by": ["type": "integer", "default": step]],
                "increment": ["count": ["var": "payload.by"]], "toggle": ["flag"],
            ],
            "jump": ["payload": ["to": "integer"], "set": ["count": ["var": "payload.to"]]],
            "flip": ["toggle": ["flag"]],
            // No computed member reads what it writes, and one of its writes may fail behind the other.
            "pay": [
                "payload": ["by": "integer"], "toggle": ["flag"],
                "increment": ["tally": ["var": "payload.by"]],
            ],
            "put": ["payload": ["value": "any"], "set": ["value": ["var": "payload.value"]]],
            "push": ["payload": ["value": "any"], "append": ["list": ["var": "payload.value"]]],
            "pull": ["payload": ["value": "any"], "remove": ["list": ["var": "payload.value"]]],
            "key": [
                "payload": ["key": "string", "value": "any"],
                "set": ["map.{payload.key}": ["var": "payload.value"]],
            ],
            "forget": ["payload": ["key": "string"], "unset": ["map.{payload.key}"]],
            "blend": ["payload": ["value": "object"], "merge": ["map": ["var": "payload.value"]]],
            "deepen": [
                "payload": ["key": "string", "value": "any"],
                "merge": ["map.{payload.key}": ["var": "payload.value"]],
            ],
            "element": [
                "payload": ["index": "integer", "value": "any"],
                "set": ["list.{payload.index}": ["var": "payload.value"]],
            ],
            "shift": ["payload": ["index": "integer"], "unset": ["list.{payload.index}"]],
            "mixed": [
                "payload": ["key": "string", "value": "any"],
                "when": ["<": [["var": "state.count"], 5]],
                "set": ["map.{payload.key}": ["var": "payload.value"], "value": ["var": "state.map"]],
                "increment": ["count": 1],
                "append": ["list": ["var": "state.count"]],
            ],
            "guarded": [
                "payload": ["least": ["type": "integer", "default": -9]],
                "require": [
                    ["if": [">=": [["var": "state.count"], ["var": "payload.least"]]], "else": "too few"]
                ],
                "increment": ["count": 1],
            ],
            "ring": [:],
        ]
    }

    static func load() throws -> [any StateType] {
        [try DeclaredType(definition: note), try DeclaredType(definition: tree)]
    }

    /// The same, where every action takes a mark that names the request.
    static func loadMarked() throws -> [any StateType] {
        try [note, tree].map { definition in
            var definition = definition.object ?? [:]
            var actions = definition["actions"]?.object ?? [:]
            for member in actions.members {
                var action = member.value.object ?? [:]
                var payload = action["payload"]?.object ?? [:]
                payload["mark"] = "integer?"
                action["payload"] = .object(payload)
                actions[member.key] = .object(action)
            }
            definition["actions"] = .object(actions)
            return try DeclaredType(definition: .object(definition))
        }
    }
}
