import Synchronization

/// Timers of a store. They change only in the store's turn, so each change has its place in the order of dispatches. The
/// clock only asks for a turn, in which the store checks what is due.
extension StoreCore {
    /// Applies a commit's changes to timers. A timer belongs to the one that commits: for an action that a relay has committed,
    /// the relay has set the timer, and this store keeps none of that name.
    func change(_ changes: [TimerChange<State>], isRelayed: Bool = false) throws {
        if changes.isEmpty { return }
        let now = clock.now
        let released = try timers.withLock { table in
            if table.isClosed { return [TimerTable<State>.Timer]() }
            var (next, released) = (table, [TimerTable<State>.Timer]())
            for change in changes {
                let replaced =
                    if let setting = change.setting, !isRelayed {
                        try next.set(
                            .init(
                                name: change.timer, due: now + max(setting.delay, TimerLimits.shortest),
                                action: setting.action))
                    } else {
                        next.cancel(change.timer)
                    }
                if let replaced { released.append(replaced) }
            }
            table = next
            return released
        }
        withExtendedLifetime(released) { setAlarm() }
    }

    /// Removes the first timer that is due, and returns its action.
    func takeDueAction() -> State.Action? {
        let now = clock.now
        let (timer, alarm) = timers.withLock { ($0.takeDue(at: now), $0.takeAlarm()) }
        alarm?.dispose()
        return timer?.action
    }

    /// Makes sure that the clock calls when the first timer is due. Without timers, there is no alarm.
    func setAlarm() {
        let (time, old) = timers.withLock { table in
            let time = table.wantedAlarm
            return (time, time != nil || table.timers.isEmpty ? table.takeAlarm() : nil)
        }
        old?.dispose()
        guard let time else { return }
        let alarm = clock.wake(at: time) { [weak self] in
            if let self { lane.place([Entry(.dueTimer)], in: self, isOwn: true) }
        }
        // The store may be gone by now.
        let late = timers.withLock { table in
            if table.isClosed { return Disposable?.some(alarm) }
            table.alarm = (time, alarm)
            return nil
        }
        late?.dispose()
    }

    func closeTimers() {
        let (_, alarm) = timers.withLock { $0.close() }
        alarm?.dispose()
    }
}

extension Store {
    /// Dispatches an action to this store later, by a timer with the given name, which replaces an earlier one of that name.
    ///
    /// ```swift
    /// store.dispatch(.switchOff, after: .seconds(300), timer: "off")
    /// store.cancelTimer("off")
    /// ```
    ///
    /// The timer is set at this dispatch's place in the order. When it is due, by the store's clock, its action is dispatched
    /// to the store: once, never early, after those due before, on the store's executor. It goes with the store, which it
    /// does not keep alive.
    ///
    /// A name or a delay outside ``TimerLimits`` is reported by ``failures``, as ``FluxError/timerRefused(timer:reason:)``.
    public func dispatch(_ action: State.Action, after delay: Duration, timer: String) {
        core.lane.place([Entry(.timer(.set(timer, after: delay, action)))], in: core)
    }

    /// Cancels a timer, whether the state's rule or a dispatch has set it. Does nothing if there is none of this name.
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
    /// Its name, which is unique in the store.
    public let name: String
    /// The time until it is due; zero if that has passed.
    public let remaining: Duration
    /// What will be dispatched to the store.
    public let action: State.Action
}

extension StoreTimer: Equatable where State.Action: Equatable {}
