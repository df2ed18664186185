import BusJSON
import BusTypes
import Dispatch
import Flux
import Synchronization

/// A remote store without its handle: the events from the bus's thread, the actions
/// dispatched here, and the shown state.
///
/// Events and answers come on the bus's thread, in the order of the bus; dispatches come on any thread. Each has its turn, one
/// after another, in which mutations run, and in which a dispatch is also handed to the bus: so the pending actions stand in
/// the order in which the bus gets them. The shown state goes into a `Variable` in the same turn, so its order is the order of
/// the changes. What has to be computed from all pending actions again is left to the next one who looks, at the latest to the
/// queue of the observers, and done once for all that came meanwhile. Observers are called on a queue of the store's own, never
/// on the bus's thread.
///
/// The turn is a leaf: mutations neither dispatch nor wait.
final class RemoteStoreCore<State: SharedState>: Sendable {
    private struct Turn {
        var reconciler: Reconciler<State>
        /// The epoch that the revisions belong to.
        var epoch = ""
        /// What observers have been notified of, or will be; nil while there is no store.
        var told: State?
        /// How often the reconciler had changed by then.
        var toldCount = 0
        var nextID = 0
        /// The observers' queue will look what is shown.
        var isLookQueued = false

        /// Earlier states and revisions are no longer valid. The state is nil where there is none that fits.
        mutating func begin(_ epoch: String, with state: State?, at revision: Int) {
            self.epoch = epoch
            reconciler.reset(to: state, revision: revision)
        }
    }

    private struct Contents {
        var status = RemoteStoreStatus.absent
        var hasFirst = false
    }

    let address: String
    let state: Variable<State>
    let failures = Sink<ActionFailure<State>>()
    let status: Variable<RemoteStoreStatus>
    /// Tells on the dispatching thread that an action is shown, before observers hear of it on theirs.
    let predictions = Sink<Void>()
    private let turn: Mutex<Turn>
    private let knownRevision = Atomic<Int>(0)
    private let knownPending = Atomic<Int>(0)
    private let contents = Mutex(Contents())
    /// Accessed by the bus's thread only; the lock is never contended.
    private let mirror = Mutex(BusMirror())
    private let queue = DispatchQueue(label: "fluxbus.store")
    private let isEqual = Equality.of(State.self)

    private let currentEpoch: @Sendable () -> String

    /// `epoch` returns that of the present connection.
    init(address: String, isOptimistic: Bool, epoch: @escaping @Sendable () -> String) {
        currentEpoch = epoch
        self.address = address
        state = Variable(State())
        status = Variable(.absent)
        turn = Mutex(Turn(reconciler: Reconciler(isOptimistic: isOptimistic)))
    }

    /// The state shown now; the last one while there is no such store. A mutation, which should not look, sees one before.
    var shown: State {
        if Mutating.isUnderWay { return state.value }
        return turn.withLock { turn in
            turn.reconciler.refresh()
            return turn.reconciler.shown
        } ?? state.value
    }

    /// The state as a value to read and observe.
    var constant: Constant<State> {
        Constant(signal: state.signal, predictions: predictions.signal) { [self] in shown }
    }

    /// The revision up to which the bus's state is known, and how many actions are not part of it yet.
    var position: (revision: Int, pending: Int) {
        (knownRevision.load(ordering: .acquiring), knownPending.load(ordering: .acquiring))
    }

    /// The state on the bus, and the last commit that changed it, if that is known; in which epoch; and how many states came
    /// before.
    var confirmed: (state: State?, revision: Int?, epoch: String, adoptions: Int) {
        turn.withLock { turn in
            let known = turn.reconciler
            return (known.confirmed, known.ownRevision, turn.epoch, known.adoptions)
        }
    }

    /// The epoch that the revisions belong to.
    var epoch: String { turn.withLock { $0.epoch } }

    /// Whether nothing up to a revision of the bus still waits to be part of the confirmed state.
    func hasTaken(through revision: Int) -> Bool {
        turn.withLock { $0.reconciler.hasTaken(through: revision) }
    }

    /// Records the store's own revision, of which an answer tells; on the bus's thread.
    func recordOwnRevision(_ ownRevision: Int) {
        let epoch = currentEpoch()
        change { if $0.epoch == epoch { $0.reconciler.recordOwnRevision(ownRevision) } }
    }

    /// Records the store's own revision, which the bus was asked for after `adoptions` states had been taken; on the bus's
    /// thread.
    func recordOwnRevision(_ ownRevision: Int, after adoptions: Int) {
        change { $0.reconciler.recordOwnRevision(ownRevision, after: adoptions) }
    }

    /// Whether the bus has sent the first state, or that there is none.
    var hasFirst: Bool { contents.withLock { $0.hasFirst } }

    // MARK: - From the bus

    /// Handles an event, on the bus's thread.
    func take(_ event: SubscriptionEvent) {
        switch event {
        case .change(let change): take(change)
        case .ended(let error):
            set(.ended(error))
            finish()
        // The next change begins there.
        case .bookmark: mirror.withLock { _ = try? $0.fold(event) }
        case .action, .gap: break
        }
    }

    /// Ends all signals, after everything still to be delivered, and like that not on this thread.
    func finish() {
        queue.async { [state, status, failures] in
            state.finish()
            status.finish()
            failures.finish()
        }
    }

    private func take(_ event: ChangeEvent) {
        let outcome = Result { () throws(BusError) in
            try mirror.withLock { mirror throws(BusError) in
                _ = try mirror.fold(event.object)
                return mirror.states[address]
            }
        }
        do throws(BusError) {
            let told = try outcome.get()
            let state = try told.map { json throws(BusError) in try decoded(json) }
            // A reset, or several commits in one, do not say which of them changed the store.
            let own = event.isReset || event.coalesced ?? 1 > 1 ? nil : event.revision
            let newEpoch = event.isReset ? currentEpoch() : nil
            change { turn in
                if let newEpoch {
                    turn.begin(newEpoch, with: state, at: event.revision)
                } else {
                    turn.reconciler.changed(
                        to: state, from: event.from, revision: event.revision, ownRevision: own)
                }
            }
            set(state == nil ? .absent : .live)
        } catch {
            if event.isReset {
                let epoch = currentEpoch()
                change { $0.begin(epoch, with: nil, at: event.revision) }
            }
            set(.unfit(error))
        }
        contents.withLock { $0.hasFirst = true }
    }

    private func decoded(_ json: JSON) throws(BusError) -> State {
        do {
            return try State.state(from: json)
        } catch {
            throw BusError(
                .unfitState, "The state of \(address) does not fit \(State.self): \(error)",
                details: ["state": json])
        }
    }

    // MARK: - From here

    /// Shows an action, if that is wanted, and sends it by `handOver`, which gets the number for its outcome and neither waits
    /// nor calls back.
    func begin<Result>(_ action: State.Action, _ handOver: (_ id: Int) -> Result) -> Result {
        let result = change { turn in
            turn.nextID += 1
            turn.reconciler.dispatched(action, id: turn.nextID)
            return handOver(turn.nextID)
        }
        predictions.send(())
        return result
    }

    /// Handles the outcome of an action, on the bus's thread at its place between the events. A conflict refutes the own revision
    /// that it was for, and names the one that the store has.
    func end(_ id: Int, _ outcome: Result<DispatchReply, BusError>, ifRevision: Int? = nil) {
        let epoch = ifRevision.map { _ in currentEpoch() }
        change { turn in
            switch outcome {
            case .success(let reply): turn.reconciler.committed(id, revision: reply.revision)
            case .failure(let error):
                turn.reconciler.failed(id)
                if error.code == .conflict, let ifRevision {
                    turn.reconciler.forgetOwnRevision(ifRevision)
                    if turn.epoch == epoch, let actual = error.details["revision"]?.int {
                        turn.reconciler.recordOwnRevision(actual)
                    }
                }
            }
        }
    }

    func report(_ failure: ActionFailure<State>) {
        queue.async { self.failures.send(failure) }
    }

    // MARK: - Showing

    /// Changes what is known in a turn, and shows what follows.
    private func change<Result>(_ body: (inout Turn) -> Result) -> Result {
        let (result, isNew, mustLook) = turn.withLock { turn in
            let result = body(&turn)
            knownRevision.store(turn.reconciler.revision, ordering: .releasing)
            knownPending.store(turn.reconciler.pendingCount, ordering: .releasing)
            guard turn.reconciler.isStale else { return (result, put(&turn), false) }
            defer { turn.isLookQueued = true }
            return (result, false, !turn.isLookQueued)
        }
        if isNew { queue.async { self.state.deliver() } }
        if mustLook { queue.async { self.look() } }
        return result
    }

    /// Computes what is shown from all pending actions, and notifies the observers, on their queue.
    private func look() {
        turn.withLock { turn in
            turn.isLookQueued = false
            turn.reconciler.refresh()
            _ = put(&turn)
        }
        state.deliver()
    }

    /// Keeps what is shown for the observers; false if that is nothing new.
    private func put(_ turn: inout Turn) -> Bool {
        guard turn.toldCount != turn.reconciler.changeCount else { return false }
        turn.toldCount = turn.reconciler.changeCount
        let shown = turn.reconciler.shown
        guard differs(shown, from: turn.told) else { return false }
        turn.told = shown
        if let shown { state.put(shown) }
        return shown != nil
    }

    private func differs(_ new: State?, from old: State?) -> Bool {
        switch (old, new) {
        case (nil, nil): false
        case (let old?, let new?): isEqual.map { !$0(old, new) } ?? true
        default: true
        }
    }

    private func set(_ status: RemoteStoreStatus) {
        let isNew = contents.withLock { contents in
            if contents.status == status { return false }
            contents.status = status
            self.status.put(status)
            return true
        }
        if isNew { queue.async { self.status.deliver() } }
    }
}
