import BusJSON
import BusLogic
import BusProtocol
import BusSource
import BusYAML
import Testing

/// Payloads are checked against what the action declares, and defaults are filled in.
struct PayloadTests {
    private let type: DeclaredType

    init() throws {
        type = try DeclaredType(
            LocatedValue.read(
                """
                type: thing
                initial: {}
                actions:
                  act:
                    payload:
                      celsius: number
                      count: { type: integer, default: 1, summary: How many. }
                      name: string?
                      tags: { type: array, optional: true }
                      extra: any?
                      at: { type: object?, default: { x: 1 } }
                      on: boolean?
                  none: {}
                """, file: "thing.yaml"))
    }

    private func accept(_ payload: JSONObject, _ action: String = "act") throws -> JSONObject {
        try type.accept(payload, for: #require(type.actionNames.firstIndex(of: action)))
    }

    @Test func defaultsAreFilledIn() throws {
        #expect(try accept(["celsius": 1]) == ["celsius": 1, "count": 1, "at": ["x": 1]])
        let full: JSONObject = [
            "celsius": 1.5, "count": 2, "name": "n", "tags": [], "extra": .null, "at": [:], "on": true,
        ]
        #expect(try accept(full) == full)
        #expect(try accept([:], "none") == [:])
    }

    @Test(arguments: [
        (#"{}"#, "act needs a number as payload.celsius; add it."),
        (#"{"celsuis":1}"#, "act takes no payload.celsuis; did you mean `celsius`?"),
        (
            #"{"celsius":1,"zzz":1}"#,
            "act takes no payload.zzz; valid here: `at`, `celsius`, `count`, `extra`, `name`, `on`, `tags`."
        ),
        (#"{"celsius":1,"aaa":1}"#, "act takes no payload.aaa"),
        (#"{"celsius":"1"}"#, "act takes a number as payload.celsius, not a string."),
        (#"{"celsius":1,"count":1.0}"#, "act takes an integer as payload.count, not a number."),
        (#"{"celsius":1,"name":null}"#, "act takes a string as payload.name, not null."),
        (#"{"celsius":1,"tags":{}}"#, "act takes an array as payload.tags, not an object."),
        (#"{"celsius":1,"at":[]}"#, "act takes an object as payload.at, not an array."),
        (#"{"celsius":1,"on":0}"#, "act takes a boolean as payload.on, not an integer."),
    ])
    func whatDoesNotFitIsNamed(_ payload: String, _ message: String) throws {
        let object = try #require(JSON(parsing: payload).object)
        let failure = #expect(throws: PayloadFailure.self) { try accept(object) }
        #expect(failure?.message.hasPrefix(message) == true, "\(failure?.message ?? "")")
    }

    @Test func anActionWithoutPayloadTakesNone() throws {
        let failure = #expect(throws: PayloadFailure.self) { try accept(["x": 1], "none") }
        #expect(failure?.message == "none takes no payload; leave payload.x out.")
    }
}
