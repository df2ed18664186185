import BusHooks
import BusJSON

/// What a file of hooks of `fluxbus-web` may say.
enum HookSchema {
    private typealias Part = FileSchema

    static var hook: JSONObject {
        var dispatch = EffectSchema.dispatch
        dispatch["key"] = Part.text(
            "An expression after =: of requests with the same value the bus commits one.", "^=")
        return [
            "title": "A hook of FluxBus", "type": "object", "additionalProperties": false,
            "required": ["hook", "check", "dispatch"],
            "properties": [
                "hook": Part.text(
                    "The hook's name: requests go to /hooks/NAME.",
                    "^[a-z][A-Za-z0-9_-]{0,\(HookLimits.name - 1)}$"),
                "summary": Part.text("What it is for, in one sentence."),
                "check": Part.object(
                    "What a request has to show.", ["signature": signature, "token": token],
                    ["minProperties": 1, "maxProperties": 1]),
                "token-file": file(
                    "The file with a token of the bus, as whose role the hook acts: for a bus at tcp: or tls:."
                ),
                "headers": [
                    "description": "Headers that expressions see, by their names in small letters.",
                    "type": "array", "items": header, "maxItems": .int(HookLimits.headers),
                ],
                "if": Part.text("An expression over \(Hook.names.joined(separator: ", "))."),
                "dispatch": Part.object("The action that follows.", dispatch, required: ["action"]),
            ],
        ]
    }

    private static let header: JSON = ["type": "string", "pattern": "^[!#$%&'*+.^_`|~A-Za-z0-9-]+$"]

    private static func file(_ about: String) -> JSON {
        Part.text(
            about + " A whole path, or the name of a credential of the unit (LoadCredential=).",
            "^(/.*|[^/]+)$")
    }

    private static let secret = file(
        "The file with the secret, and with the old one on a second line while it is renewed.")

    private static let signature = Part.object(
        "An HMAC of the body in a header.",
        [
            "header": header, "file": secret,
            "prefix": Part.text("What stands before the signature: sha256=."),
            "algorithm": Part.words("The hash of the HMAC (sha256).", ["sha256"]),
            "encoding": Part.words(
                "How it is written (hex).", HookSignature.Encoding.allCases.map(\.rawValue)),
            "form": Part.words(
                "The signature of the body alone, or t=TIME,v1=SIGNATURE of both (plain).",
                HookSignature.Form.allCases.map(\.rawValue)),
            "tolerance": EffectSchema.time("How far the time of a signature may be from now (5m)."),
        ], required: ["header", "file"])

    private static let token = Part.object(
        "A secret that the request shows in full: as a bearer token, or in the header named here.",
        [
            "header": header, "file": secret,
            "prefix": Part.text("What stands before the secret in the header."),
        ],
        required: ["file"])
}
