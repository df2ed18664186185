import BusJSON
import FluxBus
import Synchronization
import Testing

/// A store that this program has created and follows, on a bus that begins new histories without it.
@Suite struct CreatedStoreTests {
    /// A session that follows its store, at revision 4.
    private func desk(onRefusal: @escaping @Sendable (BusError) -> Void = { _ in }) -> SessionDesk {
        let desk = SessionDesk()
        let request = SubscriptionRequest(
            number: 1, request: BusRequest("subscribe", ["store": "door/mine"]),
            creation: .init(store: "door/mine", state: ["isOpen": true], onRefusal: onRefusal)
        ) { _, _ in .goOn }
        desk.session.submit(Submission(.request(request.request), role: .subscribe(request)))
        _ = desk.written()
        desk.reply(#""sub":1,"revision":4,"epoch":"e""#)
        desk.receive(
            #"{"event":"change","sub":1,"from":0,"revision":4,"reset":true,"states":{"door/mine":{}}}"#)
        return desk
    }

    /// Connects to the bus again, which may have begun a new history. Returns what that restores.
    private func reconnect(_ desk: SessionDesk, epoch: String) -> [JSON] {
        desk.cut()
        desk.connect(revision: 1, epoch: epoch)
        return desk.written()
    }

    @Test func lostStoreIsCreatedBeforeWhatWaitsForIt() {
        let desk = desk()
        #expect(reconnect(desk, epoch: "e").map { $0["op"] } == ["subscribe"])
        desk.session.submit(
            Submission(
                .dispatch(RequestBody.DispatchBody(action: "open", target: .store("door/mine"))),
                repetition: .keyed))
        let restoring = reconnect(desk, epoch: "f")
        #expect(restoring.map { $0["op"] } == ["create", "subscribe"])
        #expect(restoring.first?["store"] == "door/mine" && restoring.first?["ifMissing"] == true)
        #expect(restoring.first?["state"] == ["isOpen": true])
        desk.receive(#"{"id":\#(desk.lastID - 1),"ok":true,"revision":2,"created":true}"#)
        desk.reply(#""sub":1,"revision":2,"epoch":"f""#)
        #expect(desk.written().map { $0["op"] } == ["dispatch"])
        #expect(reconnect(desk, epoch: "f").map { $0["op"] } == ["subscribe"])
    }

    @Test(arguments: [#""dropped":["door/mine"]"#, #""reset":true,"states":{}"#])
    func storeThatWasDroppedIsNotCreatedAgain(how: String) {
        let desk = desk()
        desk.receive(#"{"event":"change","sub":1,"from":4,"revision":5,\#(how)}"#)
        #expect(reconnect(desk, epoch: "f").map { $0["op"] } == ["subscribe"])
    }

    @Test func refusedStoreIsAskedForWithEachConnection() {
        let refusals = Mutex<[BusError.Code]>([])
        let desk = desk { error in refusals.withLock { $0.append(error.code) } }
        for round in 1...2 {
            #expect(reconnect(desk, epoch: "f").map { $0["op"] } == ["create", "subscribe"])
            desk.refuse("limit", id: desk.lastID - 1)
            desk.reply(#""sub":1,"revision":1,"epoch":"f""#)
            desk.receive(#"{"event":"change","sub":1,"from":0,"revision":1,"reset":true,"states":{}}"#)
            #expect(refusals.withLock { $0 } == Array(repeating: .limit, count: round))
        }
        // What has become of this one is not known.
        #expect(reconnect(desk, epoch: "f").count == 2)
        #expect(reconnect(desk, epoch: "f").count == 2)
    }
}
