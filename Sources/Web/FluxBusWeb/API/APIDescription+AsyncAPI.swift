import BusJSON
import TypeCode

extension APIDescription {
    /// A document of AsyncAPI 3.0: the events of each type.
    package var asyncAPI: JSON {
        var (channels, operations, schemas) = (JSONObject(), JSONObject(), JSONObject())
        for type in types {
            let state = "state." + type.name
            schemas[state] = SchemaDocument.state(of: type)
            var messages: JSONObject = [
                "change": [
                    "title": .string("\(type.name) changed"),
                    "payload": [
                        "type": "object",
                        "properties": [
                            "revision": ["type": "integer"],
                            "states": [
                                "type": "object",
                                "additionalProperties": ["$ref": .string("#/components/schemas/" + state)],
                            ],
                            "changes": ["type": "object"], "dropped": Self.texts,
                        ],
                    ],
                ]
            ]
            for action in type.actions {
                let payload = "payload.\(type.name).\(action.name)"
                schemas[payload] = SchemaDocument.payload(of: action)
                messages[action.name == "change" ? "action.change" : action.name] = [
                    "title": .string("\(action.name) at a \(type.name)"),
                    "payload": [
                        "type": "object",
                        "properties": [
                            "action": ["const": .string(action.name)],
                            "payload": ["$ref": .string("#/components/schemas/" + payload)],
                        ],
                    ],
                ]
            }
            channels[type.name] = [
                "address": .string("/v1/changes?match=\(type.name)/*"), "messages": .object(messages),
            ]
            operations["follow." + type.name] = [
                "action": "receive", "channel": ["$ref": .string("#/channels/" + type.name)],
            ]
        }
        return [
            "asyncapi": "3.0.0", "info": Self.info, "channels": .object(channels),
            "operations": .object(operations),
            "components": ["schemas": .object(schemas)],
        ]
    }
}
