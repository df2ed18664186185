import BusJSON
import BusTypes
import Dispatch
import Flux
import Synchronization

/// All stores of a type, updated by the bus's thread.
///
/// That thread only notes what a commit has changed, because a map that others hold is copied when it is changed. Who looks makes
/// one map of all that was noted, so observers that lag behind get many commits as one.
final class RemoteStoresCore<State: SharedState>: Sendable {
    /// What has changed since somebody looked.
    private struct Changes {
        /// Whether everything known before is to be forgotten.
        var isReset = false
        /// By the names after the slash; nil for a store that is gone.
        var states: [String: State?] = [:]
        /// The observers' queue will look.
        var isLookQueued = false
    }

    /// By the names after the slash, without what is noted in `changes`.
    private let states = Variable<[String: State]>([:])
    private let changes = Mutex(Changes())
    /// Held by those who look, one after another.
    private let turn = Mutex<Void>(())
    /// Stores whose state does not fit the Swift type, and the end.
    let failures = Sink<BusError>()
    /// Whether the bus has sent the first states.
    private let isKnown = Atomic<Bool>(false)
    /// Accessed by the bus's thread only; the lock is never contended.
    private let mirror = Mutex(BusMirror())
    private let queue = DispatchQueue(label: "fluxbus.stores")

    var hasFirst: Bool { isKnown.load(ordering: .acquiring) }

    /// Handles an event, on the bus's thread.
    func take(_ event: SubscriptionEvent) {
        switch event {
        case .change(let change): take(change)
        case .ended(let error):
            if let error { report(error) }
            finish()
        // The next change begins there.
        case .bookmark: mirror.withLock { _ = try? $0.fold(event) }
        case .action, .gap: break
        }
    }

    /// Ends all signals, after everything still to be delivered, and like that not on this thread.
    func finish() {
        queue.async { [states, failures] in
            states.finish()
            failures.finish()
        }
    }

    private func take(_ event: ChangeEvent) {
        let outcome = Result { () throws(BusError) in
            try mirror.withLock { mirror throws(BusError) in try mirror.fold(event.object) }
        }
        switch outcome {
        case .failure(let error): report(error)
        case .success(let change?): note(change)
        case .success(nil): break
        }
        isKnown.store(true, ordering: .releasing)
    }

    private func note(_ change: MirrorChange) {
        let news = change.stores.map { store in
            let name = String(store.address.drop { $0 != "/" }.dropFirst())
            return (name, store.new.flatMap { state(from: $0, of: store) })
        }
        // Released outside the lock: the deinit of a state may do anything.
        var former: [State?] = []
        let mustLook = changes.withLock { changes in
            if change.isReset {
                former += changes.states.values
                changes.states = [:]
                changes.isReset = true
            }
            for (name, state) in news {
                if let state = changes.states.updateValue(state, forKey: name) { former.append(state) }
            }
            defer { changes.isLookQueued = true }
            return !changes.isLookQueued
        }
        if mustLook { queue.async { self.look() } }
    }

    private func state(from json: JSON, of store: MirrorChange.Store) -> State? {
        do {
            return try State.state(from: json)
        } catch {
            report(
                BusError(
                    .unfitState, "The state of \(store.address) does not fit \(State.self): \(error)"))
            return nil
        }
    }

    // MARK: - Looking

    /// The states known now, by the names after the slash.
    var current: [String: State] {
        // The former states are released outside the lock.
        turn.withLock { _ in
            let former = states.value
            let news = changes.withLock { changes in
                defer { (changes.isReset, changes.states) = (false, [:]) }
                return changes
            }
            guard news.isReset || !news.states.isEmpty else { return (former, former) }
            var current = news.isReset ? [:] : former
            for (name, state) in news.states { current[name] = state }
            states.put(current)
            return (current, former)
        }.0
    }

    var signal: Signal<[String: State]> {
        _ = current
        return states.signal
    }

    var constant: Constant<[String: State]> { Constant(signal: signal) { [self] in current } }

    private func look() {
        changes.withLock { $0.isLookQueued = false }
        _ = current
        states.deliver()
    }

    /// Reports a failure, on the queue of the observers.
    func report(_ error: BusError) { queue.async { self.failures.send(error) } }
}

/// All stores of one type on the bus, followed together: their names and their states.
///
/// ```swift
/// let counters = try await bus.stores(of: Counter.self)
/// counters.states["kitchen"]?.count
/// counters.actions.increment()                                // every counter on the bus
/// for await states in counters.values { show(states.keys.sorted()) }
/// ```
///
/// The states of one moment belong together: a commit over many stores is seen whole.
public final class RemoteStores<State: SharedState>: SignalSource {
    /// The bus they live on.
    public let bus: Bus
    private let core: RemoteStoresCore<State>
    private let subscription: SubscriptionHandle

    init(bus: Bus, core: RemoteStoresCore<State>, subscription: SubscriptionHandle) {
        self.bus = bus
        self.core = core
        self.subscription = subscription
    }

    deinit {
        subscription.cancel()
        core.finish()
    }

    /// The states by the stores' names.
    public var states: [String: State] { core.current }

    /// The states now, and again when commits have changed some of them: observers that lag behind get many commits as one.
    public var signal: Signal<[String: State]> { core.signal }

    /// The states as a value to read and observe, whole or in part.
    public var constant: Constant<[String: State]> { core.constant }

    /// Failures: a state that does not fit the Swift type, and why following ended.
    public var failures: Signal<BusError> { core.failures.signal }

    /// Actions to every store of the type on the bus.
    public var actions: Actions<State> { bus.actions(of: State.self) { [core] in core.report($0) } }
}
