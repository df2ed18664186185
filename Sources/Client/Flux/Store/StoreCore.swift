import Synchronization

/// The parts of a store: its inbox, its rules, and the source of its states.
///
/// It is apart from ``Store`` so that work under way, streams and actions don't keep a store alive: the store's end
/// closes the core, and what was queued but not started never happens.
///
/// `turn` is a leaf: while it is held mutations and middleware run, which never wait for another store. It is what
/// makes a dispatch on `.immediate` return after its commit, also if another thread is executing it.
final class StoreCore<State: Flux.State>: Sendable {
    let inbox = Inbox<State>()
    let emitter: Emitter<State>
    let failures = Sink<ActionFailure<State>>()
    /// The failure of the initial action, if any: kept, because it fails before it can be observed.
    let initialFailure = Variable<ActionFailure<State>?>(nil)
    let lane: Lane<State>
    let middleware: [Middleware<State>]
    let recorders = Recorders<State>()
    let effects: Effects
    let clock: StoreClock
    /// What actions do to timers; nil where none does anything.
    let timerRule: TimerRule<State>?
    let timers = Mutex(TimerTable<State>())
    /// Actions that begin at this middleware go to the mutations, and nothing else has to be done for them.
    private let firstPlain: Int
    private let mutations: State.Mutations
    /// Why the rules can't be used at all, if so; then every commit fails with it.
    private let defect: FluxError?
    private let executor: Executor
    private let areEqual: (@Sendable (State, State) -> Bool)?
    private let turn = Mutex<Void>(())

    init(
        state: State, mutations: State.Mutations, executor: Executor, skipsEqualStates: Bool,
        middleware: [Middleware<State>], clock: StoreClock
    ) {
        emitter = Emitter(state)
        lane = .shared
        self.mutations = mutations
        defect = Self.defect(of: mutations)
        self.executor = executor
        self.middleware = middleware
        self.clock = clock
        effects = Effects(clock: clock) { [failures] error in
            failures.send(ActionFailure(actions: [], error: error))
        }
        let rule = State.timers
        timerRule = rule.changes == nil ? nil : rule
        firstPlain = rule.changes == nil ? middleware.count : .max
        areEqual = skipsEqualStates ? Equality.of(State.self) : nil
    }

    /// The latest committed state.
    var state: State { emitter.latest }

    /// Lets the executor commit what is in the inbox up to `ticket`. Inside an observer or a middleware even calling
    /// the executor waits until that has returned: it may be one that waits for its work.
    func scheduleTurn(through ticket: UInt64) {
        ThreadContext.whenFree { [weak self] in
            self?.executor.execute { [weak self] in
                ThreadContext.carryOut { self?.takeTurn(through: ticket) }
            }
        }
    }

    /// The store is released: nothing that has not begun will happen.
    func close() {
        lane.leave(self)
        for entry in inbox.close() { tellGone(entry) }
        closeTimers()
        emitter.finish()
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

    /// Completes the entry with the error that the store has been released.
    func tellGone(_ entry: Entry<State>) {
        entry.completion?(.failure(FluxError.storeGone(state: String(describing: State.self))))
    }

    /// Applies one action to `state`, which stays as it was on an error.
    func mutate(_ state: inout State, by action: State.Action) throws {
        if let defect { throw defect }
        try mutations.commitPurely(action, to: &state)
    }

    /// Generic code may make a store of composed rules without the initialiser that checks them.
    private static func defect(of mutations: State.Mutations) -> FluxError? {
        do throws(FluxError) {
            try (mutations as? any ComposedMutations)?.check()
            return nil
        } catch {
            return error
        }
    }

    private func takeTurn(through ticket: UInt64) {
        var finished: [(Result<State, any Error>, Entry<State>)] = []
        turn.withLock { _ in
            while var entry = inbox.next(through: ticket) { finished.append((commit(&entry), entry)) }
        }
        emitter.deliver()
        for (result, entry) in finished { report(result, of: entry) }
    }

    /// Commits what the entry stands for. The entry of a timer that is due becomes that of its action.
    private func commit(_ entry: inout Entry<State>) -> Result<State, any Error> {
        let before = state
        do {
            var after = before
            var committed: [State.Action] = []
            var isReplay = false
            switch entry.work {
            case .actions(let actions, let first, _) where first == firstPlain:
                for action in actions { try mutate(&after, by: action) }
                committed = actions
            case .actions(let actions, let first, let isRelayed):
                let transaction = Transaction(core: self, state: before, isRelayed: isRelayed)
                (after, committed) = try transaction.run(actions, from: first)
                try change(transaction.timers, isRelayed: isRelayed)
            case .replay(let read):
                let replay = try read(before)
                after = replay.start
                for action in replay.actions { try mutate(&after, by: action) }
                replay.whenDone()
                isReplay = true
            case .timer(let timer):
                if let defect = timer.defect {
                    throw FluxError.timerRefused(timer: timer.timer, reason: defect)
                }
                try change([timer])
                return .success(before)
            case .dueTimer:
                defer { setAlarm() }
                guard let action = takeDueAction() else { return .success(before) }
                entry = Entry(.actions([action]))
                return commit(&entry)
            }
            recorders.record(before: before, committed)
            if areEqual?(before, after) != true { emitter.put(after, isReplay: isReplay) }
            return .success(after)
        } catch {
            return .failure(error)
        }
    }

    private func report(_ result: Result<State, any Error>, of entry: Entry<State>) {
        if let completion = entry.completion {
            completion(result)
        } else if case .failure(let error) = result {
            failures.send(ActionFailure(actions: entry.actions, error: error))
        }
    }
}
