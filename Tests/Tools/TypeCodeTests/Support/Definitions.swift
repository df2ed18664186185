/// The definitions that are printed: the sample types, and two that are as hard on a language as a definition can be.
enum Definitions {
    /// A text that would be code, or break it, if it left its comment or its literal.
    private static let hostile =
        #"*/ broken( /* \"\"\" broken( ''' \n(broken\r\nbroken\u2028broken\u0000 `broken` ${broken} \\(broken) \\ # type: ignore"#
        + #"\ntype: ignore\n/// #if broken\n\u202e😀 \\\\\n@ts-expect-error"#

    static let awkwardName = "awk-ward_1"

    /// Names that a language keeps for itself, or that are none; texts that are no comments. In the words that every daemon
    /// loads.
    static let awkward = #"""
        {
          "type": "\#(awkwardName)", "summary": "\#(hostile)",
          "initial": {
            "my name": "", "MyName": 0, "my_name": 1, "class": null, "default": 1, "in": [], "self": {}, "init": 1.5,
            "Type": 1, "Action": 2, "Name": "", "String": "s", "encode": 0, "__proto__": {}, "dash-ed": false,
            "quo\"te\\": "", "": 0, "9": 9, "größe": 1, "日本": 1, "\u202e": 1, "import": "", "str": 0, "${x}": 0
          },
          "computed": { "is new": { "==": [{ "val": "my_name" }, 1] }, "isNew": true },
          "actions": {
            "import": {
              "summary": "\#(hostile)",
              "payload": {
                "in": { "type": "integer", "summary": "\#(hostile)" }, "my name": "string?", "class": "any?",
                "quo\"te\\": { "type": "array", "default": [1, { "a": null }, "\\(x)\""] },
                "self": { "type": "number", "default": 2.25 }, "func": { "type": "string", "optional": true },
                "default": { "type": "object", "default": { "a b": [true] } }, "value1": "boolean?",
                "payload": { "type": "any", "default": null }
              },
              "set": [
                { "MyName": { "val": ["payload", "in"] } },
                { "my name": { "val": ["payload", "my name"] } }, { "class": { "val": ["payload", "class"] } },
                { "in": { "val": ["payload", "quo\"te\\"] } }, { "init": { "val": ["payload", "self"] } },
                { "self": { "val": ["payload", "default"] } }, { "Type": { "val": ["payload", "func"] } },
                { "Name": { "val": ["payload", "value1"] } }, { "import": { "val": ["payload", "payload"] } }
              ]
            },
            "list": {}, "str": {}, "init": {}, "default": {}, "dispatch": {}, "encode": {}, "self": {}, "match": {},
            "switch-on": { "set": { "dash-ed": true } }, "switch_on": { "increment": { "my_name": 1 } },
            "switchOn": { "payload": { "by": "integer" }, "increment": { "my_name": { "var": "payload.by" } } }
          }
        }
        """#

    /// Every word of a schema, in every place.
    static let everything = #"""
        {
          "type": "everything", "summary": "All that a schema can say.",
          "state": {
            "anything": { "type": "any", "default": { "a": [1, 2.5, null] } },
            "flag": { "type": "boolean", "default": true, "summary": "@ts-expect-error" },
            "count": { "type": "integer", "minimum": 0, "maximum": 100, "default": 7, "summary": "How many.\n\#(hostile)" },
            "ratio": { "type": "number", "minimum": 0.5, "default": 1 },
            "measured": { "type": "number", "nullable": true, "default": null },
            "title": { "type": "string", "minLength": 1, "maxLength": 64, "default": "none" },
            "mode": { "enum": ["auto", "by hand", "default", "", "9", "*/", "\"\\(x)"], "default": "by hand" },
            "maybe": { "type": "string", "enum": ["a", "b"], "nullable": true, "default": "a" },
            "step": { "type": "integer", "enum": [1, 2, 5, 1], "default": 2 },
            "accent": { "enum": ["\u00e9", "e\u0301"], "default": "e\u0301" },
            "factor": { "type": "number", "enum": [0.5, 1], "default": 0.5 },
            "mixed": { "enum": ["a", 1, true], "default": 1 },
            "plain list": { "type": "array", "default": [] },
            "numbers": { "type": "array", "items": "integer", "maxItems": 3, "default": [1] },
            "modes": { "type": "array", "items": { "enum": ["auto", "off"] }, "default": ["off"] },
            "grid": { "type": "array", "items": { "type": "array", "items": { "type": "number", "nullable": true } },
                      "default": [[1, null]] },
            "free": { "type": "object", "default": {} },
            "ages": { "type": "object", "values": "integer", "default": { "anna b": 5 } },
            "rooms": {
              "type": "object",
              "values": {
                "type": "object", "required": ["size", "note", "self"],
                "properties": {
                  "size": "number", "note": { "type": "string", "nullable": true, "summary": "\#(hostile)" },
                  "self": "boolean", "lights": { "type": "array", "items": "any" },
                  "both": { "type": "integer", "nullable": true }, "any thing": "any",
                  "door": { "type": "object", "properties": { "open": "boolean" }, "required": ["open"] }
                }
              },
              "default": { "hall": { "size": 9, "note": null, "self": true, "door": { "open": false } } }
            },
            "nothing": { "type": "object", "properties": {}, "default": {} },
            "union": { "type": ["string", "integer", "array", "null"], "default": null },
            "either": { "type": ["string", "null"], "default": "x" },
            "numeric": { "type": ["integer", "number"], "default": 1 },
            "fixed": { "const": "club" },
            "tags": { "type": "array", "items": "string", "minItems": 1, "maxItems": 4, "uniqueItems": true,
                      "overflow": "dropOldest", "default": ["a"] },
            "bounded": { "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "default": 0.5 },
            "spot": { "properties": { "x": { "type": "number", "default": 0.5 }, "y": "integer",
                      "mode": { "enum": ["auto", "off"], "default": "off" } }, "default": { "y": 3 } },
            "class": { "type": "string", "default": "" }
          },
          "initial": { "ratio": 2, "undeclared": 1 },
          "computed": { "sum": { "+": [1, 2] } },
          "actions": {
            "configure": {
              "payload": {
                "mode": { "enum": ["auto", "by hand", "default", "", "9", "*/", "\"\\(x)"], "summary": "How.\n\#(hostile)" },
                "level": { "type": "integer", "minimum": 0, "maximum": 100, "default": 5 },
                "measured": { "type": "number", "nullable": true },
                "limit": { "type": "number", "nullable": true, "default": null },
                "note": { "type": "string", "nullable": true, "optional": true },
                "extra": "any?", "step": { "enum": [1, 2, 5], "default": 1 },
                "door": { "type": "object", "properties": { "open": "boolean" }, "required": ["open"] },
                "ages": { "type": "object", "values": "integer", "default": {} },
                "names": { "type": "array", "items": { "type": "string", "maxLength": 5 }, "optional": true }
              },
              "set": {
                "mode": { "var": "payload.mode" }, "count": { "var": "payload.level" },
                "measured": { "var": "payload.measured" },
                "anything": [
                  { "var": "payload.limit" }, { "var": "payload.note" }, { "var": "payload.extra" },
                  { "var": "payload.step" }, { "var": "payload.door" }, { "var": "payload.ages" },
                  { "var": "payload.names" }
                ]
              }
            },
            "quiet": { "payload": { "for": "integer?" }, "set": { "anything": { "var": "payload.for" } } },
            "clear": { "set": { "count": 0 } }
          }
        }
        """#
}
