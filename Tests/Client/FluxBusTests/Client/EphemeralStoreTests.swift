import BusJSON
import FluxBus
import Synchronization
import Testing

/// Ephemeral stores over lost connections: each is there once, as it was made, as long as this client has not dropped it.
@Suite(.timeLimit(.minutes(10))) struct EphemeralStoreTests {
    /// A session that has sent the creation of a store and something that follows it, and lost the connection then.
    private func cutDesk(_ next: Submission) -> (desk: SessionDesk, sent: [JSON]) {
        let desk = SessionDesk()
        desk.session.submit(
            Submission(
                .request(BusRequest("create", ["store": "door/mine", "ephemeral": true])),
                role: .createEphemeral("door/mine", state: nil), repetition: .keyed))
        desk.session.submit(next)
        let sent = desk.written()
        desk.cut()
        return (desk, sent)
    }

    private func answer(_ requests: [JSON], on desk: SessionDesk) {
        for request in requests {
            desk.receive(
                #"{"id":\#(request["id"]?.int ?? 0),"ok":true,"revision":6,"created":true,"matched":1,"changed":1}"#
            )
        }
    }

    private var dispatch: Submission {
        Submission(
            .dispatch(RequestBody.DispatchBody(action: "open", target: .store("door/mine"))),
            repetition: .keyed)
    }

    @Test(arguments: [true, false])
    func creationOfAStoreThatIsDroppedIsAnswered(isResumed: Bool) {
        let drop = BusRequest("drop", ["store": "door/mine"])
        let (desk, sent) = cutDesk(
            Submission(.request(drop), role: .drop(["door/mine"]), repetition: .keyed))
        desk.connect(revision: 6, isResumed: isResumed)
        let again = desk.written()
        #expect(again.map { $0["op"] } == ["create", "drop"])
        #expect(again.map { $0["key"] } == sent.map { $0["key"] }, "the bus can tell what was committed")
        answer(again, on: desk)
        #expect(desk.outcomes.count == 2)
        desk.cut()
        desk.connect(revision: 7)
        #expect(desk.written().isEmpty)
    }

    /// What the bus has kept, it knows by the key.
    @Test func creationIsSentAgainBeforeWhatFollowedIt() {
        let (desk, sent) = cutDesk(dispatch)
        desk.connect(revision: 6, isResumed: true)
        let again = desk.written()
        #expect(again.map { $0["op"] } == ["create", "dispatch"])
        #expect(again.map { $0["key"] } == sent.map { $0["key"] })
        answer(again, on: desk)
        #expect(desk.outcomes.count == 2)
    }

    /// What the bus has not kept is made anew. Where that is cut short, too, nobody knows whether the bus has it.
    @Test(arguments: [true, false]) func creationIsMadeAnewBeforeWhatFollowedIt(isResumed: Bool) {
        let (desk, sent) = cutDesk(dispatch)
        var keys = [sent[0]["key"]]
        for isResumed in [false, isResumed] {
            desk.cut()
            desk.connect(revision: 6, isResumed: isResumed)
            let anew = desk.written()
            #expect(anew.map { $0["op"] } == ["create"])
            keys.append(anew.first?["key"])
        }
        #expect(keys[1] != nil && keys[1] != keys[0], "the key of before is that of a store that has gone")
        #expect((keys[1] == keys[2]) == isResumed)
        desk.reply(#""revision":6,"created":true"#)
        let again = desk.written()
        #expect(again.map { $0["op"] } == ["dispatch"])
        answer(again, on: desk)
        #expect(desk.outcomes.count == 2)
        desk.cut()
        desk.connect(revision: 7)
        #expect(desk.written().map { $0["op"] } == ["create"])
    }

    private func ephemeral(_ store: String, deadline: Int = .max) -> Submission {
        Submission(
            .request(BusRequest("create", ["store": .string(store), "ephemeral": true])),
            role: .createEphemeral(store, state: nil), repetition: .keyed, deadline: deadline)
    }

    private func drop(_ store: String) -> Submission {
        Submission(
            .request(BusRequest("drop", ["store": .string(store)])), role: .drop([store]), repetition: .keyed)
    }

    private var dropLamps: Submission {
        Submission(
            .request(BusRequest("drop", ["type": "lamp", "where": "isOff"])),
            role: .drop([], ofTypes: ["lamp"]), repetition: .keyed)
    }

    /// A session that has made these stores and dropped lamps by an expression.
    private func deskWithDroppedLamps(_ stores: String...) -> SessionDesk {
        let desk = SessionDesk()
        for store in stores { desk.session.submit(ephemeral(store)) }
        answer(desk.written(), on: desk)
        desk.session.submit(dropLamps)
        #expect(desk.written().map { $0["op"] } == ["drop"])
        return desk
    }

    private func found(_ stores: String..., to request: JSON, on desk: SessionDesk) {
        let list = stores.map { #"{"store":"\#($0)","revision":5}"# }.joined(separator: ",")
        desk.receive(#"{"id":\#(request["id"]?.int ?? 0),"ok":true,"stores":[\#(list)]}"#)
    }

    /// The old session took the lamp with it; the drop that is sent again may be answered as a duplicate.
    @Test func whatADropWithoutAnAnswerMayHaveTakenIsNotMadeAgain() {
        let desk = deskWithDroppedLamps("lamp/a", "door/a")
        desk.cut()
        desk.connect(revision: 6)
        let again = desk.written()
        #expect(again.map { $0["store"] } == ["door/a"])
        answer(again, on: desk)
        let drop = desk.written()
        #expect(drop.map { $0["op"] } == ["drop"])
        answer(drop, on: desk)
        #expect(desk.outcomes.count == 3 && desk.written().isEmpty)
    }

    @Test func lookThatIsCutShortIsRepeatedInTheSameSession() {
        let desk = deskWithDroppedLamps("lamp/a", "lamp/b", "lamp/c")
        desk.reply(#""revision":6,"matched":1,"changed":1"#)
        let looks = desk.written()
        #expect(looks.map { $0["match"] } == ["lamp/a", "lamp/b", "lamp/c"])
        found("lamp/a", to: looks[0], on: desk)
        desk.cut()
        desk.connect(revision: 6, isResumed: true)
        let again = desk.written()
        #expect(again.map { $0["match"] } == ["lamp/b", "lamp/c"])
        if let look = again.first { found(to: look, on: desk) }
        desk.cut()
        desk.connect(revision: 6)
        #expect(desk.written().map { $0["store"] } == ["lamp/a"])
    }

    /// In order, for their keys say what was committed. One that came after the drop is made anew behind it: before, the drop would
    /// take it.
    @Test func creationThatADropByExpressionMayHaveFollowedIsSentAgain() {
        let desk = SessionDesk()
        for submission in [ephemeral("lamp/a"), dropLamps, ephemeral("lamp/b")] {
            desk.session.submit(submission)
        }
        let sent = desk.written()
        desk.cut()
        desk.connect(revision: 6)
        let again = desk.written()
        #expect(again.map { $0["op"] } == ["create", "drop", "create"])
        #expect(again.map { $0["store"] } == ["lamp/a", nil, "lamp/b"])
        #expect(again.prefix(2).map { $0["key"] } == sent.prefix(2).map { $0["key"] })
        #expect(again.last?["key"] != sent[2]["key"] && again.last?["after"] == nil)
    }

    /// The store of before has gone with its session. Its key would bring a success, and no store.
    @Test func creationBehindADropOfTheSameStoreIsMadeAnew() {
        let desk = SessionDesk()
        desk.session.submit(drop("door/mine"))
        desk.session.submit(ephemeral("door/mine"))
        let sent = desk.written()
        desk.cut()
        desk.connect(revision: 6)
        let again = desk.written()
        #expect(again.map { $0["op"] } == ["drop", "create"])
        #expect(again[0]["key"] == sent[0]["key"] && again[1]["key"] != sent[1]["key"])
        answer(again, on: desk)
        #expect(desk.outcomes.count == 2)
        desk.cut()
        desk.connect(revision: 7)
        #expect(desk.written().map { $0["store"] } == ["door/mine"])
    }

    /// Cut twice: in the session that kept what the second connection made, its key says whose store it is.
    @Test func storeThatALostConnectionMadeAgainIsKnownByItsKey() {
        let (desk, _) = cutDesk(dispatch)
        desk.connect(revision: 6)
        let first = desk.written()
        // The old session has not ended yet; then the store is made, and the answer is lost.
        desk.refuse("exists")
        desk.pass(1_000_000_000)
        #expect(desk.written().map { $0["key"] } == first.map { $0["key"] })
        desk.cut()
        desk.connect(revision: 7, isResumed: true)
        let again = desk.written()
        #expect(again.map { $0["key"] } == first.map { $0["key"] })
        #expect(again.first?["after"] == 6 && again.first?["epoch"] == "e")
        desk.reply(#""revision":7,"created":true,"duplicate":true"#)
        #expect(desk.outcomes.count == 1 && desk.lastCode == nil && desk.lostStores.isEmpty)
    }

    /// A session that restores a store a second time, since the connection was lost behind the first, at revision 6.
    private func deskThatRestoresAgain(at revision: Int) -> (desk: SessionDesk, again: [JSON]) {
        let (desk, _) = cutDesk(dispatch)
        desk.connect(revision: 6)
        _ = desk.written()
        desk.cut()
        desk.connect(revision: revision, isResumed: true)
        return (desk, desk.written())
    }

    @Test func restorationWhoseKeyIsForgottenHasAnUnknownOutcome() {
        let (desk, _) = deskThatRestoresAgain(at: 7)
        desk.refuse("conflict")
        #expect(desk.lastCode == .outcomeUnknown)
    }

    /// Its session may have kept the store. Without a key nobody can tell.
    @Test func creationWithoutAKeyThatFindsAStoreHasAnUnknownOutcome() {
        let desk = SessionDesk()
        desk.session.submit(
            Submission(
                .request(BusRequest("create", ["store": "door/mine", "ephemeral": true])),
                role: .createEphemeral("door/mine", state: nil)))
        _ = desk.written()
        desk.cut()
        desk.connect(revision: 6, isResumed: true)
        #expect(desk.written().map { $0["op"] } == ["create"])
        desk.refuse("exists")
        #expect(desk.lastCode == .outcomeUnknown)
    }

    /// The stores of a batch, and one that a drop follows, are not made anew: the bus answers that they were made, and they have gone.
    @Test(arguments: [true, false], [true, false])
    func duplicateInAnotherSessionHasAnUnknownOutcome(isBatch: Bool, isResumed: Bool) {
        let desk = SessionDesk()
        let step: JSON = ["op": "create", "store": "door/mine", "ephemeral": true]
        let batch = Submission(
            .request(BusRequest("dispatch", ["actions": .array([step])])), repetition: .keyed)
        desk.session.submit(isBatch ? batch : ephemeral("door/mine"))
        if !isBatch { desk.session.submit(drop("door/mine")) }
        _ = desk.written()
        desk.cut()
        desk.connect(revision: 6, isResumed: isResumed)
        guard let again = desk.written().first?["id"]?.int else {
            Issue.record("It was not sent again.")
            return
        }
        desk.receive(
            #"{"id":\#(again),"ok":true,"revision":6,"matched":1,"changed":1,"duplicate":true}"#)
        #expect(desk.outcomes.count == 1 && desk.lastCode == (isResumed ? nil : .outcomeUnknown))
    }

    /// A store is there as long as the bus has not dropped it, whatever the program has asked for.
    @Test func storeWhoseDropIsRefusedStays() {
        let desk = SessionDesk()
        desk.session.submit(ephemeral("door/mine"))
        answer(desk.written(), on: desk)
        desk.session.submit(
            Submission(
                .request(BusRequest("drop", ["store": "door/mine", "if": "isOpen"])),
                role: .drop(["door/mine"]), repetition: .keyed))
        _ = desk.written()
        desk.cut()
        desk.connect(revision: 6, isResumed: true)
        let again = desk.written()
        #expect(again.map { $0["op"] } == ["stores", "drop"])
        if let look = again.first { found("door/mine", to: look, on: desk) }
        desk.refuse("conflict", #","revision":5"#)
        desk.cut()
        desk.connect(revision: 7)
        #expect(desk.written().map { $0["op"] } == ["create"])
    }

    /// The session took the store with it: it is lost if the bus may have refused the drop, and not missed otherwise.
    @Test(
        arguments: [[:], ["if": "isOpen"], ["ifRevision": 5]] as [[String: JSON]],
        ["forbidden", "unknown_store"])
    func storeThatWasDroppedIsNotMissed(conditions: [String: JSON], code: String) {
        let desk = SessionDesk()
        desk.session.submit(ephemeral("door/mine"))
        answer(desk.written(), on: desk)
        var drop = BusRequest("drop", ["store": "door/mine"])
        for (name, condition) in conditions { drop.set(name, condition) }
        desk.session.submit(Submission(.request(drop), role: .drop(["door/mine"]), repetition: .keyed))
        _ = desk.written()
        desk.cut()
        desk.connect(revision: 6)
        #expect(desk.written().map { $0["op"] } == ["drop"])
        #expect(desk.lostStores == (conditions.isEmpty ? [] : ["door/mine"]))
        desk.refuse(code)
        #expect(desk.lostStores == (conditions.isEmpty && code == "unknown_store" ? [] : ["door/mine"]))
    }

    /// What a connection before has sent may be committed, whatever takes its place on this one.
    @Test(arguments: [true, false]) func creationThatIsMadeAnewMayBeCommitted(isBehindDrop: Bool) {
        let desk = SessionDesk()
        if isBehindDrop { desk.session.submit(drop("door/mine")) }
        desk.session.submit(ephemeral("door/mine"))
        _ = desk.written()
        desk.cut()
        desk.connect(revision: 6)
        if !isBehindDrop { _ = desk.written() }
        desk.session.close(by: desk.now)
        desk.pass(1)
        desk.perform()
        #expect(desk.outcomes.count == (isBehindDrop ? 2 : 1) && desk.lastCode == .outcomeUnknown)
    }

    @Test func creationThatIsMadeAnewTimesOutAsOneThatWasWritten() {
        let desk = SessionDesk()
        desk.session.submit(drop("door/mine"))
        desk.session.submit(ephemeral("door/mine", deadline: 5_000_000_000))
        _ = desk.written()
        desk.cut()
        desk.connect(revision: 6)
        desk.pass(5_000_000_000)
        desk.perform()
        let error = if case .failure(let error)? = desk.outcomes.last { error } else { nil as BusError? }
        #expect(error?.code == .timedOut && error?.details["written"] == true)
    }

    /// A refusal says that nothing was committed, however much the bus forgets after it.
    @Test func restorationThatIsRefusedIsRepeatedFromThere() {
        let (desk, again) = deskThatRestoresAgain(at: 9)
        #expect(again.first?["after"] == 6)
        desk.refuse("exists")
        desk.pass(1_000_000_000)
        #expect(desk.written().first?["after"] == 9)
    }

    @Test func storeThatWasGivenUpIsNotAskedForAgain() {
        let desk = SessionDesk()
        for store in ["door/a", "door/b"] { desk.session.submit(ephemeral(store)) }
        answer(desk.written(), on: desk)
        desk.cut()
        desk.connect(revision: 6)
        #expect(desk.written().count == 2)
        desk.refuse("forbidden", id: desk.lastID - 1)
        #expect(desk.lostStores == ["door/a"])
        desk.cut()
        desk.connect(revision: 6)
        #expect(desk.written().map { $0["store"] } == ["door/b"] && desk.lostStores == ["door/a"])
    }

    /// The bus keeps what the cut connection has restored, and lacks the rest.
    @Test func restorationThatIsCutShortIsRepeatedInTheSameSession() {
        let desk = SessionDesk()
        desk.session.submit(
            Submission(
                .request(BusRequest("will", ["actions": [["type": "door", "action": "shut"]]])),
                role: .will([["type": "door", "action": "shut"]])))
        for store in ["door/a", "door/b"] { desk.session.submit(ephemeral(store)) }
        answer(desk.written(), on: desk)
        desk.cut()
        for isResumed in [false, true] {
            desk.cut()
            desk.connect(revision: 6, isResumed: isResumed)
            #expect(desk.written().map { $0["op"] } == ["will", "create", "create"])
        }
        let first = desk.lastID - 2
        answer([["id": .int(first)]], on: desk)
        desk.receive(#"{"id":\#(first + 1),"ok":true,"revision":6,"created":true,"duplicate":true}"#)
        answer([["id": .int(first + 2)]], on: desk)
        desk.cut()
        desk.connect(revision: 7, isResumed: true)
        #expect(desk.written().isEmpty)
        desk.cut()
        desk.connect(revision: 7)
        #expect(desk.written().map { $0["op"] } == ["will", "create", "create"])
    }

    @Test func whatIsDroppedIsNotMadeAgainAndLeasesStay() async throws {
        let made = Mutex<[JSON]>([])
        let transport = QueueTransport { attempt, request in
            switch request["op"] {
            case "hello": return .greeting(request)
            case "ping" where attempt == 1: return .cut
            case "create":
                if attempt > 1 { made.withLock { $0.append(request) } }
                return .reply(to: request, #""revision":1,"created":true"#)
            case "stores":
                let store = request["match"]?.string ?? ""
                let found = store == "door/shut" ? #"{"store":"\#(store)","revision":1}"# : ""
                return .reply(to: request, #""stores":[\#(found)]"#)
            default: return .reply(to: request, #""revision":2,"matched":1,"changed":1"#)
            }
        }
        let bus = try await transport.connect()
        for store in ["door/open", "door/shut", "lamp/on", "lamp/off"] {
            try await bus.create(store, isEphemeral: true, timeToLive: .seconds(60))
        }
        _ = try await bus.tryOut([.drop("lamp/on")])
        try await bus.dispatch([.action("dim", to: .store("lamp/on")), .drop("lamp/off")])
        try await bus.drop(type: "door", where: "isOpen")
        try await bus.ping()  // The connection is lost.
        let again = made.withLock { $0.map { [$0["store"], $0["ttl"]] } }
        #expect(again == [["door/shut", 60], ["lamp/on", 60]])
        await bus.close()
    }
}
