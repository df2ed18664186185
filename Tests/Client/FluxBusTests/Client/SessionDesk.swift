import BusJSON
import FluxBus

/// A session on a connection that was greeted, and what it wrote since.
final class SessionDesk {
    var session: ClientSession
    private let writer = ByteWriter()
    private(set) var now = 0
    /// What became of the requests, in that order.
    private(set) var outcomes: [ReplyOutcome] = []
    /// Which ephemeral stores the program was told to be lost.
    private(set) var lostStores: [String] = []
    /// With what dispatches failed that nobody waits for.
    private(set) var failures: [BusError.Code] = []
    var lastID = 0

    init(_ change: (inout BusOptions) -> Void = { _ in }) {
        var options = BusOptions()
        options.timeout = nil
        change(&options)
        session = ClientSession(options: options, seed: 1, now: 0)
        connect()
    }

    /// `isResumed`: the bus has kept what the session left there.
    func connect(revision: Int = 4, epoch: String = "e", isResumed: Bool = false) {
        session.connected(at: now)
        _ = written()
        reply(#""revision":\#(revision),"epoch":"\#(epoch)","resumed":\#(isResumed)"#)
    }

    /// The connection ends, all that was written having left.
    func cut() {
        session.lost(BusError(.closed, "cut"), sent: .max, at: now)
        perform()
        pass(1_000_000_000)
    }

    func pass(_ nanoseconds: Int) {
        now += nanoseconds
        session.tick(at: now)
    }

    /// The requests written since the last call.
    func written() -> [JSON] {
        writer.clear()
        session.write(to: writer, room: 1 << 20)
        let lines = writer.text.split(separator: "\n").compactMap { try? JSON(parsing: String($0)) }
        if let id = lines.last?["id"]?.int { lastID = id }
        return lines
    }

    func receive(_ line: String) {
        Array(line.utf8).withUnsafeBytes { session.receive($0, at: now) }
        perform()
    }

    /// Carries out what the session wants.
    func perform() {
        let effects = session.effects
        session.effects = []
        for effect in effects {
            switch effect {
            case .complete(let submission, let outcome), .settle(let submission, let outcome):
                submission.settle(outcome)
                outcomes.append(outcome)
            case .event(let request, let event, _):
                if request.receive(event, 0) == .rest { session.pause(request.number) }
            case .notice(.ephemeralStoreLost(let address, _)): lostStores.append(address)
            case .notice(.dispatchFailed(let error)): failures.append(error.code)
            case .ended, .greeted, .status, .notice: break
            }
        }
    }

    func reply(_ members: String) { receive(#"{"id":\#(lastID),"ok":true,\#(members)}"#) }

    func refuse(_ code: String, _ members: String = "", id: Int? = nil) {
        receive(#"{"id":\#(id ?? lastID),"ok":false,"error":{"code":"\#(code)","message":"No."\#(members)}}"#)
    }

    /// The code of the last outcome; nil where that is a success.
    var lastCode: BusError.Code? {
        if case .failure(let error)? = outcomes.last { error.code } else { nil }
    }

    /// Subscribes to the actions of doors, at revision 4.
    func followActions(
        _ receive: @escaping @Sendable (SubscriptionEvent) -> SubscriptionRequest.Verdict
    ) {
        let request = SubscriptionRequest(
            number: 1, request: BusRequest("subscribe", ["type": "door", "actions": true]), isOfActions: true
        ) { event, _ in receive(event) }
        session.submit(Submission(.request(request.request), role: .subscribe(request)))
        _ = written()
        reply(#""sub":1,"revision":4,"epoch":"e""#)
    }
}
