import BusJSON

/// The session's record of one subscription: its position, and its number on the present connection.
struct SubscriptionRecord {
    let request: SubscriptionRequest
    /// The `sub` of the present connection; nil while there is none.
    var sub: Int?
    /// Whether it has been granted once; from then on it is restored on each new connection.
    var isEstablished = false
    var isPaused = false
    /// Where it continues; nil while no first event has been delivered.
    var position: ResumePoint?
    /// The present `sub` was requested to continue from `position`.
    var isResuming = false
    var assembler: ChangeAssembler
    /// Of a subscription of actions: how many of the last revision have been delivered, if it may have more, and how many of
    /// those that come first on a new connection are known.
    var actionsAtPosition = 0
    var actionsToSkip = 0
    var skipRevision = 0
    /// What is known of the store that the request has created.
    var presence = Presence.there
    /// The session's `settledRevision` when the present `sub` was granted: earlier replies say nothing about it.
    var settledBefore = 0

    enum Presence {
        case there
        case dropped
        /// The bus has begun an epoch, and may not know the store in it.
        case lost
    }

    init(_ request: SubscriptionRequest) {
        self.request = request
        position = request.start
        assembler = ChangeAssembler(format: request.format)
    }

    /// Counts an action that has come. False if an earlier connection delivered it.
    mutating func isNew(actionAt revision: Int, isOneOfSeveral: Bool) -> Bool {
        if actionsToSkip > 0, revision == skipRevision {
            actionsToSkip -= 1
            return false
        }
        let before = position?.revision == revision ? actionsAtPosition : 0
        actionsAtPosition = isOneOfSeveral ? before + 1 : 0
        return true
    }

    /// Notes what a change says of the store that the request has created.
    mutating func notePresence(in change: JSONObject, isReset: Bool) {
        guard let store = request.creation?.store else { return }
        if change["states"]?[store] != nil {
            presence = .there
        } else if presence == .there, isReset || change["dropped"]?.array?.contains(.string(store)) == true {
            presence = .dropped
        }
    }

    /// Moves to an event that has come. Returns the request that receives it.
    mutating func moved(to point: ResumePoint) -> SubscriptionRequest {
        position = point
        isResuming = false
        return request
    }

    /// The `subscribe` that continues at the record's position.
    func wire() -> BusRequest {
        var wire = request.request
        if let point = resumePoint {
            wire.set("since", .int(point.revision))
            wire.set("epoch", .string(point.epoch))
        } else if !request.wantsFirstStates, !request.isOfActions {
            wire.set("initial", false)
        }
        return wire
    }

    /// A commit may hold several actions, and `since` is exclusive: when some of a commit were delivered, it is
    /// requested again as a whole, and those are skipped. Not so the only one of a commit: a bus without a log can't tell
    /// it again.
    private var resumePoint: ResumePoint? {
        guard let position else { return nil }
        guard request.isOfActions, actionsAtPosition > 0 else { return position }
        return ResumePoint(revision: position.revision - 1, epoch: position.epoch)
    }
}

/// A request for events: what to observe, and where the events go.
package struct SubscriptionRequest: Sendable {
    /// The receiver's answer to an event.
    package enum Verdict: Sendable {
        case goOn
        /// It has taken this one and has no room for more; the subscription pauses until it is continued.
        case rest
    }

    /// A store that this program has created, and that goes on in an epoch that does not know it.
    package struct Creation: Sendable {
        let store: String
        let state: JSONObject
        /// Receives the refusal when it could not be created again.
        let onRefusal: @Sendable (BusError) -> Void

        package init(store: String, state: JSONObject, onRefusal: @escaping @Sendable (BusError) -> Void) {
            self.store = store
            self.state = state
            self.onRefusal = onRefusal
        }
    }

    /// Its number among the subscriptions of one bus, over all connections.
    package let number: Int
    /// `subscribe` with everything but `since`, `epoch` and `initial`.
    package let request: BusRequest
    let format: BusMirror.Format
    let isOfActions: Bool
    /// Whether the first event holds the current states.
    let wantsFirstStates: Bool
    /// Where to begin, if not now.
    let start: ResumePoint?
    /// The store it follows, where this program has created it.
    let creation: Creation?
    /// Receives an event and its size in bytes.
    package let receive: @Sendable (SubscriptionEvent, Int) -> Verdict

    package init(
        number: Int, request: BusRequest, format: BusMirror.Format = .merge, isOfActions: Bool = false,
        wantsFirstStates: Bool = true, start: ResumePoint? = nil, creation: Creation? = nil,
        receive: @escaping @Sendable (SubscriptionEvent, Int) -> Verdict
    ) {
        self.number = number
        self.request = request
        self.format = format
        self.isOfActions = isOfActions
        self.wantsFirstStates = wantsFirstStates
        self.start = start
        self.creation = creation
        self.receive = receive
    }
}
