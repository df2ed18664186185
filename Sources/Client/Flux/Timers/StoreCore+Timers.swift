import Synchronization

/// Timers of a store. They are changed in the store's turn alone, by commits, so they have a place in the order of all
/// dispatches; the clock only asks for a turn, in which the store looks what is due.
extension StoreCore {
    /// What a commit does to timers. Those that are set belong to whoever commits: an action that a relay commits has set
    /// the relay's timer already, and leaves none of that name here.
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

    /// The action of the first timer that is due, which is gone then.
    func takeDueAction() -> State.Action? {
        let now = clock.now
        let (timer, alarm) = timers.withLock { ($0.takeDue(at: now), $0.takeAlarm()) }
        alarm?.dispose()
        return timer?.action
    }

    /// Has the clock call for the first timer, if it does not yet. Without timers nothing waits.
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
        // The store may have gone meanwhile.
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
