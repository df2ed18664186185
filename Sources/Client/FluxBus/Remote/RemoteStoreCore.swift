import BusJSON
import BusTypes
import Dispatch
import Flux
import Synchronization

/// A remote store without its handle: the events from the bus's thread, the actions
/// dispatched here, and the shown state.
///
/// Events and answers come on the bus's thread, in the order of the bus; dispatches come on any thread. Each makes a
/// new `Reconciler` from the previous one, outside the lock, because states are decoded and mutations run by user code;
/// it is stored only if no other one was faster. The shown state goes into a `Variable` under the same lock, so its
/// order is the order of the changes. Observers are called on a queue of the store's own, never on the bus's thread.
final class RemoteStoreCore<State: SharedState>: Sendable {
    private struct Contents {
        var reconciler: Reconciler<State>
        /// Counts the reconcilers that were stored.
        var version = 0
        var status = RemoteStoreStatus.absent
        /// The epoch that the revisions belong to.
        var epoch = ""
        var nextID = 0
        var hasFirst = false
        /// The present epoch began without the store: it was not dropped.
        var isLost = false
    }

    let address: String
    let state: Variable<State>
    let failures = Sink<ActionFailure<State>>()
    let status: Variable<RemoteStoreStatus>
    private let contents: Mutex<Contents>
    /// Accessed by the bus's thread only; the lock is never contended.
    private let mirror = Mutex(Mirror())
    private let queue = DispatchQueue(label: "fluxbus.store")
    private let isEqual = Equality.of(State.self)

    private let currentEpoch: @Sendable () -> String
    private let recreation: Recreation?

    /// How a store that this program has created is created anew in an epoch that does not know it.
    struct Recreation: Sendable {
        /// Asks the bus for it, and tells what comes of that.
        let post: @Sendable (@escaping @Sendable (Result<JSONObject, BusError>) -> Void) -> Void
    }

    /// `epoch` returns that of the present connection.
    init(
        address: String, isOptimistic: Bool, recreation: Recreation?, epoch: @escaping @Sendable () -> String
    ) {
        currentEpoch = epoch
        self.recreation = recreation
        self.address = address
        state = Variable(State())
        status = Variable(.absent)
        contents = Mutex(Contents(reconciler: Reconciler(isOptimistic: isOptimistic)))
    }

    /// The state shown now; the last one while there is no such store.
    var shown: State { contents.withLock { $0.reconciler.shown } ?? state.value }

    /// The revision up to which the bus's state is known, and how many actions are not part of it yet.
    var position: (revision: Int, pending: Int) {
        contents.withLock { ($0.reconciler.revision, $0.reconciler.pendingCount) }
    }

    /// The state on the bus, and the last commit that changed it, if that is known, in which epoch.
    var confirmed: (state: State?, revision: Int?, epoch: String) {
        contents.withLock { ($0.reconciler.confirmed, $0.reconciler.ownRevision, $0.epoch) }
    }

    /// Whether nothing up to a revision of the bus still waits to be part of the confirmed state.
    func hasTaken(through revision: Int) -> Bool {
        contents.withLock { $0.reconciler.hasTaken(through: revision) }
    }

    /// Creates the store anew, if this program has created it and it was lost; false if it is not to be.
    func createAgain() async throws(BusError) -> Bool {
        guard let recreation, contents.withLock({ $0.isLost }) else { return false }
        let outcome = await withCheckedContinuation { continuation in
            recreation.post { continuation.resume(returning: $0) }
        }
        _ = try outcome.get()
        return true
    }

    /// Records the store's own revision from the bus, on the bus's thread.
    func learn(ownRevision: Int) { transform { $0.learned(ownRevision: ownRevision) } }

    /// Whether the bus has sent the first state, or that there is none.
    var hasFirst: Bool { contents.withLock { $0.hasFirst } }

    // MARK: - From the bus

    /// Handles an event, on the bus's thread.
    func take(_ event: SubscriptionEvent) {
        switch event {
        case .change(let change): take(change)
        case .ended(let error):
            set(.ended(error))
            // After everything still to be delivered, and like that not on this thread.
            queue.async { [state, status, failures] in
                state.finish()
                status.finish()
                failures.finish()
            }
        case .bookmark, .action, .gap: break
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
            if event.isReset {
                let epoch = currentEpoch()
                let isLost = contents.withLock { contents in
                    let wasThere = contents.isLost || contents.reconciler.confirmed != nil
                    contents.isLost = wasThere && contents.epoch != epoch && state == nil
                    contents.epoch = epoch
                    return contents.isLost
                }
                if isLost { replaceLost() }
            }
            if state != nil { contents.withLock { $0.isLost = false } }
            transform { reconciler in
                if event.isReset {
                    reconciler.reset(to: state, revision: event.revision)
                } else {
                    reconciler.changed(
                        to: state, from: event.from, revision: event.revision, ownRevision: own)
                }
            }
            set(state == nil ? .absent : .live)
        } catch {
            set(.unfit(error))
        }
        contents.withLock { $0.hasFirst = true }
    }

    /// A restart of the bus has lost the store that this program had created.
    private func replaceLost() {
        recreation?.post { [weak self] outcome in
            guard case .failure(let error) = outcome else { return }
            self?.report(ActionFailure(actions: [], error: error))
        }
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

    /// Shows an action that is sent, if that is wanted, and returns the number for its outcome.
    func begin(_ action: State.Action) -> Int {
        let id = contents.withLock { contents in
            contents.nextID += 1
            return contents.nextID
        }
        transform { $0.dispatched(action, id: id) }
        return id
    }

    /// Handles the outcome of an action, on the bus's thread at its place between the events.
    func end(_ id: Int, _ outcome: Result<DispatchReply, BusError>) {
        switch outcome {
        case .success(let reply): transform { $0.committed(id, revision: reply.revision) }
        case .failure: transform { $0.failed(id) }
        }
    }

    func report(_ failure: ActionFailure<State>) {
        queue.async { self.failures.send(failure) }
    }

    // MARK: - Storing

    /// Makes a new reconciler from the previous one and shows its state.
    private func transform(_ change: (inout Reconciler<State>) -> Void) {
        var isShown = false
        while true {
            let (before, version) = contents.withLock { ($0.reconciler, $0.version) }
            var after = before
            change(&after)
            let shows = differs(after.shown, from: before.shown)
            let isInPlace = contents.withLock { contents in
                guard contents.version == version else { return false }
                contents.reconciler = after
                contents.version += 1
                if shows, let shown = after.shown { state.put(shown) }
                return true
            }
            if isInPlace {
                isShown = shows
                break
            }
        }
        if isShown { queue.async { self.state.deliver() } }
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
