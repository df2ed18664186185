import BusEngine
import BusJSON
import BusMachine
import TestSupport
import Testing

/// A bus with access rules and a log, and people on its machine.
enum GuardedBus {
    static let types = [
        """
        type: thermostat
        initial: { target: 20, heating: false, secret: { pin: 1 }, log: [] }
        actions:
          measured: { payload: { celsius: number }, set: { heating: { "<": [{ var: payload.celsius }, { var: state.target }] } } }
          setTarget: { payload: { celsius: number }, set: { target: { var: payload.celsius } } }
          hide: { payload: { pin: integer }, set: { secret.pin: { var: payload.pin } } }
          note: { payload: { text: string }, append: { log: { var: payload.text } } }
        """,
        """
        type: lamp
        initial: { on: false, count: 0 }
        actions:
          switch: { payload: { on: boolean }, set: { on: { var: payload.on } }, increment: { count: 1 } }
          measured: { payload: { celsius: number }, increment: { count: 1 } }
          later: { timers: { off: { in: 60, action: switch, payload: { on: false } } } }
        """,
    ]

    static let rules = """
        roles:
          admin: [{ user: root }]
          family: [{ group: family }, { token: "phone-*" }]
          display: [{ user: bob }, { certificate: "CN=display-*" }, { certificate: "DNS:display.home" }]
          heating: [{ unit: heating.service }]
        rules:
          - { role: admin, may: all }
          - role: family
            may: [read, dispatch, history]
            match: [thermostat/*, lamp/hall]
            if: { "!": [{ ">": [{ var: payload.celsius }, 25] }] }
          - { role: family, may: [create, drop, revert], match: "lamp/own-*", if: { "<": [{ var: state.count }, 3] } }
          - { role: display, may: read, match: thermostat/*, select: [/target, /heating] }
          - { role: heating, may: [read, dispatch], match: thermostat/*, actions: [measured], maxStores: 1 }
        """

    /// Root may do all, and bob what these rules let the role `part` do.
    static func rulesOfPart(_ rules: String) -> String {
        """
        roles:
          admin: [{ user: root }]
          part: [{ user: bob }]
        rules:
          - { role: admin, may: all }
          \(rules.replacing("\n", with: "\n  "))
        """
    }

    static let users: [Int: (user: String, groups: [String])] = [
        0: ("root", ["root"]), 1001: ("ada", ["ada", "family"]), 1002: ("bob", ["bob"]),
        1003: ("mallory", ["mallory"]),
    ]

    static let stores = ["thermostat/hall", "thermostat/attic", "lamp/hall", "lamp/cellar"]

    static func setup(_ rules: String? = rules) -> MemoryBus.Setup {
        var setup = MemoryBus.Setup()
        setup.definitions = types
        setup.stores = stores
        setup.access = rules
        setup.users = users
        setup.tokens = ["0123456789abcdef": "phone-ada", "fedcba9876543210": "toaster"]
        setup.log = MemoryLog()
        return setup
    }

    static func make(_ rules: String? = rules) throws -> MemoryBus { try MemoryBus(setup(rules)) }
}

extension MemoryBus {
    var root: MemoryClient { connect(uid: 0) }
    var ada: MemoryClient { connect(uid: 1001) }
    var bob: MemoryClient { connect(uid: 1002) }
    var mallory: MemoryClient { connect(uid: 1003) }
}

extension MemoryClient {
    /// The reply to a request, whatever else came.
    func answer(_ line: String) throws -> JSON {
        let lines = try ask(line)
        return try #require(lines.last { $0["ok"] != nil }, "There was no reply to \(line)")
    }

    /// "ok", or the code of the error.
    func code(_ line: String) throws -> String {
        let reply = try answer(line)
        return reply["ok"] == true ? "ok" : reply["error"]?["code"]?.string ?? "none"
    }

    /// The events of one kind that have come.
    func events(_ kind: String = "change") throws -> [JSON] {
        try all().filter { $0["event"]?.string == kind }
    }
}
