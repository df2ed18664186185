import TestModes
import TestSupport
import Testing

/// Maps show every store of a type whole, so only who may read all of it is given one, and only as long as the rules are the same.
@Suite(.inBothModes) struct MapAccessTests {
    private let request = #"{"op":"map","type":"thermostat"}"#

    @Test func onlyWhoMayReadAllOfATypeIsGivenItsMap() throws {
        let bus = try GuardedBus.make()
        #expect(try bus.root.code(request) == "ok")
        #expect(try bus.ada.code(request) == "ok")
        // Some stores of a type, or parts of them, are not all.
        #expect(try bus.ada.code(#"{"op":"map","type":"lamp"}"#) == "forbidden")
        #expect(try bus.bob.code(request) == "forbidden")
        #expect(try bus.mallory.code(request) == "unknown_type")
        #expect(bus.maps.given.count == 2)
    }

    @Test func whoMayNoLongerReadSeesNothingMore() throws {
        let bus = try GuardedBus.make()
        let (root, ada) = (bus.root, bus.ada)
        #expect(try root.code(request) == "ok")
        #expect(try ada.code(request) == "ok")
        bus.access = GuardedBus.rulesOfPart("- { role: part, may: read, match: lamp/* }")
        #expect(try bus.root.code(#"{"op":"reload"}"#) == "ok")
        #expect(bus.maps.live.isEmpty)
        let seen = bus.maps.shown.count
        #expect(
            try root.code(
                #"{"op":"dispatch","store":"thermostat/hall","action":"setTarget","payload":{"celsius":9}}"#)
                == "ok")
        #expect(bus.maps.shown.count == seen)
        #expect(try ada.code(request) == "unknown_type")
        #expect(try root.code(request) == "ok")
        #expect(bus.maps.live.count == 1)
    }

    /// A client's name may give it a role, and another name takes it away.
    @Test func whoTakesAnotherRoleSeesNothingMore() throws {
        let bus = try GuardedBus.make(
            """
            roles: { admin: [{ user: root }], screen: [{ user: bob, client: "tv-*" }], guest: [{ user: bob }] }
            rules:
              - { role: admin, may: all }
              - { role: screen, may: read }
              - { role: guest, may: read, match: lamp/* }
            """)
        let bob = bus.bob
        _ = try bob.ask(#"{"op":"hello","client":"tv-1"}"#)
        #expect(try bob.code(request) == "ok")
        #expect(try bob.code(#"{"op":"map","type":"lamp"}"#) == "ok")
        #expect(bus.maps.live.count == 2)
        _ = try bob.ask(#"{"op":"hello","client":"x"}"#)
        #expect(bus.maps.live.count == 1)
        #expect(try bob.code(request) != "ok")
        #expect(try bob.code(#"{"op":"map","type":"lamp"}"#) == "ok")
    }

    /// The rules change while a map is being made.
    @Test(
        .aloneOnly(because: "A shared bus has the other rules only after the map is made, which ends then."))
    func whoWaitsForAMapIsJudgedByTheRulesOfItsTime() throws {
        let bus = try GuardedBus.make()
        let (root, ada) = (bus.root, bus.ada)
        bus.disk = .isBusy
        root.send(#"{"op":"dispatch","store":"lamp/hall","action":"switch","payload":{"on":true}}"#)
        ada.send(request)
        bus.access = GuardedBus.rulesOfPart("- { role: part, may: read, match: lamp/* }")
        root.send(#"{"op":"reload"}"#)
        bus.disk = .works
        _ = try root.all()
        #expect(try ada.all().last?["ok"] == false)
        #expect(!bus.maps.given.contains(ada.connection))
    }
}
