/// Observing on the main actor: closures may use what belongs to it without `assumeIsolated`.
///
/// The first value comes before `observe` returns, unless work is waiting for the main thread. Later ones come on the main
/// thread: at once if they are sent there, nothing is waiting for it, and no other thread is delivering an earlier value of the
/// source; else through its queue.
extension SignalSource {
    /// Calls `observer` with each value on the main actor, in order. After disposal nothing is delivered, not even what was
    /// queued.
    ///
    /// ```swift
    /// store.signal(\.count).observe(on: MainActor.shared) { label.text = "\($0)" }
    /// ```
    @MainActor
    @discardableResult
    public func observe(
        on actor: MainActor, _ observer: @escaping @MainActor (Value) -> Void
    ) -> Disposable {
        observe(on: .mainThread, Self.onMainActor(observer))
    }

    /// Calls `observer` with each value on the main actor until `scope` ends.
    @MainActor
    @discardableResult
    public func observe(
        until scope: DisposableScope, on actor: MainActor, _ observer: @escaping @MainActor (Value) -> Void
    ) -> Disposable {
        observe(until: scope, on: .mainThread, Self.onMainActor(observer))
    }

    /// Assigns each value to a member of `target`, on the main actor. The target is held weakly.
    ///
    /// ```swift
    /// store.signal(\.title).bind(to: label, on: MainActor.shared, \.text)
    /// ```
    @MainActor
    @discardableResult
    public func bind<Target: AnyObject & Sendable>(
        to target: Target, on actor: MainActor, _ keyPath: ReferenceWritableKeyPath<Target, Value>
    ) -> Disposable {
        bind(to: Binder(target, on: actor) { target, value in target[keyPath: keyPath] = value })
    }

    /// Calls `apply` with `target`, which is held weakly, and each value, on the main actor.
    @MainActor
    @discardableResult
    public func bind<Target: AnyObject & Sendable>(
        to target: Target, on actor: MainActor, _ apply: @escaping @MainActor (Target, Value) -> Void
    ) -> Disposable {
        bind(to: Binder(target, on: actor, apply))
    }

    /// A closure for ``FluxExecutor/mainThread``, which runs it on the main actor's own executor.
    private static func onMainActor(
        _ observer: @escaping @MainActor (Value) -> Void
    ) -> @Sendable (Value) -> Void {
        { value in MainActor.assumeIsolated { observer(value) } }
    }
}

extension Binder {
    /// A destination in `target`, which is held weakly; `apply` puts values there, on the main actor.
    ///
    /// ```swift
    /// let title = Binder<String>(label, on: MainActor.shared) { label, text in label.text = text }
    /// ```
    @MainActor
    public init<Target: AnyObject & Sendable>(
        _ target: Target, on actor: MainActor, _ apply: @escaping @MainActor (Target, Value) -> Void
    ) {
        self.init(target, on: .mainThread) { target, value in
            MainActor.assumeIsolated { apply(target, value) }
        }
    }
}

/// Following a value on the main actor as a user interface does: it always shows the latest value.
extension Constant {
    /// Calls `show` with the value, before this returns, and again when it changes. A change made on the main thread is shown
    /// as observers there are notified of it; where `predictions` say that the value may be a new one, as those of an optimistic
    /// store on a bus do, at once.
    @MainActor
    func follow(until scope: DisposableScope, _ show: @escaping @MainActor (Value) -> Void) {
        guard let predictions else {
            observe(until: scope, on: MainActor.shared, show)
            return
        }
        let follower = MainActorFollower(read: read, show: show)
        observe(until: scope, on: MainActor.shared) { _ in follower.look() }
        predictions.observe(until: scope) {
            if MainThread.isCurrent { MainActor.assumeIsolated { follower.look() } }
        }
    }
}

/// Shows the latest value, which may be newer than the one in a notification, so it never goes back.
@MainActor
private final class MainActorFollower<Value: Sendable> {
    private let read: @Sendable () -> Value
    private let show: @MainActor (Value) -> Void
    private var isShowing = false
    private var isLate = false

    init(read: @escaping @Sendable () -> Value, show: @escaping @MainActor (Value) -> Void) {
        self.read = read
        self.show = show
    }

    /// `show` may change the value; the change is shown when that call returns.
    func look() {
        isLate = true
        guard !isShowing else { return }
        isShowing = true
        while isLate {
            isLate = false
            show(read())
        }
        isShowing = false
    }
}

/// An object of the main actor that a store notifies of new states, or of a selection of them. It is held weakly.
///
/// ```swift
/// final class CounterController: MainActorSubscriber {
///     func newState(_ count: Int) { label.text = "\(count)" }
/// }
/// store.subscribe(controller) { $0.select(\.count) }
/// ```
@MainActor
public protocol MainActorSubscriber<Selection>: AnyObject, Sendable {
    /// The values it receives: the state, or a part of it.
    associatedtype Selection: Sendable

    /// Called with the latest selection, and then with each new one.
    func newState(_ state: Selection)
}

extension StateStore {
    /// Notifies `subscriber` of the latest state and of every new one on the main actor, until it is released or unsubscribed,
    /// or the store is released. In all else it works as for a ``StoreSubscriber``.
    @MainActor
    public func subscribe<Subscriber: MainActorSubscriber>(
        _ subscriber: Subscriber, skipsRepeats: Bool = true
    ) where Subscriber.Selection == State {
        subscribe(subscriber, skipsRepeats: skipsRepeats) { $0 }
    }

    /// Notifies `subscriber` of what `selection` derives from the states, on the main actor.
    @MainActor
    public func subscribe<Subscriber: MainActorSubscriber>(
        _ subscriber: Subscriber, skipsRepeats: Bool = true,
        _ selection: (Signal<State>) -> Signal<Subscriber.Selection>
    ) {
        subscribe(subscriber, skipsRepeats: skipsRepeats, on: .mainThread, selection) { subscriber, state in
            MainActor.assumeIsolated { subscriber.newState(state) }
        }
    }

    /// Ends the subscription of `subscriber`: no call begins after this.
    public func unsubscribe(_ subscriber: some MainActorSubscriber) {
        subscriptions.end(ObjectIdentifier(subscriber))
    }
}
