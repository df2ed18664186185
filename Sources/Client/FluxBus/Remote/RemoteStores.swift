import BusTypes
import Flux

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
