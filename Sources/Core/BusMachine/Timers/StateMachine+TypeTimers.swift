import BusJSON
import BusLogic
import BusProtocol

/// Timers that types have of themselves. A timer is set by the commit after which its condition begins to hold for a store, and
/// taken away by the commit after which it no longer holds. Only the states before and after a commit count, and nothing is
/// kept beside the timer. The log need not tell of these timers: whoever replays the states sets them again.
extension StateMachine {
    /// Turns the timers of the stores that the plan has been applied to.
    @inline(never)
    func settleTimers(by principal: Principal) throws(RequestError) {
        let turning = context.turning
        forgetTurning()
        // Stores that were only created come first, then those that actions have reached, in that order.
        var made: [Int: Int] = [:]
        for (place, step) in plan.storeSteps.enumerated() where step.isCreation {
            made[Int(step.store)] = place - plan.storeSteps.count
        }
        func order(_ store: Int) -> Int {
            let write = Int(self.stores.pointer(Int32(store)).pointee.write)
            return write >= 0 ? write : made[store] ?? write
        }
        let stores = turning.keys.sorted { order($0) < order($1) }
        for store in stores {
            let record = self.stores.pointer(Int32(store))
            do throws(TimerRefusal) {
                try turn(
                    types[Int(record.pointee.type)].type, of: Int32(store), from: turning[store] ?? 0,
                    on: record.pointee.state, by: principal, &context.facts.pointee.budget)
            } catch {
                throw refusal(of: Int32(store), error)
            }
        }
    }

    func forgetTurning() {
        context.turning = [:]
        context.facts.pointee.hasTurning = false
    }

    private func refusal(of store: Int32, _ refusal: TimerRefusal) -> RequestError {
        let address = address(of: Int(store))
        let step = plan.steps.count == 1 ? plan.steps[0] : nil
        let action = step.map { $0.type.actionName($0.action) }
        let subject = action ?? "the dispatch"
        let target = step.map { $0.store >= 0 ? address : "A store of \($0.type.name)" } ?? "A store"
        return RequestError(.rejected, "\(address) refused \(subject): \(refusal.reason).")
            .with("store", .string(address)).with("action", action.map(JSON.string))
            .withheld(
                by: RequestError(
                    .rejected, "\(target) refused \(subject): \(Rejection.Kind.timer.text)."
                )
                .with("store", step.flatMap { $0.store >= 0 ? .string(address) : nil })
                .with("action", action.map(JSON.string)))
    }

    /// Sets the timers whose conditions have begun to hold on a state, and takes away those whose have ended.
    private func turn(
        _ type: any StateType, of store: Int32, from before: UInt64, on state: JSONObject,
        by principal: Principal, _ budget: inout Budget
    ) throws(TimerRefusal) {
        let now = try type.holding(on: state, spending: &budget)
        if now == before { return }
        for (index, name) in type.ownTimers.enumerated() {
            let bit = UInt64(1) << UInt64(index)
            if now & bit == before & bit { continue }
            guard now & bit != 0 else {
                takeTimer(name, of: .store(store))
                continue
            }
            let setting = try type.setting(ofOwn: index, on: state, at: time, spending: &budget)
            try put(timer(name, of: .store(store), setting, by: principal))
        }
    }

    // MARK: Stores that come

    /// Throws where a new store can't have the timers that its state asks for.
    func requireTimers(of type: any StateType, on state: JSONObject) throws(RequestError) {
        if type.ownTimers.isEmpty { return }
        do throws(TimerRefusal) {
            let sizes = try begun(type, from: 0, on: state).map { BusTimer.size(of: $0.setting.payload) }
            try requireRoom(
                forTimers: sizes.count, longest: sizes.max() ?? 0,
                bytes: sizes.reduce(state.encodedSize, +))
        } catch {
            throw RequestError(
                .rejected, "A new \(type.name) can't begin like this: \(error.reason.asSentence)")
        }
    }

    /// The settings of the timers whose conditions begin to hold on a state.
    private func begun(
        _ type: any StateType, from before: UInt64, on state: JSONObject
    ) throws(TimerRefusal) -> [(name: String, setting: TimerChange.Setting)] {
        try counting(.unlimited) { (budget) throws(TimerRefusal) in
            let now = try type.holding(on: state, spending: &budget) & ~before
            var settings: [(name: String, setting: TimerChange.Setting)] = []
            for (index, name) in type.ownTimers.enumerated() where now & 1 << UInt64(index) != 0 {
                settings.append(
                    (name, try type.setting(ofOwn: index, on: state, at: time, spending: &budget)))
            }
            return settings
        }
    }

    /// Sets the timers that the state of a new store asks for, to be committed next.
    func beginTimers(of store: Int32, by principal: Principal) {
        let record = stores.pointer(store)
        let type = types[Int(record.pointee.type)].type
        if type.ownTimers.isEmpty { return }
        // This was checked before the store was made.
        for (name, setting) in (try? begun(type, from: 0, on: record.pointee.state)) ?? [] {
            add(timer(name, of: .store(store), setting, by: principal))
        }
    }

    private func add(_ timer: BusTimer) {
        restore(timer)
        note(.added(timer))
    }

    // MARK: States that are replaced

    /// Turns the timers of a store whose state is to be replaced, to be committed next.
    package func turnTimers(
        of store: Int32, to state: JSONObject, by principal: Principal
    ) throws(RequestError) {
        let record = stores.pointer(store)
        let type = types[Int(record.pointee.type)].type
        if type.ownTimers.isEmpty { return }
        do throws(TimerRefusal) {
            try counting(.unlimited) { (budget) throws(TimerRefusal) in
                let before = try type.holding(on: record.pointee.state, spending: &budget)
                try turn(type, of: store, from: before, on: state, by: principal, &budget)
            }
        } catch {
            rollBackTimers()
            let address = address(of: Int(store))
            throw RequestError(.rejected, "\(address) can't go back: \(error.reason).")
                .with("store", .string(address))
                .withheld(
                    by: RequestError(.rejected, "\(address) can't go back: \(Rejection.Kind.timer.text).")
                        .with("store", .string(address)))
        }
    }

    /// The changes of a store's timers when its type gets another definition, under which its state is `state`.
    func timerChanges(
        of store: Int32, from old: any StateType, to type: any StateType, on state: JSONObject
    ) throws(TimerRefusal) -> [TimerChange] {
        let (before, now) = (old.ownTimers, type.ownTimers)
        if before.isEmpty, now.isEmpty { return [] }
        var budget = Budget.unlimited
        let held = try old.holding(on: stores.pointer(store).pointee.state, spending: &budget)
        let holds = try type.holding(on: state, spending: &budget)
        var changes: [TimerChange] = []
        var kept: UInt64 = 0
        for (index, name) in before.enumerated() where held & 1 << UInt64(index) != 0 {
            if let place = now.firstIndex(of: name), holds & 1 << UInt64(place) != 0 {
                kept |= 1 << UInt64(place)
            } else {
                changes.append(TimerChange(name: name, setting: nil))
            }
        }
        return changes
            + (try begun(type, from: kept, on: state).map { TimerChange(name: $0.name, setting: $0.setting) })
    }

    /// Turns the timers of all stores of a type whose definition is about to be replaced, to be committed next.
    ///
    /// - Parameter states: The states that its stores get, where they differ.
    func turnTimers(redefining type: any StateType, _ states: (Int32) -> JSONObject?) {
        guard let entry = typesByName[type.name], entry.type.definition != type.definition,
            !entry.type.ownTimers.isEmpty || !type.ownTimers.isEmpty
        else { return }
        for store in entry.members where store >= 0 {
            turnTimers(
                of: store, from: entry.type, to: type,
                on: states(store) ?? stores.pointer(store).pointee.state)
        }
    }

    /// Turns the timers of one store, which still has its state under the old definition.
    func turnTimers(of store: Int32, from old: any StateType, to type: any StateType, on state: JSONObject) {
        // The plan of the definition has found that they can be set.
        for change in (try? timerChanges(of: store, from: old, to: type, on: state)) ?? [] {
            takeTimer(change.name, of: .store(store))
            guard let setting = change.setting else { continue }
            add(timer(change.name, of: .store(store), setting, by: .daemon))
        }
    }
}
