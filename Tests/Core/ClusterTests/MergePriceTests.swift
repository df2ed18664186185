import BusCluster
import BusJSON
import BusMachine
import Testing

/// Wherever an entry has `merge` go through a patch, it pays by the rules that it was made by: members of two versions that apply it come
/// to the same.
@Suite struct MergePriceTests {
    private static let patch: JSON = ["in": .object((0..<100).map { ("k\($0)", .null) })]
    private static let merge = "size(map.merge(with)) >= 0"

    private static func form(_ members: JSONObject) -> JSON {
        var form: JSONObject = [
            "type": "form", "expressions": "cel", "initial": ["map": [:], "with": [:], "n": 0],
            "actions": [
                "put": ["payload": ["with": "object"], "set": ["with": "= payload.with"]],
                "bump": ["increment": ["n": 1]],
                "merge": ["payload": ["with": "object"], "set": ["map": "= state.map.merge(payload.with)"]],
            ],
        ]
        for member in members.members { form[member.key] = member.value }
        return .object(form)
    }

    /// What the last request has spent by the rules of now beyond those of before; each merge reads 1600 bytes, as long as 100 operations.
    private func price(
        _ requests: [String], with members: JSONObject = [:], and others: [JSON] = [], access: JSON? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Int {
        var spent: [Int] = []
        for rules in [5, 6] {
            let bus = try ReplicaBus()
            bus.rules = rules
            var text: JSONObject = ["types": .array([ClusterTypes.counter, Self.form(members)] + others)]
            text["access"] = access
            let configure = ClusterEntry.Command.configure(Array(JSON.object(text).encoded.utf8))
            #expect(
                try bus.refusal(of: configure, by: #"{"daemon":true}"#) == nil, sourceLocation: sourceLocation
            )
            let by = #"{"token":"anna","address":"a","roles":["caller"]}"#
            for line in [#"{"op":"create","store":"form/a"}"#] + requests {
                #expect(try bus.ask(line, by: by).code == "ok", sourceLocation: sourceLocation)
            }
            spent.append(bus.replica.machine.operationsSpent)
        }
        return spent[1] - spent[0]
    }

    private let put =
        #"{"op":"dispatch","store":"form/a","action":"put","payload":{"with":\#(Self.patch.encoded)}}"#
    private let bump = #"{"op":"dispatch","store":"form/a","action":"bump"}"#

    @Test func actionsPayByTheirRules() throws {
        let merge = put.replacing("\"put\"", with: "\"merge\"")
        #expect(try price([merge]) == 100)
    }

    /// Computed values of views have a budget of their own.
    @Test func actionsBehindThoseThatViewsFollowPayByTheirRules() throws {
        let view: JSON = [
            "type": "seen", "view": ["of": "form", "values": ["sum": "sum(n)"]],
            "computed": ["isLarge": "sum > 5"],
        ]
        let merge = put.replacing("\"put\"", with: "\"merge\"")
        #expect(try price([bump, merge], and: [view]) == 100)
    }

    @Test func computedValuesPayByTheirRules() throws {
        #expect(try price([put], with: ["computed": ["c": .string(Self.merge)]]) == 100)
    }

    @Test func invariantsPayByTheirRules() throws {
        #expect(try price([put], with: ["invariant": [.string(Self.merge)]]) == 100)
    }

    @Test func timersOfTypesPayByTheirRules() throws {
        let timers: JSON = ["t": ["for": "1h", "while": .string(Self.merge), "action": "bump"]]
        #expect(try price([put], with: ["timers": timers]) == 100)
    }

    @Test func conditionsOfRequestsPayByTheirRules() throws {
        #expect(try price([put, bump.dropLast() + #","if":"\#(Self.merge)"}"#]) == 100)
        let type = bump.replacing(#""store":"form/a""#, with: #""type":"form""#)
        #expect(try price([put, type.dropLast() + #","where":"\#(Self.merge)"}"#]) == 100)
    }

    @Test func conditionsOfAccessRulesPayByTheirRules() throws {
        let access: JSON = [
            "roles": ["caller": [["token": "anna"]]],
            "rules": [
                ["role": "caller", "may": ["create", "read"], "match": "form/*"],
                ["role": "caller", "may": "dispatch", "match": "form/*", "actions": ["put"]],
                [
                    "role": "caller", "may": "dispatch", "match": "form/*",
                    "if": "size(state.map.merge(state.with)) >= 0",
                ],
            ],
        ]
        #expect(try price([put, bump], access: access) == 100)
    }
}
