import BusEngine
import BusJSON
import TestSupport
import Testing

/// Tests of a bus whose rooms are seen by floor.
protocol ClimateTests {}

extension ClimateTests {
    static var room: String {
        """
        type: room
        state:
          floor: { type: string, default: ground }
          measured: { type: [number, "null"], default: null }
          on: { type: boolean, default: false }
        actions:
          measure: { payload: { celsius: number }, set: { measured: = payload.celsius } }
          move: { payload: { to: string }, set: { floor: = payload.to } }
          refuse: { require: [{ if: = state.on, else: it is off }] }
        """
    }
    static var climate: String {
        """
        view: climate
        of: room
        by: floor
        values: { rooms: count(), coldest: min(measured), floors: counts(floor) }
        """
    }

    func bus(
        _ definitions: [String] = [Self.room, Self.climate],
        change: (inout MemoryBus.Setup) -> Void = { _ in }
    ) throws -> (MemoryBus, MemoryClient) {
        var setup = MemoryBus.Setup()
        setup.definitions = definitions
        setup.log = MemoryLog()
        change(&setup)
        let bus = try MemoryBus(setup)
        return (bus, bus.connect(uid: 0))
    }

    /// The same, and eve sees of the climate how many rooms there are.
    func guardedBus() throws -> (MemoryBus, MemoryClient) {
        try bus { setup in
            setup.users = [0: ("root", []), 1: ("eve", [])]
            setup.access = """
                roles: { admin: [{ user: root }], guest: [{ user: eve }] }
                rules:
                  - { role: admin, may: all }
                  - { role: guest, may: read, match: climate/*, select: [/rooms] }
                """
        }
    }

    @discardableResult
    func reply(_ client: MemoryClient, _ line: String) throws -> JSON {
        try #require(try client.ask(line).last { $0["ok"] != nil })
    }

    func views(_ client: MemoryClient, _ pattern: String = "climate/*") throws -> JSON? {
        try reply(client, #"{"op":"get","match":"\#(pattern)"}"#)["states"]
    }

    func create(_ client: MemoryClient, _ address: String, _ rest: String = "") throws {
        #expect(try reply(client, #"{"op":"create","store":"\#(address)"\#(rest)}"#)["ok"] == true)
    }

    func measure(_ celsius: Int, _ rest: String = "") -> String {
        #"{"op":"dispatch","store":"room/a","action":"measure","payload":{"celsius":\#(celsius)}\#(rest)}"#
    }
}
