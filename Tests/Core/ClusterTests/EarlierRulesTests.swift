import BusCluster
import BusJSON
import BusMachine
import Testing

/// A proposal is applied by the rules that it was made by: so a member that reads what members of the version before have
/// put into the log comes to what they came to.
@Suite struct EarlierRulesTests {
    private static let form: JSON = [
        "type": "form", "initial": ["hint": "help", "name": "none"],
        "actions": [
            "drop": ["unset": ["hint"]],
            "put": ["payload": ["k": "string"], "set": ["{payload.k}": 1]],
            "go": [
                "payload": ["by": ["type": "integer", "default": 2]], "set": ["name": ["var": "payload.by"]],
            ],
        ],
    ]
    private static let closed: JSON = [
        "type": "closed", "state": ["name": ["type": "any", "default": "none"]],
        "actions": [
            "put": ["payload": ["k": "string"], "set": ["{payload.k}": 1]],
            "go": [
                "payload": ["by": ["type": "integer", "default": 3]], "set": ["name": ["var": "payload.by"]],
            ],
        ],
    ]

    private func configure(_ bus: ReplicaBus, _ form: JSON) throws -> String {
        let types: JSON = ["types": [ClusterTypes.counter, form, Self.closed]]
        return try bus.ask(.configure(Array(types.encoded.utf8)), by: #"{"daemon":true}"#).code
    }

    private func put(_ store: String, _ key: String) -> String {
        #"{"op":"dispatch","store":"\#(store)","action":"put","payload":{"k":"\#(key)"}}"#
    }

    private func bus(_ rules: Int) throws -> ReplicaBus {
        let bus = try ReplicaBus()
        bus.rules = rules
        #expect(try configure(bus, Self.form) == "ok")
        for store in ["form/a", "form/b", "closed/a"] {
            #expect(try bus.ask(#"{"op":"create","store":"\#(store)"}"#).code == "ok")
        }
        return bus
    }

    private func summarised(_ form: JSON) -> JSON {
        var members = form.object ?? [:]
        members["summary"] = "A form."
        return .object(members)
    }

    @Test func reloadsAndRevertsGoByTheirRules() throws {
        let whole: JSONObject = ["hint": "help", "name": "none"]
        let rest: JSONObject = ["name": "none"]
        let past: JSON = [
            "state": .object(rest), "version": 1, "named": ["hint", "name"], "namesAll": false,
        ]
        for (rules, expected) in [(1, whole), (2, rest)] {
            let bus = try bus(rules)
            _ = try bus.ask(#"{"op":"dispatch","store":"form/a","action":"drop"}"#)
            #expect(bus.replica.machine.state(at: "form/a") == rest)
            #expect(try configure(bus, summarised(Self.form)) == "ok")
            #expect(bus.replica.machine.state(at: "form/a") == expected)
            let line = Array(#"{"op":"revert","store":"form/b","revision":1}"#.utf8)
            let revert = ClusterEntry.Command.revert(line, past: Array(past.encoded.utf8))
            #expect(try bus.ask(revert, by: ReplicaBus.anna).code == "ok")
            #expect(bus.replica.machine.state(at: "form/b") == expected)
        }
    }

    @Test func membersThatNoDefinitionNamesGoByTheirRules() throws {
        for rules in [1, 2] {
            let bus = try bus(rules)
            #expect(try bus.ask(put("closed/a", "odd")).code == (rules == 1 ? "ok" : "rejected"))
            #expect(try bus.ask(put("form/a", "odd")).code == "ok")
            #expect(try configure(bus, summarised(Self.form)) == (rules == 1 ? "rejected" : "ok"))
            let create = #"{"op":"create","store":"form/c","state":{"odd":1}}"#
            #expect(try bus.ask(create).code == (rules == 1 ? "invalid_request" : "ok"))
            // What earlier rules took does not stand in the way of later ones.
            bus.rules = 2
            #expect(try configure(bus, summarised(Self.form)) == "ok")
            #expect(try bus.ask(put("closed/a", "odd")).code == "rejected")
        }
    }

    @Test func timesThatArePastGoByTheirRules() throws {
        for rules in [1, 2] {
            let bus = try bus(rules)
            func code(_ at: Double) throws -> String {
                try bus.ask(
                    #"{"op":"dispatch","store":"form/a","action":"drop","at":\#(at),"key":"\#(at)"}"#
                ).code
            }
            #expect(try code(928_281_600) == (rules == 1 ? "ok" : "invalid_request"))
            let soon = Double(bus.clock / 1000 + 30)
            #expect(try code(soon) == "ok")
            // The request that is sent again after its time is the one before.
            bus.clock += 3_600_000
            #expect(try code(soon) == "ok")
        }
    }

    /// Requests are checked as on one machine: in the order of the access rules, and before anything is looked up.
    @Test func checksGoByTheirRules() throws {
        for rules in [2, 3] {
            let bus = try bus(rules)
            let version = #"{"op":"create","store":"form/z","version":1}"#
            #expect(try bus.ask(version).code == (rules == 2 ? "ok" : "invalid_request"))
            let access: JSON = [
                "access": [
                    "roles": ["caller": [["token": "anna"]]],
                    "rules": [["role": "caller", "may": "dispatch", "match": "form/*"]],
                ]
            ]
            let configure = ClusterEntry.Command.configure(Array(access.encoded.utf8))
            #expect(try bus.ask(configure, by: #"{"daemon":true}"#).code == "ok")
            let by = #"{"token":"anna","address":"a","roles":["caller"]}"#
            let cancel = #"{"op":"cancel","store":"form/none","timer":"t"}"#
            #expect(try bus.ask(cancel, by: by).code == (rules == 2 ? "unknown_store" : "forbidden"))
            let clear = #"{"op":"will","actions":[]}"#
            #expect(try bus.ask(clear, by: by).code == "ok")
            #expect(bus.replica.machine.sessionCount == (rules == 2 ? 1 : 0))
        }
    }

    /// A user may have half of the sessions that others leave, of all that may wait for their clients; by earlier rules any
    /// number did.
    @Test func sessionsThatWaitGoByTheirRules() throws {
        for rules in [2, 3] {
            let bus = try bus(rules)
            var number = 1
            func waiting(after count: Int, of user: String, isOperator: Bool = false) throws -> Int {
                for _ in 0..<count {
                    number += 1
                    let by = Array(#"{"token":"\#(user)","address":"a"}"#.utf8)
                    let will = Array(
                        #"{"op":"will","actions":[{"store":"form/a","action":"drop"}]}"#.utf8)
                    let commands: [ClusterEntry.Command] = [
                        .sessionNamed("s\(number)", linger: 900), .request(will), .sessionEnded,
                    ]
                    _ = try bus.propose(
                        commands.map {
                            ClusterEntry(session: number, by: by, isOperator: isOperator, $0)
                        })
                }
                return bus.replica.machine.sessionCount
            }
            let isBounded = rules == 3
            #expect(try waiting(after: 2050, of: "anna") == (isBounded ? 2048 : 2050))
            #expect(try waiting(after: 1026, of: "bob") == (isBounded ? 3072 : 3076))
            let restored = try ClusterDisk.restored(bus.replica.snapshot(), build: .usual, omitting: [])
            #expect(restored.digest == bus.replica.digest)
            #expect(
                try waiting(after: 1026, of: "root", isOperator: true) == (isBounded ? 4096 : 4102))
        }
    }

    /// The payload of a dispatch to all types stands in the log as it was sent, or as each type takes it; and a snapshot
    /// knows by which rules the end of a member goes.
    @Test func whatIsToldGoesByTheRules() throws {
        var digests: [Int: [String]] = [:]
        for rules in [1, 2] {
            let bus = try bus(rules)
            #expect(try bus.ask(#"{"op":"dispatch","type":"*","action":"go"}"#).reply?.matched == 3)
            #expect(bus.replica.machine.state(at: "closed/a") == ["name": 3])
            #expect(
                try bus.ask(#"{"op":"will","actions":[{"type":"*","action":"go"}]}"#).code == "ok")
            let restored = try ClusterDisk.restored(bus.replica.snapshot(), build: .usual, omitting: [])
            #expect(restored.machine.rules == rules)
            let end = OrderedEntry(place: bus.replica.link.place + 1, .ended(members: ["m"]))
            let link = try #require(try bus.replica.apply(end)?.link)
            #expect(try restored.apply(end)?.link == link)
            digests[rules] = [bus.replica.machine.stateDigest]
        }
        #expect(digests[1] == digests[2])
    }

    /// Elements of a batch were actions alone.
    @Test func batchesGoByTheirRules() throws {
        for rules in [3, 4] {
            let bus = try bus(rules)
            for element in [
                #"{"store":"form/a","action":"drop","if":"true"}"#,
                #"{"store":"form/a","action":"drop","ifRevision":4}"#,
                #"{"op":"dispatch","store":"form/a","action":"drop"}"#, #"{"op":"create","store":"form/x"}"#,
                #"{"op":"drop","store":"form/x"}"#,
            ] {
                let outcome = try bus.ask(#"{"op":"dispatch","actions":[\#(element)]}"#)
                #expect(
                    (outcome.code == "invalid_request") == (rules == 3),
                    "\(rules): \(element): \(outcome.code)")
            }
        }
    }

    /// Expressions read any number of bytes once; what was committed so is committed again.
    @Test func readingWasNotCounted() throws {
        let reader: JSON = [
            "type": "form", "initial": ["list": .array(Array(repeating: 1, count: 40)), "found": 0],
            "actions": [
                "look": [
                    "payload": ["text": "string"],
                    "set": [
                        "found": [
                            "length": [
                                "filter": [
                                    ["var": "state.list"],
                                    ["!=": [["var": ""], ["val": [[2], "payload", "text"]]]],
                                ]
                            ]
                        ]
                    ],
                ]
            ],
        ]
        let text = String(repeating: "7", count: 500_000)
        for rules in 1...ClusterLimits.rules {
            let bus = try ReplicaBus()
            bus.rules = rules
            #expect(try configure(bus, reader) == "ok")
            #expect(try bus.ask(#"{"op":"create","store":"form/a"}"#).code == "ok")
            let look =
                #"{"op":"dispatch","store":"form/a","action":"look","payload":{"text":"\#(text)"}}"#
            #expect(try bus.ask(look).code == (rules < BusLimits.rulesOfReading ? "ok" : "rejected"))
            let found = bus.replica.machine.state(at: "form/a")?["found"]
            #expect(found == (rules < BusLimits.rulesOfReading ? 40 : 0))
        }
    }

    private static let increment = #""type":"counter","action":"add","payload":{"mark":1}"#

    /// A bus with many counters, each of which an action to all of them takes time for.
    private func bus(_ rules: Int, counters count: Int) throws -> ReplicaBus {
        let bus = try bus(rules)
        for start in stride(from: 0, to: count, by: 500) {
            let creations = (start..<start + 500).map { #"{"op":"create","store":"counter/c\#($0)"}"# }
            let batch = #"{"op":"dispatch","actions":[\#(creations.joined(separator: ","))]}"#
            #expect(try bus.ask(batch).code == "ok")
        }
        return bus
    }

    /// How often each counter was incremented, after one more proposal.
    private func increments(_ bus: ReplicaBus) throws -> Int {
        _ = try bus.propose([])
        return try #require(bus.count("counter/c0")?.int)
    }

    /// One proposal carried out whatever was due.
    @Test func whatIsDueGoesByTheRules() throws {
        for rules in [4, 5] {
            let bus = try bus(rules, counters: 5000)
            let later = #"{"op":"dispatch",\#(Self.increment),"in":1}"#
            for _ in 0..<50 { #expect(try bus.ask(later).code == "ok") }
            bus.clock += 2000
            let first = try increments(bus)
            #expect(rules == 4 ? first == 50 : 1..<25 ~= first, "\(first)")
            var (last, proposals) = (first, 1)
            while last < 50 {
                let next = try increments(bus)
                try #require(next > last)
                (last, proposals) = (next, proposals + 1)
            }
            #expect(last == 50 && proposals >= (rules == 4 ? 1 : 3))
        }
    }

    /// One entry of the log ended all sessions of a member that is gone.
    @Test func theEndOfAMemberGoesByTheRules() throws {
        for rules in [4, 5] {
            // A will may do less than a dispatch.
            let bus = try bus(rules, counters: 500)
            for session in 2...101 {
                let will = Array(#"{"op":"will","actions":[{\#(Self.increment)}]}"#.utf8)
                let entry = ClusterEntry(
                    session: session, by: Array(ReplicaBus.anna.utf8), .request(will))
                let outcome = try #require(try bus.propose([entry]).outcomes.first)
                if case .refused(let error) = outcome { Issue.record("\(error.message)") }
            }
            try bus.end()
            let first = try #require(bus.count("counter/c0")?.int)
            #expect(rules == 4 ? first == 100 : 1..<75 ~= first, "\(first)")
            #expect(bus.replica.strayedSessions == [])
            let restored = try ClusterDisk.restored(bus.replica.snapshot(), build: .usual, omitting: [])
            #expect(restored.digest == bus.replica.digest)
            for _ in 0..<100 where try increments(bus) < 100 {}
            #expect(bus.count("counter/c0") == 100 && bus.replica.machine.sessionCount == 0)
        }
    }

    /// What a client leaves is done with the roles that it had when its session began.
    @Test func rolesOfAWillGoByTheRules() throws {
        for rules in [4, 5] {
            let bus = try bus(rules)
            let access: JSON = [
                "access": [
                    "roles": ["boss": [["token": "anna"]], "guest": ["everyone"]],
                    "rules": [
                        ["role": "guest", "may": ["create", "dispatch"], "match": "form/*"],
                        ["role": "boss", "may": "dispatch", "match": "closed/*"],
                    ],
                ]
            ]
            let configure = ClusterEntry.Command.configure(Array(access.encoded.utf8))
            #expect(try bus.refusal(of: configure, by: #"{"daemon":true}"#) == nil)
            func by(_ roles: String) -> String { #"{"token":"anna","address":"a","roles":[\#(roles)]}"# }
            let create = #"{"op":"create","store":"form/mine","ephemeral":true}"#
            #expect(try bus.ask(create, by: by(#""guest""#)).code == "ok")
            let will = #"{"op":"will","actions":[{"store":"closed/a","action":"go"}]}"#
            #expect(try bus.ask(will, by: by(#""boss""#)).code == "ok")
            #expect(try bus.ask(.sessionEnded, by: by(#""boss""#)).code == "ok")
            let name: JSON = rules == 4 ? "none" : 3
            #expect(bus.replica.machine.state(at: "closed/a") == ["name": name])
        }
    }

    /// A `create` that is sent again after an upgrade is known by its key; by later rules, its version counts.
    @Test func keysOfCreationsOutliveTheirRules() throws {
        let bus = try bus(5)
        func create(_ name: String, _ rest: String) -> String {
            #"{"op":"create","store":"form/\#(name)","state":{},"key":"\#(name)"\#(rest)}"#
        }
        let version = #","version":1"#
        #expect(try bus.ask(create("x", version)).code == "ok")
        #expect(try bus.ask(create("y", "")).code == "ok")
        bus.rules = 6
        #expect(try bus.ask(create("x", version)).reply?.isDuplicate == true)
        #expect(try bus.ask(create("y", "")).reply?.isDuplicate == true)
        #expect(try bus.ask(create("z", version)).code == "ok")
        #expect(try bus.ask(create("z", version)).reply?.isDuplicate == true)
        #expect(try bus.ask(create("z", "")).code == "conflict")
        #expect(try bus.ask(create("x", #","state":{"name":1}"#)).code != "ok")
    }

    private static let list: JSON = [
        "type": "form", "expressions": "cel",
        "initial": ["list": .array(Array(repeating: 1, count: 50_000)), "map": [:]],
        "actions": [
            "sweep": [
                "payload": ["marks": "array"],
                "each": ["in": "payload.marks", "as": "mark", "remove": ["list": "= mark"]],
            ],
            "patch": ["payload": ["with": "object"], "set": ["map": "= state.map.merge(payload.with)"]],
            "go": ["when": "state.map.missing > 1"],
        ],
    ]

    private func listed(_ rules: Int) throws -> ReplicaBus {
        let bus = try ReplicaBus()
        bus.rules = rules
        #expect(try configure(bus, Self.list) == "ok")
        #expect(try bus.ask(#"{"op":"create","store":"form/a"}"#).code == "ok")
        return bus
    }

    /// What was done in vain takes from what a proposal may spend, by all rules alike.
    @Test func whatIsRefusedHasSpentItsOperations() throws {
        let marks = (10...60).map { "\($0)" }.joined(separator: ",")
        let sweep = #"{"op":"dispatch","store":"form/a","action":"sweep","payload":{"marks":[\#(marks)]}}"#
        for rules in 4...ClusterLimits.rules {
            let bus = try listed(rules)
            let entry = ClusterEntry(session: 1, by: Array(ReplicaBus.anna.utf8), .request(Array(sweep.utf8)))
            let outcomes = try bus.propose([entry, entry, entry]).outcomes
            #expect(outcomes.count == 1, "\(rules)")
            guard case .refused(let error)? = outcomes.first else { throw SimulationFailure("\(outcomes)") }
            #expect(error.message.contains("budget is used up"), "\(error.message)")
        }
    }

    /// The changes of a patch that `merge` goes through.
    @Test func mergesPayByTheirRules() throws {
        let members = (0..<100).map { #""k\#($0)":null"# }.joined(separator: ",")
        let patch =
            #"{"op":"dispatch","store":"form/a","action":"patch","payload":{"with":{"in":{\#(members)}}}}"#
        var spent: [Int] = []
        for rules in [5, 6] {
            let bus = try listed(rules)
            #expect(try bus.ask(patch).code == "ok")
            spent.append(bus.replica.machine.operationsSpent)
        }
        #expect(spent[1] - spent[0] == 100, "\(spent)")
    }

    /// An action whose `when` fails is refused by the rules before 7, and leaves the store alone by those of now.
    @Test func conditionsThatFailGoByTheirRules() throws {
        let go = #"{"op":"dispatch","store":"form/a","action":"go"}"#
        for rules in [6, 7] {
            #expect(try listed(rules).ask(go).code == (rules < 7 ? "rejected" : "ok"))
        }
    }
}
