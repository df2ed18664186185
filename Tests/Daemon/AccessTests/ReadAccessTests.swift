import BusEngine
import BusJSON
import BusLogic
import TestModes
import TestSupport
import Testing

/// Who sees what: what one may not read is not there, in whatever way one looks.
@Suite(.inBothModes) struct ReadAccessTests {
    @Test func readsShowWhatOneMayRead() throws {
        let bus = try GuardedBus.make()
        let (ada, bob) = (bus.ada, bus.bob)
        let all = #"{"op":"get","match":"*/*"}"#
        #expect(
            try ada.answer(all)["states"]?.object?.keys == [
                "lamp/hall", "thermostat/attic", "thermostat/hall",
            ])
        let part: JSON = ["heating": false, "target": 20]
        #expect(try bob.answer(all)["states"] == ["thermostat/attic": part, "thermostat/hall": part])
        #expect(
            try bob.answer(#"{"op":"get","store":"thermostat/hall"}"#)["states"]?["thermostat/hall"] == part)
        // What one selects is taken from what one sees.
        #expect(
            try bob.answer(#"{"op":"get","store":"thermostat/hall","select":["/secret","/target"]}"#)[
                "states"]
                == ["thermostat/hall": ["target": 20]])
        #expect(try bus.mallory.answer(all)["states"] == [:])
        let names = { (client: MemoryClient) in
            try client.answer(#"{"op":"stores"}"#)["stores"]?.array?.compactMap { $0["store"]?.string }
        }
        #expect(try names(ada) == ["lamp/hall", "thermostat/attic", "thermostat/hall"])
        #expect(try names(bob) == ["thermostat/attic", "thermostat/hall"])
        let types = { (client: MemoryClient) in
            try client.answer(#"{"op":"types"}"#)["types"]?.array?.compactMap { $0["type"]?.string }
        }
        #expect(try types(ada) == ["lamp", "thermostat"])
        #expect(try types(bob) == ["thermostat"])
        #expect(try types(bus.mallory) == [])
        #expect(try bus.root.answer(#"{"op":"stores"}"#)["stores"]?.array?.count == 4)
    }

    /// A page is as long as was asked for: what is not shown takes no room in it.
    @Test func pagesAreFilledWithWhatIsShown() throws {
        let bus = try GuardedBus.make()
        let root = bus.root
        for number in 0..<20 { _ = try root.answer(#"{"op":"create","store":"lamp/x\#(number)"}"#) }
        let reply = try bus.ada.answer(#"{"op":"get","match":"*/*","limit":2}"#)
        #expect(reply["states"]?.object?.keys == ["lamp/hall", "thermostat/attic"])
        #expect(reply["next"] == "thermostat/attic")
    }

    @Test func whoManagesAloneIsToldOfOthers() throws {
        let bus = try GuardedBus.make()
        let own = try #require(try bus.ada.answer(#"{"op":"stats"}"#)["stats"]?.object)
        #expect(own.keys == ["epoch", "revision"])
        #expect(try bus.root.answer(#"{"op":"stats"}"#)["stats"]?["stores"] == 4)
    }

    @Test func helloSaysWhoOneIs() throws {
        let bus = try GuardedBus.make()
        let identity = try bus.ada.answer(#"{"op":"hello"}"#)["identity"]
        #expect(identity?["user"] == "ada" && identity?["uid"] == 1001 && identity?["roles"] == ["family"])
    }

    // MARK: Subscriptions

    @Test func subscriptionsShowWhatOneMayRead() throws {
        let bus = try GuardedBus.make()
        let (root, ada, bob, mallory) = (bus.root, bus.ada, bus.bob, bus.mallory)
        let subscribe = #"{"op":"subscribe","match":"*/*"}"#
        func states(_ client: MemoryClient) throws -> JSON? {
            try client.ask(subscribe).first { $0["event"] == "change" }?["states"]
        }
        #expect(try states(ada)?.object?.keys == ["lamp/hall", "thermostat/attic", "thermostat/hall"])
        let part: JSON = ["heating": false, "target": 20]
        #expect(try states(bob) == ["thermostat/attic": part, "thermostat/hall": part])
        #expect(try states(mallory) == [:])
        _ = try root.ask(#"{"op":"dispatch","store":"lamp/cellar","action":"switch","payload":{"on":true}}"#)
        _ = try root.ask(#"{"op":"dispatch","store":"thermostat/hall","action":"hide","payload":{"pin":7}}"#)
        #expect(try ada.events().map { $0["changes"] } == [["thermostat/hall": ["secret": ["pin": 7]]]])
        #expect(try bob.events().isEmpty)
        _ = try root.ask(
            #"{"op":"dispatch","store":"thermostat/hall","action":"setTarget","payload":{"celsius":22}}"#)
        #expect(try bob.events().map { $0["changes"] } == [["thermostat/hall": ["target": 22]]])
        _ = try root.ask(#"{"op":"create","store":"thermostat/new"}"#)
        #expect(try bob.events().map { $0["states"] } == [["thermostat/new": part]])
        _ = try root.ask(#"{"op":"create","store":"lamp/new"}"#)
        _ = try root.ask(#"{"op":"drop","store":"thermostat/new"}"#)
        _ = try root.ask(#"{"op":"drop","store":"lamp/new"}"#)
        #expect(try bob.events().map { $0["dropped"] } == [["thermostat/new"]])
        #expect(try ada.events().compactMap { $0["dropped"] } == [["thermostat/new"]])
        #expect(try mallory.events().isEmpty)
    }

    /// Formats and selections of one's own go on top of what one sees.
    @Test(arguments: ["merge", "patch", "state"]) func everyFormatIsCutAlike(_ format: String) throws {
        let bus = try GuardedBus.make()
        let (root, bob) = (bus.root, bus.bob)
        _ = try bob.ask(
            #"{"op":"subscribe","match":"*/*","format":"\#(format)","select":["/secret","/heating","/log"]}"#)
        _ = try root.ask(#"{"op":"dispatch","store":"thermostat/hall","action":"hide","payload":{"pin":9}}"#)
        _ = try root.ask(
            #"{"op":"dispatch","store":"thermostat/hall","action":"note","payload":{"text":"x"}}"#)
        _ = try root.ask(
            #"{"op":"dispatch","store":"thermostat/hall","action":"setTarget","payload":{"celsius":9}}"#)
        #expect(try bob.events().isEmpty)
        _ = try root.ask(
            #"{"op":"dispatch","store":"thermostat/hall","action":"measured","payload":{"celsius":3}}"#)
        let events = try bob.events()
        #expect(events.count == 1 && events[0].encoded.contains("heating"))
        #expect(!events[0].encoded.contains("secret") && !events[0].encoded.contains("target"))
    }

    @Test func actionsAreShownToWhoKnowsTheHistory() throws {
        let bus = try GuardedBus.make()
        let (root, ada) = (bus.root, bus.ada)
        _ = try ada.ask(#"{"op":"subscribe","match":"*/*","actions":true}"#)
        for line in [
            #""store":"lamp/cellar","action":"switch","payload":{"on":true}"#,
            #""store":"lamp/hall","action":"switch","payload":{"on":true}"#,
            #""type":"lamp","action":"switch","payload":{"on":false}"#,
            #""type":"thermostat","action":"setTarget","payload":{"celsius":5}"#,
            #""type":"*","action":"measured","payload":{"celsius":5}"#,
        ] { #expect(try root.code(#"{"op":"dispatch",\#(line)}"#) == "ok") }
        let seen = try ada.events("action").map { $0["store"]?.string ?? $0["type"]?.string }
        #expect(seen == ["lamp/hall", "thermostat"])
        // The same from the log.
        let late = bus.ada
        let reply = try late.ask(
            #"{"op":"subscribe","match":"*/*","actions":true,"since":4,"epoch":"\#(bus.epoch)"}"#)
        #expect(
            reply.filter { $0["event"] == "action" }.map { $0["store"]?.string ?? $0["type"]?.string } == seen
        )
    }

    // MARK: The past

    @Test func thePastIsCutLikeThePresent() throws {
        let bus = try GuardedBus.make()
        let (root, ada, bob) = (bus.root, bus.ada, bus.bob)
        _ = try root.ask(#"{"op":"dispatch","store":"lamp/cellar","action":"switch","payload":{"on":true}}"#)
        _ = try root.ask(
            #"{"op":"dispatch","actions":[{"store":"lamp/cellar","action":"switch","payload":{"on":true}},{"store":"lamp/hall","action":"switch","payload":{"on":true}}],"key":"secret-key"}"#
        )
        _ = try root.ask(#"{"op":"drop","store":"lamp/cellar"}"#)
        let commits = try #require(try ada.answer(#"{"op":"history","limit":100}"#)["commits"]?.array)
        let text = JSON.array(commits).encoded
        #expect(!text.contains("cellar") && !text.contains("secret-key"))
        #expect(commits.last?["revision"] == 6)
        #expect(commits.last?["actions"]?.array?.count == 1)
        #expect(try bob.answer(#"{"op":"history"}"#)["commits"] == [])
        #expect(try root.answer(#"{"op":"history","limit":100}"#)["commits"]?.array?.count == 7)
        let past = try ada.answer(#"{"op":"get","match":"*/*","revision":5}"#)["states"]
        #expect(past?.object?.keys == ["lamp/hall", "thermostat/attic", "thermostat/hall"])
        #expect(try bob.answer(#"{"op":"get","match":"*/*","revision":5}"#)["states"] == [:])
        #expect(try bob.answer(#"{"op":"types","revision":5}"#)["types"]?.array?.count == 1)
        #expect(try bob.code(#"{"op":"types","type":"lamp","revision":5}"#) == "unknown_type")
    }

    // MARK: What replies to changes tell

    @Test func repliesCountWhatOneSees() throws {
        let bus = try GuardedBus.make(
            """
            roles: { admin: [{ user: root }], writer: [everyone] }
            rules:
              - { role: admin, may: all }
              - { role: writer, may: dispatch, match: lamp/* }
              - { role: writer, may: read, match: lamp/hall }
            """)
        let mallory = bus.mallory
        func counts(_ line: String) throws -> [JSON?] {
            let reply = try mallory.answer(line)
            return [reply["matched"], reply["changed"]]
        }
        let cellar = #"{"op":"dispatch","store":"lamp/cellar","action":"switch","payload":{"on":true}}"#
        #expect(try counts(cellar) == [0, 0])
        #expect(
            try counts(#"{"op":"dispatch","store":"lamp/hall","action":"switch","payload":{"on":true}}"#) == [
                1, 1,
            ])
        #expect(
            try counts(#"{"op":"dispatch","type":"lamp","action":"switch","payload":{"on":true}}"#) == [1, 1])
        let keyed = #"{"op":"dispatch","type":"lamp","action":"switch","payload":{"on":true},"key":"k"}"#
        #expect(try counts(keyed) == [1, 1])
        #expect(try counts(keyed) == [0, 0], "What a repeated one did is told to who sees all of it.")
        let trial = try mallory.answer(
            #"{"op":"dispatch","type":"lamp","action":"switch","payload":{"on":true},"dryRun":true}"#)
        #expect(trial["matched"] == 1 && trial["changes"]?.object?.keys == ["lamp/hall"])
        // Nor is told whether an expectation was right.
        #expect(
            try mallory.code(
                #"{"op":"dispatch","store":"lamp/cellar","action":"switch","payload":{"on":true},"ifRevision":3}"#
            )
                == "forbidden")
    }

    /// Who sees parts of a state is told neither that something else of it changed nor what was done.
    @Test func partsOfAStateTellNothingOfTheRest() throws {
        let bus = try GuardedBus.make(
            """
            roles: { admin: [{ user: root }], guest: [everyone] }
            rules:
              - { role: admin, may: all }
              - { role: guest, may: [read, history, dispatch], match: thermostat/*, select: [/target] }
            """)
        let mallory = bus.mallory
        let reply = try mallory.answer(
            #"{"op":"dispatch","type":"thermostat","action":"hide","payload":{"pin":8}}"#)
        #expect(reply["matched"] == 2 && reply["changed"] == 0)
        #expect(try mallory.answer(#"{"op":"history"}"#)["commits"] == [])
        #expect(try mallory.code(#"{"op":"history","store":"thermostat/hall"}"#) == "forbidden")
        #expect(
            try mallory.answer(#"{"op":"get","match":"*/*","revision":4}"#)["states"] == [
                "thermostat/attic": ["target": 20], "thermostat/hall": ["target": 20],
            ]
        )
        // Of past states it sees the same parts.
        #expect(
            try mallory.answer(#"{"op":"get","store":"thermostat/hall","revision":2}"#)["states"]
                == ["thermostat/hall": ["target": 20]])
        #expect(try mallory.code(#"{"op":"get","store":"lamp/hall","revision":2}"#) == "forbidden")
        for question in [#""op":"blame""#, #""op":"samples","path":"/target""#, #""op":"history""#] {
            let error = try mallory.answer("{\(question),\"store\":\"thermostat/hall\"}")["error"]
            #expect(error?["code"] == "forbidden")
            #expect(error?["message"]?.string?.contains("only parts of thermostat/hall") == true)
            let other = try mallory.answer("{\(question),\"store\":\"lamp/hall\"}")["error"]
            #expect(other?["message"]?.string?.contains("let you read the history of lamp/hall") == true)
        }
        // No action could ever be told, which is said at once.
        #expect(try mallory.code(#"{"op":"subscribe","match":"*/*","actions":true}"#) == "forbidden")
        #expect(try mallory.code(#"{"op":"history","store":"thermostat/hall"}"#) == "forbidden")
    }

    /// `history` shows what happened and what was, whatever may be read of what is.
    @Test func historyAloneShowsThePast() throws {
        let bus = try GuardedBus.make(
            """
            roles: { admin: [{ user: root }], guest: [everyone] }
            rules:
              - { role: admin, may: all }
              - { role: guest, may: history, match: lamp/* }
            """)
        let mallory = bus.mallory
        _ = try mallory.ask(#"{"op":"subscribe","type":"lamp","actions":true}"#)
        #expect(try mallory.code(#"{"op":"subscribe","match":"t*/*","actions":true}"#) == "forbidden")
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        _ = try bus.root.ask(
            #"{"op":"dispatch","type":"lamp","action":"switch","payload":{"on":true},"traceparent":"\#(trace)"}"#
        )
        let told = try mallory.events("action")
        #expect(told.map { $0["action"] } == ["switch"] && told.map { $0["traceparent"]?.string } == [trace])
        let commits = try mallory.answer(#"{"op":"history","since":4}"#)["commits"]?.array ?? []
        #expect(commits.map { $0["traceparent"]?.string } == [trace])
        #expect(try mallory.code(#"{"op":"history","store":"lamp/hall"}"#) == "ok")
        #expect(try mallory.code(#"{"op":"history","store":"thermostat/hall"}"#) == "forbidden")
        let past = try mallory.answer(#"{"op":"get","match":"*/*","revision":4}"#)["states"]
        #expect(past?.object?.keys == ["lamp/cellar", "lamp/hall"])
        #expect(try mallory.answer(#"{"op":"get","match":"*/*"}"#)["states"] == [:])
        #expect(try mallory.code(#"{"op":"get","store":"lamp/hall"}"#) == "forbidden")
    }

    /// Who was slow hears of drops later: of those of stores that it saw.
    @Test func dropsHeardLaterAreCutToo() throws {
        let bus = try GuardedBus.make()
        let (root, bob) = (bus.root, bus.bob)
        _ = try bob.ask(#"{"op":"subscribe","match":"*/*"}"#)
        let revision = bus.engine.revision
        _ = try root.ask(#"{"op":"drop","store":"lamp/cellar"}"#)
        _ = try root.ask(#"{"op":"drop","store":"thermostat/attic"}"#)
        let late = bus.bob
        let lines = try late.ask(
            #"{"op":"subscribe","match":"*/*","since":\#(revision),"epoch":"\#(bus.epoch)"}"#)
        #expect(lines.last?["dropped"] == ["thermostat/attic"])
    }

    @Test func timersAreShownToWhoSetThemOrKnowsTheHistory() throws {
        let bus = try GuardedBus.make()
        let (root, ada) = (bus.root, bus.ada)
        _ = try root.answer(
            #"{"op":"dispatch","store":"lamp/cellar","action":"switch","payload":{"on":true},"in":9}"#)
        _ = try ada.answer(
            #"{"op":"dispatch","store":"lamp/hall","action":"switch","payload":{"on":true},"in":9,"timer":"mine"}"#
        )
        func timers(_ client: MemoryClient) throws -> Int? {
            try client.answer(#"{"op":"timers"}"#)["timers"]?.array?.count
        }
        #expect(try timers(root) == 2)
        #expect(try timers(ada) == 1)
        #expect(try timers(bus.bob) == 0)
        #expect(try bus.bob.code(#"{"op":"cancel","store":"lamp/hall","timer":"mine"}"#) == "forbidden")
        #expect(try bus.ada.code(#"{"op":"cancel","store":"lamp/hall","timer":"mine"}"#) == "ok")
    }

    /// An action sets timers of stores that its client may not read, and from what these hold.
    @Test func timersOfHiddenStoresAreNotShownToWhoSetThem() throws {
        let bus = try GuardedBus.make(
            GuardedBus.rulesOfPart(
                """
                - { role: part, may: dispatch, match: lamp/* }
                - { role: part, may: read, match: lamp/hall }
                """))
        let (root, bob) = (bus.root, bus.bob)
        #expect(try bob.answer(#"{"op":"dispatch","type":"lamp","action":"later"}"#)["matched"] == 1)
        func stores(_ client: MemoryClient) throws -> [String]? {
            try client.answer(#"{"op":"timers"}"#)["timers"]?.array?.compactMap { $0["store"]?.string }
        }
        #expect(try stores(root) == ["lamp/cellar", "lamp/hall"])
        #expect(try stores(bob) == ["lamp/hall"])
        for store in ["lamp/cellar", "lamp/nowhere"] {
            #expect(try bob.code(#"{"op":"cancel","store":"\#(store)","timer":"off"}"#) == "forbidden")
        }
        #expect(try bob.code(#"{"op":"cancel","store":"lamp/hall","timer":"off"}"#) == "ok")
        #expect(try stores(root) == ["lamp/cellar"])
        // What its own request has set tells it nothing new.
        let mine = #"{"op":"dispatch","store":"lamp/cellar","action":"later","in":9,"timer":"mine"}"#
        #expect(try bob.code(mine) == "ok")
        #expect(try stores(bob) == ["lamp/cellar"])
        #expect(try bob.code(#"{"op":"cancel","store":"lamp/cellar","timer":"mine"}"#) == "ok")
    }

    /// Messages name no type that one has nothing to do with.
    @Test func messagesSuggestNothingHidden() throws {
        let bus = try GuardedBus.make()
        for line in [
            #"{"op":"get","type":"lamq"}"#, #"{"op":"subscribe","match":"lam/*"}"#,
            #"{"op":"types","type":"lam"}"#,
            #"{"op":"create","store":"lam/x"}"#,
        ] {
            let message = try bus.bob.answer(line)["error"]?["message"]?.string ?? ""
            #expect(!message.isEmpty && !message.contains("lamp"), "\(message)")
        }
    }
}
