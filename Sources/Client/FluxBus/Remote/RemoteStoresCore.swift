import BusJSON
import BusTypes
import Dispatch
import Flux
import Synchronization

/// All stores of a type, updated by the bus's thread.
final class RemoteStoresCore<State: SharedState>: Sendable {
    /// By the names after the slash.
    let states = Variable<[String: State]>([:])
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
            // After everything still to be delivered, and like that not on this thread.
            queue.async { [states, failures] in
                states.finish()
                failures.finish()
            }
        // The next change begins there.
        case .bookmark: mirror.withLock { _ = try? $0.fold(event) }
        case .action, .gap: break
        }
    }

    private func take(_ event: ChangeEvent) {
        let outcome = Result { () throws(BusError) in
            try mirror.withLock { mirror throws(BusError) in try mirror.fold(event.object) }
        }
        switch outcome {
        case .failure(let error): report(error)
        case .success(let change?): show(change)
        case .success(nil): break
        }
        isKnown.store(true, ordering: .releasing)
    }

    private func show(_ change: MirrorChange) {
        var next = change.isReset ? [:] : states.value
        for store in change.stores {
            let name = String(store.address.drop { $0 != "/" }.dropFirst())
            guard let json = store.new else {
                next[name] = nil
                continue
            }
            do {
                next[name] = try State.state(from: json)
            } catch {
                next[name] = nil
                report(
                    BusError(
                        .unfitState, "The state of \(store.address) does not fit \(State.self): \(error)"))
            }
        }
        states.put(next)
        queue.async { self.states.deliver() }
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

    deinit { subscription.cancel() }

    /// The states by the stores' names.
    public var states: [String: State] { core.states.value }

    /// The states now and after each commit that changed one of them.
    public var signal: Signal<[String: State]> { core.states.signal }

    /// The states as a value to read and observe, whole or in part.
    public var constant: Constant<[String: State]> { core.states.constant }

    /// Failures: a state that does not fit the Swift type, and why following ended.
    public var failures: Signal<BusError> { core.failures.signal }

    /// Actions to every store of the type on the bus.
    public var actions: Actions<State> { bus.actions(of: State.self) { [core] in core.report($0) } }
}
