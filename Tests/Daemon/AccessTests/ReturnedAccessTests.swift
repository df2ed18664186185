import BusJSON
import TestModes
import TestSupport
import Testing

/// What an action returns may tell anything of the state after it, so only who is shown all of a store is told.
@Suite(.inBothModes) struct ReturnedAccessTests {
    private static let safe = """
        type: safe
        initial: { pin: 1, door: shut }
        actions:
          turn: { payload: { to: integer }, set: { pin: = payload.to }, returns: = state.pin }
        """
    private static let rules = """
        roles:
          admin: [{ user: root }]
          reader: [{ user: ada }]
          part: [{ user: bob }]
          blind: [{ user: mallory }]
        rules:
          - { role: admin, may: all }
          - { role: reader, may: [read, dispatch], match: safe/a }
          - { role: reader, may: dispatch, match: safe/* }
          - { role: part, may: [read, dispatch], match: safe/*, select: [/door] }
          - { role: blind, may: dispatch, match: safe/* }
        """

    private func make() throws -> MemoryBus {
        var setup = GuardedBus.setup(Self.rules)
        setup.definitions = [Self.safe]
        setup.stores = ["safe/a", "safe/b"]
        return try MemoryBus(setup)
    }

    private static func turn(_ target: String, _ rest: String = "") -> String {
        let kind = target.contains("/") ? "store" : "type"
        return
            #"{"op":"dispatch","\#(kind)":"\#(target)","action":"turn","payload":{"to":7}\#(rest)}"#
    }

    @Test(arguments: ["", #","dryRun":true"#])
    func isToldToWhoSeesTheWholeStore(rest: String) throws {
        let bus = try make()
        #expect(try bus.root.answer(Self.turn("safe/b", rest))["result"] == 7)
        #expect(try bus.root.answer(Self.turn("safe", rest))["results"] == ["safe/a": 7, "safe/b": 7])
        #expect(try bus.ada.answer(Self.turn("safe/a", rest))["result"] == 7)
        for client in [bus.bob, bus.mallory] {
            let reply = try client.answer(Self.turn("safe/a", rest))
            #expect(reply["ok"] == true && reply["result"] == nil && reply["results"] == nil)
        }
        #expect(try bus.ada.answer(Self.turn("safe", rest))["results"] == ["safe/a": 7])
    }

    /// A repetition tells no more than the first reply.
    @Test func repeatedKeyTellsNoMore() throws {
        let bus = try make()
        let line = Self.turn("safe/b", #","key":"again""#)
        for client in [bus.ada, bus.bob, bus.mallory] {
            #expect(try client.answer(line)["result"] == nil)
            let again = try client.answer(line)
            #expect(again["duplicate"] == true && again["result"] == nil)
        }
        let own = Self.turn("safe/a", #","key":"own""#)
        #expect(try bus.ada.answer(own)["result"] == 7)
        #expect(try bus.ada.answer(own)["result"] == 7)
    }
}
