import BusCluster
import BusJSON
import BusMachine
import Testing

/// Requests of which the rules of now make something else than those of members that have not been upgraded.
extension EarlierRulesTests {
    /// A store that a drop by value takes is gone by the rules before 8, though an element behind it leaves it as it is.
    @Test func storesThatAreLeftAsTheyAreGoByTheirRules() throws {
        let create = #"{"op":"create","store":"counter/a","ifMissing":true}"#
        let batch =
            #"{"op":"dispatch","actions":[{"op":"drop","type":"counter","where":"true"},\#(create)]}"#
        for rules in [7, 8] {
            let bus = try ReplicaBus()
            bus.rules = rules
            #expect(try bus.ask(create).code == "ok")
            #expect(try bus.ask(batch, isOperator: true).code == (rules < 8 ? "ok" : "exists"))
            #expect((bus.replica.machine.state(at: "counter/a") == nil) == (rules < 8))
        }
    }

    /// By the rules before 8 whoever has set a timer takes it away, whether or not its store is shown. By those of now only what a
    /// request has set, which a member that comes from a copy knows, too.
    @Test func timersOfHiddenStoresGoByTheirRules() throws {
        let later: JSON = ["timers": ["set": ["in": 60, "action": "off"]]]
        let lamp: JSON = ["type": "lamp", "initial": ["on": true], "actions": ["later": later, "off": [:]]]
        let access: JSON = [
            "types": [ClusterTypes.counter, lamp],
            "access": [
                "roles": ["caller": [["token": "anna"]]],
                "rules": [["role": "caller", "may": "dispatch", "match": "lamp/*"]],
            ],
        ]
        let by = #"{"token":"anna","address":"a","roles":["caller"]}"#
        let dispatch = #"{"op":"dispatch","store":"lamp/a","action":"#
        for rules in [7, 8] {
            let bus = try ReplicaBus()
            bus.rules = rules
            let configure = ClusterEntry.Command.configure(Array(access.encoded.utf8))
            #expect(try bus.ask(configure, by: #"{"daemon":true}"#).code == "ok")
            #expect(try bus.ask(#"{"op":"create","store":"lamp/a"}"#, by: #"{"daemon":true}"#).code == "ok")
            #expect(try bus.ask(dispatch + #""later"}"#, by: by).code == "ok")
            for name in ["mine", "other"] {
                #expect(try bus.ask(dispatch + #""off","in":60,"timer":"\#(name)"}"#, by: by).code == "ok")
            }
            let copy = try ClusterDisk.restored(bus.replica.snapshot(), build: .usual, omitting: [])
            func cancel(_ name: String) throws -> String {
                let line = #"{"op":"cancel","store":"lamp/a","timer":"\#(name)"}"#
                let code = try bus.ask(line, by: by).code
                #expect(try bus.repeated(by: copy).link == bus.replica.link)
                return code
            }
            #expect(try cancel("mine") == "ok")
            #expect(try cancel("set") == (rules < 8 ? "ok" : "forbidden"))
        }
    }
}
