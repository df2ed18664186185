import BusJSON
import BusLogic
import BusSource
import BusYAML
import TestSupport

/// Files with a definition: they are refused with a place, or are a type that works and comes back from what it says of itself.
enum YAMLTarget: FuzzTarget {
    static let name = "YAML"

    static func seeds() throws -> [[UInt8]] {
        let further = """
            type: shelf
            version: 3
            state: { list: { type: array, items: integer, maxItems: 4 }, mode: { enum: [a, b] }, n: number }
            initial: { list: [1], mode: a, n: 0 }
            migrate:
              1: { set: { mode: b }, unset: [old] }
              2: { set: { n: { "+": [{ var: state.n }, 1] } } }
            ttl: 1h
            actions:
              put:
                payload: { value: { type: integer, minimum: 0, default: 1 } }
                append: { list: { var: payload.value } }
                timers: { again: { in: 5s, action: put, payload: { value: 2 } }, gone: null }
            """
        return try SampleTypes.files().map(\.bytes) + [Array(further.utf8)]
    }

    static func run(_ bytes: UnsafeRawBufferPointer) -> Bool {
        do throws(SourceError) {
            let type = try DeclaredType(LocatedValue.read(Array(bytes), file: "fuzz.yaml"))
            let again = try DeclaredType(definition: type.definition)
            demand(
                again.definition == type.definition, "A type does not come back from its definition.")
            use(type)
            return true
        } catch {
            demand(error.line > 0 && error.column > 0, "An error has no place: \(error)")
            return false
        }
    }

    /// Every action once without a payload, on a store of the type.
    private static func use(_ type: DeclaredType) {
        var bus = FuzzedBus([type])
        let store = JSON.string(type.name + "/a")
        var requests: [JSONObject] = [
            ["op": "create", "store": store], ["op": "subscribe", "store": store],
        ]
        for action in type.actionNames.prefix(16) {
            requests.append(["op": "dispatch", "store": store, "action": .string(action)])
        }
        _ = bus.send(requests.map { Array(($0.encoded + "\n").utf8) })
        bus.end()
    }
}
