import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// What may not be read influences nothing that a client receives: neither stores beside those that it reads, nor the rest
/// of a state of which it reads parts.
@Suite(.inBothModes) struct HiddenChangeTests {
    private static let rules = """
        roles: { admin: [{ user: root }], guest: [{ user: mallory }], writer: [{ user: bob }] }
        rules:
          - { role: admin, may: all }
          - { role: guest, may: [read, dispatch, revert], match: thermostat/*, select: [/target] }
          - { role: guest, may: [read, create], match: "lamp/a*" }
          - { role: writer, may: dispatch, match: [thermostat/*, vault/*] }
        """

    private static let vault = """
        type: vault
        initial: { code: 7, mode: shut }
        actions:
          open:
            payload: { code: integer }
            require: [{ if: { "==": [{ var: payload.code }, { var: state.code }] }, else: { cat: ["the code is ", { var: state.code }] } }]
            set: { mode: open }
          knock: { require: [{ if: { "==": [{ var: state.mode }, open] }, else: it is shut }] }
          grow: { payload: { by: integer }, increment: { code: { var: payload.by } } }
          reach: { set: { "code.deep": 1 } }
        """

    private func make() throws -> MemoryBus {
        var setup = GuardedBus.setup(Self.rules)
        setup.definitions += [Self.vault]
        setup.stores += ["vault/one", "vault/two"]
        return try MemoryBus(setup)
    }

    private func hide(_ pin: Int, _ bus: MemoryBus) throws {
        #expect(
            try bus.root.code(
                #"{"op":"dispatch","store":"thermostat/hall","action":"hide","payload":{"pin":\#(pin)}}"#)
                == "ok")
    }

    private func set(_ target: Int, _ bus: MemoryBus) throws {
        #expect(
            try bus.root.code(
                #"{"op":"dispatch","store":"thermostat/hall","action":"setTarget","payload":{"celsius":\#(target)}}"#
            ) == "ok")
    }

    private func revision(of store: String, for client: MemoryClient) throws -> Int? {
        try client.answer(#"{"op":"stores","match":"thermostat/*"}"#)["stores"]?.array?
            .first { $0["store"]?.string == store }?["revision"]?.int
    }

    // MARK: Pages

    /// A page ends where a further store that is shown follows, whatever else does.
    @Test(arguments: ["get", "stores"]) func pagesEndWhereWhatIsShownEnds(_ op: String) throws {
        let bus = try make()
        let (root, mallory) = (bus.root, bus.mallory)
        _ = try root.answer(#"{"op":"create","store":"lamp/a1"}"#)
        let line = #"{"op":"\#(op)","match":"lamp/*","limit":1}"#
        // lamp/cellar and lamp/hall follow, which are not shown.
        #expect(try mallory.answer(line)["next"] == nil)
        _ = try mallory.answer(#"{"op":"create","store":"lamp/a0"}"#)
        #expect(try mallory.answer(line)["next"] == "lamp/a0")
        #expect(
            try mallory.answer(#"{"op":"\#(op)","match":"lamp/*","limit":1,"after":"lamp/a0"}"#)["next"]
                == nil)
        #expect(try root.answer(line)["next"] == "lamp/a0")
    }

    /// However many stores are not shown, looking past them is divided into slices.
    @Test func lookingPastHiddenStoresIsDivided() throws {
        let bus = try make()
        let (root, mallory) = (bus.root, bus.mallory)
        _ = try root.answer(#"{"op":"create","store":"lamp/a1"}"#)
        for number in 0..<3000 { root.queue(#"{"op":"create","store":"lamp/b\#(number)"}"#) }
        bus.settle()
        _ = try root.all()
        #expect(try root.answer(#"{"op":"stores","match":"lamp/*","limit":1}"#)["next"] == "lamp/a1")
        mallory.queue(#"{"op":"stores","match":"lamp/*","limit":1}"#)
        mallory.queue(#"{"op":"ping"}"#)
        bus.settle()
        let replies = try mallory.all()
        #expect(replies.count == 2 && replies[0]["next"] == nil)
        #expect(replies[0]["stores"]?.array?.count == 1)
    }

    /// A page is not ended by the size of what is not shown either.
    @Test func thePartsThatAreShownFillAPage() throws {
        let bus = try make()
        let root = bus.root
        let text = String(repeating: "x", count: 900_000)
        for store in ["attic", "hall"] {
            #expect(
                try root.code(
                    #"{"op":"dispatch","store":"thermostat/\#(store)","action":"note","payload":{"text":"\#(text)"}}"#
                ) == "ok")
        }
        let reply = try bus.mallory.answer(#"{"op":"get","match":"thermostat/*"}"#)
        #expect(reply["states"] == ["thermostat/attic": ["target": 20], "thermostat/hall": ["target": 20]])
        #expect(reply["next"] == nil)
    }

    // MARK: Revisions

    @Test func theRevisionOfAStoreIsThatOfItsLastChangeThatIsSeen() throws {
        let bus = try make()
        let mallory = bus.mallory
        try set(21, bus)
        let seen = bus.engine.revision
        try hide(5, bus)
        #expect(try revision(of: "thermostat/hall", for: mallory) == seen)
        #expect(try revision(of: "thermostat/hall", for: bus.root) == seen + 1)
        func dispatch(_ expected: Int) throws -> JSON {
            try mallory.answer(
                #"{"op":"dispatch","store":"thermostat/hall","action":"hide","payload":{"pin":1},"ifRevision":\#(expected),"dryRun":true}"#
            )
        }
        #expect(try dispatch(seen)["ok"] == true)
        let conflict = try dispatch(seen + 1)["error"]
        #expect(conflict?["code"] == "conflict" && conflict?["revision"]?.int == seen)
        #expect(
            try mallory.answer(
                #"{"op":"revert","store":"thermostat/hall","revision":\#(seen),"ifRevision":\#(seen + 1)}"#)[
                    "error"]?["revision"]?.int == seen)
        #expect(
            try mallory.code(
                #"{"op":"revert","store":"thermostat/hall","revision":\#(seen),"ifRevision":\#(seen)}"#)
                == "ok")
    }

    /// From the log, and from a snapshot.
    @Test(.aloneOnly(because: "A member of a shared bus hands nothing over."))
    func whatWasSeenOutlivesTheDaemon() throws {
        let bus = try make()
        try set(21, bus)
        let seen = bus.engine.revision
        try hide(5, bus)
        #expect(try revision(of: "thermostat/hall", for: bus.crash().mallory) == seen)
        try bus.restart()
        #expect(try revision(of: "thermostat/hall", for: bus.mallory) == seen)
        bus.written?.takeSnapshot(bus.engine.snapshot(), at: bus.engine.revision)
        try hide(6, bus)
        let next = try bus.crash()
        #expect(try revision(of: "thermostat/hall", for: next.mallory) == seen)
        try set(22, next)
        #expect(try revision(of: "thermostat/hall", for: next.mallory) == next.engine.revision)
    }

    /// Since rules came into force: what changed before is not told apart.
    @Test func newRulesBeginWithTheirOwnRevision() throws {
        let bus = try make()
        try set(21, bus)
        bus.access = Self.rules.replacing("[/target]", with: "[/target, /heating]")
        #expect(try bus.root.code(#"{"op":"reload"}"#) == "ok")
        let since = bus.engine.revision
        try hide(5, bus)
        #expect(try revision(of: "thermostat/hall", for: bus.mallory) == since)
        #expect(try revision(of: "thermostat/attic", for: bus.mallory) == since)
    }

    // MARK: The past

    /// Of a commit that changed what is shown, only that is told; of one that is not shown, that it was.
    @Test func blameTellsOfACommitWhatHistoryTells() throws {
        let bus = try MemoryBus(GuardedBus.setup())
        let (root, ada) = (bus.root, bus.ada)
        let question = #"{"op":"blame","store":"lamp/hall","path":"/count"}"#
        let on = #""action":"switch","payload":{"on":true}"#
        #expect(
            try root.code(
                "{\"op\":\"dispatch\",\"actions\":[{\"store\":\"lamp/hall\",\(on)},{\"store\":\"lamp/cellar\",\(on)}]}"
            ) == "ok")
        let batch = try ada.answer(question)["values"]?[0]?["commit"]
        #expect(batch?["actions"]?.array?.map { $0["store"] } == ["lamp/hall"])
        #expect(try root.answer(question)["values"]?[0]?["commit"]?["actions"]?.array?.count == 2)
        #expect(try root.code("{\"op\":\"dispatch\",\"type\":\"lamp\",\(on)}") == "ok")
        let whole = try ada.answer(question)["values"]?[0]
        #expect(whole?["value"] == 2 && whole?["old"] == 1)
        #expect(whole?["commit"]?.object?.keys.sorted() == ["revision", "time"])
        #expect(try root.answer(question)["values"]?[0]?["commit"]?["actions"]?.array?.count == 1)
        for op in [
            #"{"op":"blame","store":"lamp/cellar"}"#,
            #"{"op":"samples","store":"lamp/cellar","path":"/count"}"#,
        ] {
            #expect(try ada.code(op) == "forbidden")
        }
    }

    /// What is looked for is looked for in what is shown.
    @Test func hiddenStepsAreFoundByNobodyElse() throws {
        let bus = try MemoryBus(GuardedBus.setup())
        let (root, ada) = (bus.root, bus.ada)
        #expect(
            try root.code(
                #"{"op":"dispatch","actions":[{"store":"lamp/hall","action":"switch","payload":{"on":true}},{"store":"lamp/cellar","action":"switch","payload":{"on":false}},{"store":"lamp/cellar","action":"later"}]}"#
            ) == "ok")
        func found(_ filter: String, by client: MemoryClient) throws -> Int? {
            try client.answer(#"{"op":"history"\#(filter)}"#)["commits"]?.array?.count
        }
        for (condition, count) in [
            ("", 1), ("on == true", 1), ("on == false", 0), ("store == 'lamp/cellar'", 0),
        ] {
            let filter = #","action":"switch""# + (condition.isEmpty ? "" : #","where":"\#(condition)""#)
            #expect(try found(filter, by: ada) == count, "\(filter)")
            #expect(try found(filter, by: root) == 1, "\(filter)")
        }
        #expect(try found(#","action":"later""#, by: ada) == 0)
        #expect(try found(#","action":"later""#, by: root) == 1)
    }

    // MARK: Subscriptions

    @Test func aResumptionDeliversWhatIsSeen() throws {
        let bus = try make()
        try set(21, bus)
        let seen = bus.engine.revision
        try hide(5, bus)
        func resumed() throws -> JSON? {
            try bus.mallory.ask(
                #"{"op":"subscribe","match":"*/*","since":\#(seen),"epoch":"\#(bus.epoch)"}"#
            ).last
        }
        let first = try resumed()
        #expect(first?["changes"] == [:] && first?["states"] == nil)
        try set(22, bus)
        #expect(try resumed()?["states"] == ["thermostat/hall": ["target": 22]])
    }

    @Test func aRevertIsAnEventWhereItChangesWhatIsSeen() throws {
        let bus = try make()
        let (root, mallory) = (bus.root, bus.mallory)
        try set(21, bus)
        let before = bus.engine.revision
        try hide(5, bus)
        _ = try mallory.ask(#"{"op":"subscribe","match":"*/*"}"#)
        let revert = #"{"op":"revert","store":"thermostat/hall","revision":\#(before)}"#
        #expect(try root.code(revert) == "ok")
        #expect(try mallory.events().isEmpty)
        try set(22, bus)
        #expect(try mallory.events().count == 1)
        #expect(try root.code(revert) == "ok")
        #expect(try mallory.events().map { $0["states"] } == [["thermostat/hall": ["target": 21]]])
    }

    /// The first state and what a slow reader is delivered come in an order that tells nothing.
    @Test(arguments: [false, true]) func theOrderOfStoresTellsNothing(isLarge: Bool) throws {
        func states(_ first: String, _ last: String) throws -> [String] {
            let bus = try make()
            let root = bus.root
            if isLarge {
                for number in 0..<1100 { root.queue(#"{"op":"create","store":"thermostat/r\#(number)"}"#) }
                bus.settle()
            }
            for store in [first, last] {
                _ = try root.answer(
                    #"{"op":"dispatch","store":"thermostat/\#(store)","action":"hide","payload":{"pin":3}}"#)
            }
            let slow = bus.mallory
            let event = try slow.ask(#"{"op":"subscribe","match":"*/*"}"#).last
            slow.isFullWhenNotReading = true
            slow.isReading = false
            try set(25, bus)
            try hide(4, bus)
            slow.isReading = true
            return try [event].map { $0?.encoded ?? "" } + slow.all().map(\.encoded)
        }
        #expect(try states("hall", "attic") == states("attic", "hall"))
    }

    // MARK: What a dispatch tells

    @Test func whatIsSeenToChangeIsCountedAndShown() throws {
        let bus = try make()
        let mallory = bus.mallory
        func dispatch(_ action: String, _ payload: String, _ more: String = "") throws -> JSON {
            try mallory.answer(
                #"{"op":"dispatch","type":"thermostat","action":"\#(action)","payload":\#(payload)\#(more)}"#)
        }
        let trial = try dispatch("setTarget", #"{"celsius":17}"#, #","dryRun":true"#)
        #expect(trial["matched"] == 2 && trial["changed"] == 2)
        #expect(
            trial["changes"] == ["thermostat/attic": ["target": 17], "thermostat/hall": ["target": 17]])
        #expect(try dispatch("setTarget", #"{"celsius":17}"#)["changed"] == 2)
        #expect(try dispatch("setTarget", #"{"celsius":17}"#)["changed"] == 0)
        let hidden = try dispatch("hide", #"{"pin":17}"#, #","dryRun":true"#)
        #expect(hidden["matched"] == 2 && hidden["changed"] == 0 && hidden["changes"] == [:])
        #expect(try dispatch("hide", #"{"pin":17}"#)["changed"] == 0)
    }

    /// What kind of reason there was is told to who may only dispatch, and a text of the type that is always the same.
    @Test func rejectionsShowNoState() throws {
        let bus = try make()
        let (root, bob) = (bus.root, bus.bob)
        func error(_ client: MemoryClient, _ target: String, _ action: String, _ payload: String = "{}")
            throws
            -> JSON?
        {
            try client.answer(
                #"{"op":"dispatch",\#(target),"action":"\#(action)","payload":\#(payload)}"#)["error"]
        }
        let one = #""store":"vault/one""#
        let guess = try error(bob, one, "open", #"{"code":1}"#)
        #expect(
            guess == [
                "code": "rejected", "message": "vault/one refused open: what it requires does not hold.",
                "store": "vault/one", "action": "open",
            ])
        #expect(
            try error(root, one, "open", #"{"code":1}"#)?["message"]
                == "vault/one refused open: the code is 7.")
        #expect(try error(bob, one, "knock")?["message"] == "vault/one refused knock: it is shut.")
        let range = try error(bob, one, "grow", #"{"by":9223372036854775807}"#)
        #expect(range?["message"] == "vault/one refused grow: a write of it is not possible.")
        #expect(range?["path"] == nil)
        #expect(try error(bob, one, "reach")?["path"] == nil)
        #expect(try error(root, one, "reach")?["path"] != nil)
        // Which store of a type it was is not told either.
        let all = try error(bob, #""type":"vault""#, "knock")
        #expect(all?["store"] == nil && all?["message"] == "A store of vault refused knock: it is shut.")
        #expect(try error(root, #""type":"vault""#, "knock")?["store"] == "vault/one")
    }

    /// A rule's condition that does not hold names no store that is not shown.
    @Test func deniedDispatchesToATypeNameNoHiddenStore() throws {
        let bus = try GuardedBus.make(
            """
            roles: { admin: [{ user: root }], writer: [{ user: bob }] }
            rules:
              - { role: admin, may: all }
              - { role: writer, may: dispatch, match: lamp/*, if: { "<": [{ var: state.count }, 1] } }
            """)
        let line = #"{"op":"dispatch","type":"lamp","action":"switch","payload":{"on":true}}"#
        #expect(try bus.root.code(line) == "ok")
        let error = try bus.bob.answer(line)["error"]
        #expect(error?["code"] == "forbidden" && error?["store"] == "lamp")
        #expect(error?["message"]?.string?.contains("lamp/") == false)
    }

    // MARK: Batches

    /// An action of a batch has the place that it has among those that are shown, live and from the log.
    @Test func actionsThatAreNotShownHaveNoPlaceInABatch() throws {
        let bus = try GuardedBus.make()
        let (root, ada) = (bus.root, bus.ada)
        let start = bus.engine.revision
        _ = try ada.ask(#"{"op":"subscribe","match":"lamp/hall","actions":true}"#)
        let hidden = #"{"store":"lamp/cellar","action":"switch","payload":{"on":true}}"#
        let shown = #"{"store":"lamp/hall","action":"switch","payload":{"on":true}}"#
        _ = try root.ask(#"{"op":"dispatch","actions":[\#(hidden),\#(shown)]}"#)
        _ = try root.ask(#"{"op":"dispatch","actions":[\#(shown),\#(hidden),\#(shown)]}"#)
        let indices = try ada.events("action").map { $0["index"]?.int }
        #expect(indices == [nil, 0, 1])
        let late = try bus.ada.ask(
            #"{"op":"subscribe","match":"lamp/hall","actions":true,"since":\#(start),"epoch":"\#(bus.epoch)"}"#
        )
        #expect(late.filter { $0["event"] == "action" }.map { $0["index"]?.int } == indices)
    }

    // MARK: Managing

    /// A rule about some stores does not make one an operator of the bus.
    @Test func allOfSomeStoresIsNotTheBus() throws {
        let bus = try GuardedBus.make(
            """
            roles: { admin: [{ user: root }], owner: [{ user: bob }] }
            rules:
              - { role: admin, may: all }
              - { role: owner, may: all, match: lamp/* }
            """)
        let (root, bob) = (bus.root, bus.bob)
        #expect(try bob.code(#"{"op":"get","store":"lamp/hall"}"#) == "ok")
        #expect(try bob.code(#"{"op":"reload"}"#) == "forbidden")
        // Others are not there for it.
        #expect(try bob.code(#"{"op":"kick","client":1}"#) == "unknown_client")
        #expect(try bob.answer(#"{"op":"stats"}"#)["stats"]?.object?.keys == ["epoch", "revision"])
        #expect(!root.isEnded)
    }
}
