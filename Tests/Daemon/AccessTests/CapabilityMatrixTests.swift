import BusJSON
import TestModes
import TestSupport
import Testing

/// Each operation on each kind of target, by somebody who may do one kind of thing, with all stores.
@Suite(.inBothModes) struct CapabilityMatrixTests {
    static let capabilities: [[String]] = [
        ["read"], ["read", "history"], ["history"], ["dispatch"], ["dispatch", "read"], ["create"], ["drop"],
        ["revert"], ["manage"],
    ]

    /// What a request needs, as the page of the rules says it; nothing for what everybody may ask, and is shown less of.
    private static func needed(for line: String) throws -> Set<String> {
        let request = try JSON(parsing: line)
        let isStore = request["store"] != nil
        switch request["op"]?.string {
        case "dispatch": return request["ifRevision"] == nil ? ["dispatch"] : ["dispatch", "read"]
        case "will": return ["dispatch"]
        case "create", "drop", "revert": return [request["op"]!.string!]
        case "reload", "cancel": return ["manage"]
        case "history": return isStore ? ["history"] : []
        case "get": return isStore ? request["revision"] == nil ? ["read"] : ["history"] : []
        case "subscribe":
            if request["cause"] == true { return isStore ? ["read", "history"] : ["history"] }
            return request["actions"] == true ? ["history"] : isStore ? ["read"] : []
        default: return []
        }
    }

    @Test(
        arguments: capabilities) func nothingMoreThanAllowed(_ may: [String]) throws
    {
        for test in DispatchAccessTests.cases {
            let bus = try GuardedBus.make(
                """
                roles: { admin: [{ user: root }], guest: [{ user: mallory }] }
                rules:
                  - { role: admin, may: all }
                  - { role: guest, may: [\(may.joined(separator: ", "))] }
                """)
            #expect(try bus.root.code(#"{"op":"create","store":"lamp/own-0"}"#) == "ok")
            let timer =
                #"{"op":"dispatch","store":"lamp/cellar","action":"switch","payload":{"on":true},"in":9,"timer":"t"}"#
            #expect(try bus.root.code(timer) == "ok")
            let before = bus.engine.stateDigest
            let isAllowed = try Self.needed(for: test.line).isSubset(of: may)
            let found = try bus.mallory.code(test.line)
            #expect(found == (isAllowed ? test.root : "forbidden"), "\(may): \(test.line)")
            if found != "ok" { #expect(bus.engine.stateDigest == before) }
        }
    }
}
