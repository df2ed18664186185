import BusJSON
import BusLogic
import BusProtocol

/// Timers are set, taken away and fired, and leases renewed, as parts of commits: what is not committed is rolled back.
extension StateMachine {
    /// When something is due next, in milliseconds since 1970; `Int.max` while nothing is. It may be too early.
    package var nextDue: Int { timers.nextDue }

    /// The first of the timers and leases that are due by now.
    package func firstDue() -> BusTimer? { timers.firstDue(at: time) }

    // MARK: Setting

    /// The timer that a planned dispatch would be, instead of being carried out now. Without a name it gets one that
    /// nobody can choose: the revision of its commit. One to every type keeps the payload as it was sent: which types
    /// fill in what is found when it is due.
    package func timer(
        for request: RequestReader, named name: String?, due: Int, by principal: Principal
    ) -> BusTimer {
        let step = plan.steps[0]
        let isForEveryType = step.store < 0 && request.type.elementsEqual("*".utf8)
        let sent = request.present.contains(.payload) ? request.payload : JSONObject()
        let owner: TimerOwner =
            if isForEveryType {
                .type("*")
            } else if step.store >= 0 {
                .store(step.store)
            } else {
                .type(step.type.name)
            }
        return BusTimer(
            owner: owner, name: name ?? "@\(revision + 1)", due: max(due, time + DurationText.shortest),
            isRequested: rules >= BusLimits.rulesOfCopies,
            .action(
                step.type.actionName(step.action), payload: isForEveryType ? sent : step.payload,
                by: principal.asker))
    }

    /// Sets a timer, to be committed next; one of the same name is taken away.
    package func set(_ timer: BusTimer) throws(RequestError) {
        do throws(TimerRefusal) {
            try put(timer)
        } catch {
            // The one whose place it was to take stays.
            rollBackTimers()
            throw RequestError(
                .limit, "\(name(of: timer.owner)) can have no further timer: \(error.reason).")
        }
    }

    func put(_ timer: BusTimer) throws(TimerRefusal) {
        takeTimer(timer.name, of: timer.owner)
        let most = if case .store = timer.owner { limits.timersOfStore } else { limits.timersOfType }
        guard timers.count(from: firstTimer(of: timer.owner)) < most else {
            throw TimerRefusal("it has \(most) timers, which is the limit")
        }
        try requireRoom(forTimers: 1, longest: timer.size, bytes: timer.size)
        restore(timer)
        timersSet += 1
        note(.added(timer))
    }

    /// Throws unless the bus has room for some more timers and for all that comes with them.
    ///
    /// - Parameters:
    ///   - longest: The bytes of the longest timer.
    ///   - bytes: The bytes of all of them together, and of what comes with them.
    func requireRoom(forTimers count: Int, longest: Int, bytes: Int) throws(TimerRefusal) {
        guard timers.count + count <= limits.timers else {
            throw TimerRefusal("the bus has \(limits.timers) timers, which is the limit")
        }
        guard longest <= limits.state else {
            throw TimerRefusal("the timer's payload is longer than \(limits.state) bytes")
        }
        guard stateMemory + bytes <= limits.memory else {
            throw TimerRefusal("the bus holds \(limits.memory) bytes, its memory limit")
        }
    }

    /// Leases a store: it is dropped after so many milliseconds without a dispatch that matches it.
    package func lease(_ store: Int32, for length: Int) { lease(store, for: length, until: time + length) }

    func lease(_ store: Int32, for length: Int, until due: Int) {
        type(of: store).noteLease(1)
        restore(BusTimer(owner: .store(store), name: "", due: due, .lease(length)))
    }

    /// Adds a timer that was accepted before.
    func restore(_ timer: BusTimer) { changeTimers(of: timer.owner) { $0.add(timer, first: &$1) } }

    /// Puts a timer behind all others that are due at the same time.
    func setLast(_ timer: BusTimer) {
        changeTimers(of: timer.owner) {
            $0.remove(timer, first: &$1)
            $0.add(timer, first: &$1)
        }
    }

    /// The length of a store's lease, in milliseconds; nil if it stays.
    package func lease(of store: Int32) -> Int? { leaseTimer(of: store)?.lease }

    private func leaseTimer(of store: Int32) -> BusTimer? {
        let first = stores.pointer(store).pointee.timers
        return first < 0 ? nil : timers.find("", from: first)
    }

    /// Renews the lease of a store, if it has one.
    package func renewLease(of store: Int32) {
        guard let timer = leaseTimer(of: store), let length = timer.lease, timer.due < time + length else {
            return
        }
        note(.renewed(timer, due: timer.due))
        timer.due = time + length
    }

    /// All timers and leases are due earlier, with the next commit: the time has gone back, and they keep the time that was left.
    func advanceTimers(by milliseconds: Int) { timers.advance(by: milliseconds) }

    /// Sets the time back, where a new history begins, and all that is still to come with it. Returns what is to be committed; nil:
    /// nothing is to come.
    package func turnBackWithTimers(to milliseconds: Int) -> CommitDetails? {
        let change = time - milliseconds
        turnBack(to: milliseconds)
        if timers.isEmpty { return nil }
        advanceTimers(by: change)
        let details = CommitDetails()
        details.timer = .advanced(by: change)
        return details
    }

    // MARK: Taking away

    /// Takes away a timer by its name, to be committed next; false if there is none.
    @discardableResult
    package func takeTimer(_ name: String, of owner: TimerOwner) -> Bool {
        guard !name.isEmpty, let timer = timers.find(name, from: firstTimer(of: owner)) else { return false }
        take(timer)
        return true
    }

    /// The timer of this name; nil if there is none.
    package func timer(_ name: String, of owner: TimerOwner) -> BusTimer? {
        name.isEmpty ? nil : timers.find(name, from: firstTimer(of: owner))
    }

    /// Removes a timer, with the next commit. A due timer is removed before its action runs, which may set it again.
    package func take(_ timer: BusTimer) {
        changeTimers(of: timer.owner) { $0.remove(timer, first: &$1) }
        note(.removed(timer))
    }

    /// Sets a timer again that was due and taken away, if it repeats, to be committed next: for the first of its times that is
    /// still to come. Those that have gone by meanwhile are left out, however many they are.
    package func setAgain(_ timer: BusTimer) {
        guard let every = timer.every else { return }
        let intervals = max(0, time - timer.due) / every + 1
        let next = BusTimer(
            owner: timer.owner, name: timer.name, due: timer.due + intervals * every, every: every,
            timer.purpose)
        restore(next)
        note(.added(next))
    }

    /// A store is removed: its timers and its lease go with it.
    func removeTimers(of store: Int32) {
        let record = stores.pointer(store)
        if leaseTimer(of: store) != nil { type(of: store).noteLease(-1) }
        timers.removeAll(from: &record.pointee.timers)
    }

    /// A type is removed.
    func removeTimers(ofType name: String) {
        var first = timers[firstOfType: name]
        timers.removeAll(from: &first)
        timers[firstOfType: name] = first
    }

    // MARK: Firing

    /// Plans the action of a timer that is due.
    package func plan(_ timer: BusTimer) throws(RequestError) {
        guard case .action(let action, let payload, _) = timer.purpose else { return }
        plan.clear()
        let name = name(of: timer.owner)
        let isStore = if case .store = timer.owner { true } else { false }
        do throws(RequestError) {
            try planElement(
                BatchElement(
                    WillAction(
                        store: isStore ? name : nil, type: isStore ? nil : name, action: action,
                        payload: payload)))
        } catch {
            plan.clear()
            throw error
        }
    }

    // MARK: Rolling back

    func note(_ record: TimerUndo.Record) { timerUndo.note(record, of: revision + 1) }

    /// How many timers the commit being made adds to those there are.
    package var timersGained: Int {
        var gained = 0
        for record in timerUndo.records(of: revision + 1) {
            switch record {
            case .added(let timer) where timer.lease == nil: gained += 1
            case .removed(let timer) where timer.lease == nil: gained -= 1
            default: break
            }
        }
        return gained
    }

    /// Rolls back what the commit being made did to timers.
    func rollBackTimers() {
        for record in timerUndo.take(of: revision + 1).reversed() {
            switch record {
            case .added(let timer): changeTimers(of: timer.owner) { $0.remove(timer, first: &$1) }
            case .removed(let timer): changeTimers(of: timer.owner) { $0.insert(timer, first: &$1) }
            case .renewed(let timer, let due): timer.due = due
            }
        }
    }

    // MARK: Owners

    /// The address of a timer's store, or the name of its type.
    package func name(of owner: TimerOwner) -> String {
        switch owner {
        case .store(let index): address(of: Int(index))
        case .type(let name): name
        }
    }

    func firstTimer(of owner: TimerOwner) -> Int32 {
        switch owner {
        case .store(let index): stores.pointer(index).pointee.timers
        case .type(let name): timers[firstOfType: name]
        }
    }

    private func changeTimers(of owner: TimerOwner, _ body: (inout TimerTable, inout Int32) -> Void) {
        switch owner {
        case .store(let index):
            body(&timers, &stores.pointer(index).pointee.timers)
        case .type(let name):
            var first = timers[firstOfType: name]
            body(&timers, &first)
            timers[firstOfType: name] = first
        }
    }
}

extension StateMachine {
    /// A timer that a type sets by its own rules, on behalf of the principal that made the commit.
    func timer(
        _ name: String, of owner: TimerOwner, _ setting: TimerChange.Setting, by principal: Principal
    ) -> BusTimer {
        BusTimer(
            owner: owner, name: name, due: max(setting.due, time + DurationText.shortest),
            every: setting.every,
            .action(setting.action, payload: setting.payload, by: principal.asker))
    }
}

extension StateMachine: TimerKeeper {
    package func change(_ changes: [TimerChange]) throws(TimerRefusal) {
        let owner = TimerOwner.store(Int32(context.store))
        for change in changes {
            guard let setting = change.setting else {
                takeTimer(change.name, of: owner)
                continue
            }
            // Whoever applies the plan holds the principal meanwhile.
            try put(timer(change.name, of: owner, setting, by: applying!.takeUnretainedValue()))
        }
    }
}
