import BusEngine
import BusJSON
import TestSupport

/// A bus and one client of it, whose role says what it may.
struct RequestWorld: Sendable {
    let role: String
    let uid: Int
    /// What its role may, as YAML of a rule without the role; nil: there are no rules; empty: it may nothing.
    let rule: String?
    /// Whether the bus is at its limits.
    var isFull = false

    static let all: [RequestWorld] = [
        RequestWorld(role: "noRules", uid: 1000, rule: nil),
        RequestWorld(role: "operator", uid: MemoryBus.ownUID, rule: nil),
        RequestWorld(role: "everything", uid: 1000, rule: "may: all"),
        RequestWorld(role: "nothing", uid: 1000, rule: ""),
        RequestWorld(role: "read", uid: 1000, rule: "may: read"),
        RequestWorld(role: "dispatch", uid: 1000, rule: "may: dispatch"),
        RequestWorld(role: "manage", uid: 1000, rule: "may: manage"),
        RequestWorld(role: "others", uid: 1000, rule: capable + ", match: note/main"),
        RequestWorld(role: "part", uid: 1000, rule: capable + ", match: note/*, select: [/count]"),
        RequestWorld(
            role: "while", uid: 1000,
            rule:
                "may: [dispatch, create, drop, revert], match: note/*, if: { \"<\": [{ var: state.count }, 3] }"
        ),
        RequestWorld(role: "full", uid: 1000, rule: nil, isFull: true),
    ]

    private static let capable = "may: [read, dispatch, create, drop, revert, history]"

    private static let note = """
        type: note
        initial: { count: 0, value: null }
        computed: { double: { "*": [{ var: count }, 2] } }
        actions:
          add: { payload: { by: { type: integer, default: 1 } }, increment: { count: { var: payload.by } } }
          put: { payload: { value: any }, set: { value: { var: payload.value } } }
          refuse: { require: [{ if: { "==": [{ var: state.count }, 99] }, else: it is not 99 }] }
          alarm: { timers: { t: { in: 60, action: add } } }
        """

    func bus(_ mode: BusMode) throws -> MemoryBus {
        var setup = MemoryBus.Setup()
        setup.isShared = mode == .shared
        setup.log = MemoryLog()
        setup.stores = ["note/main", "counter/main"]
        setup.definitions = [Self.note]
        setup.users = [0: ("root", []), 1000: ("ada", []), MemoryBus.ownUID: ("bus", [])]
        setup.access = rule.map { rule in
            """
            roles: { admin: [{ user: root }], guest: [{ user: ada }] }
            rules:
              - { role: admin, may: all }
            """ + (rule.isEmpty ? "" : "\n  - { role: guest, \(rule) }")
        }
        if isFull {
            setup.limits.bus.stores = 3
            setup.limits.bus.timers = 1
            setup.limits.bus.timersOfStore = 1
            setup.limits.bus.batch = 1
            setup.limits.bus.state = 256
        }
        return try MemoryBus(setup)
    }
}
