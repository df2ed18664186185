import BusJSON
import FluxBus
import Synchronization
import Testing

/// Interleavings by which a request, an event or a store could get lost.
@Suite struct SessionHazardTests {
    private func dispatch(
        _ action: String, ifRevision: Int? = nil, epoch: String? = nil, isAcknowledged: Bool = true
    ) -> Submission {
        Submission(
            .dispatch(
                RequestBody.DispatchBody(action: action, target: .store("door/a"), ifRevision: ifRevision)),
            repetition: .keyed, isAcknowledged: isAcknowledged, epoch: epoch)
    }

    /// Nobody misses a store whose drop is not sent again, and not the next one of that address.
    @Test(arguments: [Repetition.never, .keyed]) func unansweredDropDoesNotConcernTheNextStore(
        repetition: Repetition
    ) {
        let desk = SessionDesk()
        let create = BusRequest("create", ["store": "door/a", "ephemeral": true])
        func make() {
            desk.session.submit(
                Submission(.request(create), role: .createEphemeral("door/a", state: nil), repetition: .keyed)
            )
            #expect(desk.written().map { $0["op"] } == ["create"])
            desk.reply(#""revision":5,"created":true"#)
        }
        func drop(deadline: Int) {
            desk.session.submit(
                Submission(
                    .request(BusRequest("drop", ["store": "door/a"])), role: .drop(["door/a"]),
                    repetition: repetition, deadline: deadline))
        }
        make()
        drop(deadline: 5_000_000_000)
        #expect(desk.written().map { $0["op"] } == ["drop"])
        desk.cut()
        desk.connect(revision: 6)
        desk.pass(9_000_000_000)
        desk.perform()
        #expect(desk.written().isEmpty && desk.outcomes.count == 2)
        make()
        drop(deadline: .max)
        _ = desk.written()
        desk.refuse("forbidden")
        #expect(desk.lastCode == .forbidden && desk.lostStores.isEmpty)
    }

    @Test func replyThatBelongsToNobodyTakesNoRequestWithIt() {
        let desk = SessionDesk()
        desk.session.submit(dispatch("quiet", isAcknowledged: false))
        desk.session.submit(dispatch("open"))
        _ = desk.written()
        desk.receive(#"{"id":99,"ok":true,"revision":5,"matched":1,"changed":1}"#)
        #expect(desk.session.disconnectReason?.code == .unexpectedReply)
        #expect(desk.outcomes.isEmpty, "neither was answered")
        desk.cut()
        desk.connect(revision: 6)
        #expect(desk.written().compactMap { $0["action"] } == ["quiet", "open"])
        desk.receive(#"{"id":\#(desk.lastID),"ok":true,"revision":6,"matched":1,"changed":1}"#)
        #expect(desk.outcomes.count == 2)
    }

    /// Nor does the notice believe a refusal of what may have been committed before.
    @Test func noticeTellsOfDoubt() {
        for isRepeated in [false, true] {
            let desk = SessionDesk()
            desk.session.submit(dispatch("quiet", isAcknowledged: false))
            var lines = desk.written()
            if isRepeated {
                desk.cut()
                desk.connect(revision: 6)
                lines = desk.written()
            }
            desk.refuse("forbidden", id: lines.first { $0["op"] == "dispatch" }?["id"]?.int)
            #expect(desk.failures == [isRepeated ? .outcomeUnknown : .forbidden])
        }
    }

    /// However late the caller looks, what the bus refused is told by the notice alone.
    @Test func refusedUnacknowledgedDispatchIsNoErrorOfItsCaller() {
        let desk = SessionDesk()
        let submission = dispatch("quiet", isAcknowledged: false)
        desk.session.submit(submission)
        _ = desk.written()
        desk.receive(
            #"{"id":\#(desk.lastID),"ok":false,"error":{"code":"unknown_store","message":"There is none."}}"#)
        #expect(desk.outcomes.count == 1)
        submission.settle(desk.outcomes[0])
        #expect(submission.refusal == nil)
        let unsent = dispatch("quiet", isAcknowledged: false)
        unsent.settle(.failure(BusError(.cancelled, "Cancelled.")))
        #expect(unsent.refusal?.code == .cancelled)
    }

    @Test func repliesFromBeforeAResumptionDoNotMoveItsPlace() {
        let desk = SessionDesk()
        let rests = Mutex(true)
        desk.followActions { _ in rests.withLock { $0 } ? .rest : .goOn }
        desk.receive(#"{"event":"action","sub":1,"revision":5,"index":0,"action":"a"}"#)
        _ = desk.written()
        desk.reply(#""done":1"#)
        // It rests at 5; meanwhile an answer tells of revision 9.
        desk.session.submit(dispatch("open"))
        _ = desk.written()
        desk.receive(#"{"id":\#(desk.lastID),"ok":true,"revision":9,"matched":1,"changed":1}"#)
        desk.session.goOn(1)
        #expect(desk.written().last?["since"] == 4)
        desk.reply(#""sub":2,"revision":9,"epoch":"e""#)
        desk.receive(#"{"event":"action","sub":2,"revision":5,"index":0,"action":"a"}"#)
        desk.receive(#"{"event":"action","sub":2,"revision":6,"index":0,"action":"b"}"#)
        // It rests again, at 6: 7 to 9 have not come, whatever the answer before said.
        desk.session.goOn(1)
        #expect(desk.written().last?["since"] == 5)
        desk.reply(#""sub":3,"revision":9,"epoch":"e""#)
        desk.cut()
        desk.connect(revision: 9)
        #expect(desk.written().last?["since"] == 5)
    }

    @Test func repliesAfterAResumptionDoMoveItsPlace() {
        let desk = SessionDesk()
        desk.followActions { _ in .goOn }
        desk.session.submit(dispatch("open"))
        _ = desk.written()
        desk.receive(#"{"id":\#(desk.lastID),"ok":true,"revision":9,"matched":1,"changed":1}"#)
        desk.cut()
        desk.connect(revision: 9)
        #expect(desk.written().last?["since"] == 9)
    }

    /// A bus without a log can't tell an action again: to ask for it would end in a gap, though nothing is missing.
    @Test func theOnlyActionOfACommitIsNotAskedForAgain() {
        let desk = SessionDesk()
        desk.followActions { _ in .goOn }
        let events: [(told: String, asked: Int)] = [
            (#"{"event":"action","sub":1,"revision":5,"action":"a"}"#, 5),
            (#"{"event":"action","sub":1,"revision":6,"index":0,"action":"a"}"#, 5),
            (#"{"event":"bookmark","sub":1,"revision":9}"#, 9),
        ]
        for event in events {
            desk.receive(event.told)
            desk.cut()
            desk.connect(revision: 9)
            #expect(desk.written().last?["since"]?.int == event.asked, "after \(event.told)")
            desk.reply(#""sub":1,"revision":9,"epoch":"e""#)
        }
    }

    @Test func droppedEphemeralStoreIsNotMadeAgain() {
        let desk = SessionDesk()
        let create = BusRequest("create", ["store": "door/mine", "ephemeral": true])
        desk.session.submit(
            Submission(.request(create), role: .createEphemeral("door/mine", state: nil)))
        _ = desk.written()
        desk.reply(#""revision":5,"created":true"#)
        desk.session.submit(
            Submission(
                .request(BusRequest("drop", ["store": "door/mine"])), role: .drop(["door/mine"]),
                repetition: .keyed))
        _ = desk.written()
        // The drop was committed and its answer lost: made again, the store would outlive it.
        desk.cut()
        desk.connect(revision: 6)
        #expect(desk.written().map { $0["op"] } == ["drop"])
        desk.reply(#""revision":6,"duplicate":true"#)
        desk.cut()
        desk.connect(revision: 7)
        #expect(desk.written().isEmpty)
    }

    @Test func revisionOfAnEarlierEpochIsAConflict() {
        let desk = SessionDesk()
        desk.cut()
        desk.session.submit(dispatch("open", ifRevision: 4, epoch: "e"))
        desk.connect(revision: 4, epoch: "f")
        #expect(desk.written().isEmpty)
        desk.perform()
        guard case .failure(let error)? = desk.outcomes.first else {
            Issue.record("It was not refused.")
            return
        }
        #expect(error.code == .conflict && error.details["epoch"] == "f")
    }
}
