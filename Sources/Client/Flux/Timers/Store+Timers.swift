extension Store {
    /// Dispatches an action to this store later, as the timer of that name; an earlier one of the name is replaced.
    ///
    /// ```swift
    /// store.dispatch(.switchOff, after: .seconds(300), timer: "off")
    /// store.cancelTimer("off")
    /// ```
    ///
    /// The timer is set at this dispatch's place in the order. When it is due, by the store's clock, its action is dispatched
    /// to the store: once, never early, after those due before, on the store's executor. It goes with the store, which it
    /// does not keep.
    ///
    /// A name or a time that is out of ``TimerLimits`` is reported by ``failures``, as ``FluxError/timerRefused(timer:reason:)``.
    public func dispatch(_ action: State.Action, after delay: Duration, timer: String) {
        core.lane.place([Entry(.timer(.set(timer, after: delay, action)))], in: core)
    }

    /// Takes a timer away, whether the state's rule has set it or a dispatch. Nothing happens if there is none of the name.
    public func cancelTimer(_ timer: String) {
        core.lane.place([Entry(.timer(.cancel(timer)))], in: core)
    }

    /// The timers that are set, in the order in which they are due.
    public var timers: [StoreTimer<State>] {
        let now = core.clock.now
        return core.timers.withLock { $0.timers }.map {
            StoreTimer(name: $0.name, remaining: max($0.due - now, .zero), action: $0.action)
        }
    }
}

/// A timer of a store.
public struct StoreTimer<State: Flux.State>: Sendable {
    /// Its name, of which the store has one.
    public let name: String
    /// How long it is until it is due.
    public let remaining: Duration
    /// What will be dispatched to the store.
    public let action: State.Action
}

extension StoreTimer: Equatable where State.Action: Equatable {}
