import Synchronization

/// Commits that are more than one action to the mutations, what becomes of those that fail, and the end.
extension StoreCore {
    /// Commits what the entry stands for. The entry of a timer that is due becomes that of its action.
    @usableFromInline
    func commitOther(_ entry: Entry<State>, _ reports: inout [Report]) -> Bool {
        let context = ThreadContext.current
        let before = state
        do {
            var after = before
            var committed: [State.Action] = []
            var isReplay = false
            switch entry.work {
            case .action(let action):
                return commitOther(Entry(.actions([action]), completion: entry.completion), &reports)
            case .actions(let actions, let first, let isRelayed):
                let links = middleware.links(from: first)
                if links.isEmpty, !hasTimerRule {
                    for action in actions { try mutate(&after, by: action, context) }
                    committed = actions
                    break
                }
                let transaction = Transaction(
                    core: self, links: links, state: before, isRelayed: isRelayed)
                (after, committed) = try transaction.run(actions)
                try change(transaction.timers, isRelayed: isRelayed)
            case .replay(let read):
                let replay = try read(before)
                after = replay.start
                for action in replay.actions { try mutate(&after, by: action, context) }
                // Then the recorder that replays gets its steps back.
                recorders.beginAnew()
                replay.whenDone()
                isReplay = true
            case .timer(let timer):
                if let defect = timer.defect {
                    throw FluxError.timerRefused(timer: timer.timer, reason: defect)
                }
                try change([timer])
                if entry.completion != nil { reports.append(Report(result: .success(before), entry: entry)) }
                return false
            case .dueTimer:
                defer { setAlarm() }
                guard let action = takeDueAction() else { return false }
                return commit(Entry(.action(action)), context, &reports)
            }
            let isPut = settle(before, after, isReplay: isReplay) { committed }
            if entry.completion != nil { reports.append(Report(result: .success(after), entry: entry)) }
            return isPut
        } catch {
            reports.append(Report(result: .failure(error), entry: entry))
            return false
        }
    }

    /// Tells who waits for it what became of an entry, else `failures`.
    @usableFromInline
    func tell(_ report: Report) {
        if let completion = report.entry.completion {
            completion(report.result)
        } else if case .failure(let error) = report.result {
            failures.send(ActionFailure(actions: report.entry.actions, error: error))
        }
    }

    /// Completes the entry with the error that the store has been released.
    @usableFromInline
    func tellGone(_ entry: Entry<State>) {
        entry.completion?(.failure(FluxError.storeGone(state: String(describing: State.self))))
    }

    /// The outcome of `work`, with `entries` directly before it.
    func outcome(
        of work: Entry<State>.Work, after entries: [Entry<State>] = []
    ) async -> Result<State, any Error> {
        await withCheckedContinuation { continuation in
            let last = Entry<State>(work) { continuation.resume(returning: $0) }
            lane.place(entries + [last], in: self)
        }
    }

    /// The store is released: nothing that has not begun will happen.
    func close() {
        lane.leave(self)
        for entry in inbox.close() { tellGone(entry) }
        closeTimers()
        emitter.finish()
    }

    /// The error of a mutation that dispatched.
    @usableFromInline
    static func dispatched(in action: State.Action) -> FluxError {
        .dispatchInMutation(action: String(describing: action))
    }

    /// Generic code may make a store of composed rules without the initialiser that checks them.
    static func defect(of mutations: State.Mutations) -> FluxError? {
        do throws(FluxError) {
            try (mutations as? any ComposedMutations)?.check()
            return nil
        } catch {
            return error
        }
    }
}
