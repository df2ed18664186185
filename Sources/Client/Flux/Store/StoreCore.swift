import Synchronization

/// The parts of a store: its inbox, its rules, and the source of its states.
///
/// It is apart from ``Store`` so that work under way, streams and actions don't keep a store alive: the store's end
/// closes the core, and what was queued but not started never happens.
///
/// `turn` is a leaf: while it is held mutations and middleware run, which never wait for another store. It is what
/// makes a dispatch on `.immediate` return after its commit, also if another thread is executing it.
///
/// What every dispatch passes can be inlined, so that code in other modules, which knows the state type, gets it made for that
/// type. What is rare is in `StoreCore+Commits.swift`.
@usableFromInline
final class StoreCore<State: Flux.State>: Sendable {
    @usableFromInline let inbox = Inbox<State>()
    @usableFromInline let emitter: Emitter<State>
    let failures = Sink<ActionFailure<State>>()
    @usableFromInline let lane: Lane<State>
    @usableFromInline let middleware: MiddlewareChain<State>
    @usableFromInline let recorders = Recorders<State>()
    let effects: Effects
    let clock: StoreClock
    /// What actions do to timers; nil where none does anything.
    let timerRule: TimerRule<State>?
    let timers = Mutex(TimerTable<State>())
    /// Whether actions may set timers.
    @usableFromInline let hasTimerRule: Bool
    @usableFromInline let mutations: State.Mutations
    /// Why the rules can't be used at all, if so; then every commit fails with it.
    @usableFromInline let defect: FluxError?
    @usableFromInline let executor: FluxExecutor
    /// Whether a state that equals the one before goes to nobody.
    @usableFromInline let skipsEqualStates: Bool
    @usableFromInline let turn = Mutex<Void>(())

    init(
        state: State, mutations: State.Mutations, executor: FluxExecutor, skipsEqualStates: Bool,
        middleware: [Middleware<State>], clock: StoreClock
    ) {
        emitter = Emitter(state)
        lane = .shared
        self.mutations = mutations
        defect = Self.defect(of: mutations)
        self.executor = executor
        self.middleware = MiddlewareChain(middleware)
        self.clock = clock
        effects = Effects(clock: clock) { [failures] error in
            failures.send(ActionFailure(actions: [], error: error))
        }
        let rule = State.timers
        timerRule = rule.changes == nil ? nil : rule
        hasTimerRule = rule.changes != nil
        self.skipsEqualStates = skipsEqualStates && Equality.isKnown(of: State.self)
    }

    /// The latest committed state.
    @inlinable var state: State { emitter.latest }

    /// Lets the executor commit what is in the inbox up to `ticket`. Inside an observer or a middleware even calling
    /// the executor waits until that has returned: it may be one that waits for its work.
    @inlinable
    func scheduleTurn(through ticket: UInt64, _ context: ThreadContext) {
        if context.mustWait {
            context.wait { self.scheduleTurn(through: ticket, .current) }
        } else if executor.isImmediate {
            takeTurn(through: ticket, context)
        } else {
            context.whenFree { [executor] in
                executor.execute { [weak self] in
                    let context = ThreadContext.current
                    context.whenFree { self?.takeTurn(through: ticket, context) }
                }
            }
        }
    }

    @inlinable
    func takeTurn(through ticket: UInt64, _ context: ThreadContext) {
        let stay = context.enter()
        var isPut = false
        // Only those whose dispatcher waits for them, and those that failed.
        var reports: [Report] = []
        turn.withLock { _ in
            while let placed = inbox.next(through: ticket) {
                if commit(placed.entry, context, &reports) { isPut = true }
                if placed.ticket == ticket { break }
            }
        }
        if isPut { emitter.deliver(context) }
        for report in reports { tell(report) }
        context.leave(stay)
    }

    /// Commits what the entry stands for. Returns whether observers have to be notified.
    @inlinable
    func commit(_ entry: Entry<State>, _ context: ThreadContext, _ reports: inout [Report]) -> Bool {
        guard case .action(let action) = entry.work, !hasTimerRule,
            !middleware.isUsed.load(ordering: .acquiring)
        else { return commitOther(entry, &reports) }
        let before = state
        do {
            var after = before
            try mutate(&after, by: action, context)
            let isPut = settle(before, after, isReplay: false) { [action] }
            if entry.completion != nil { reports.append(Report(result: .success(after), entry: entry)) }
            return isPut
        } catch {
            reports.append(Report(result: .failure(error), entry: entry))
            return false
        }
    }

    /// Applies one action to `state`, of which nothing is to be used after an error.
    @inlinable
    func mutate(_ state: inout State, by action: State.Action, _ context: ThreadContext) throws {
        if let defect { throw defect }
        let mutation = context.beginMutation()
        let failure: (any Error)?
        do {
            try mutations.commit(action, to: &state)
            failure = nil
        } catch {
            failure = error
        }
        let triedToDispatch = context.end(mutation)
        if let failure { throw failure }
        if triedToDispatch { throw Self.dispatched(in: action) }
    }

    /// Records a commit, and keeps its state. Returns whether observers have to be notified.
    @inlinable
    func settle(_ before: State, _ after: State, isReplay: Bool, _ actions: () -> [State.Action]) -> Bool {
        if recorders.isRecording { recorders.record(before: before, actions()) }
        if skipsEqualStates, Equality.areEqual(before, after) { return false }
        return emitter.put(after, isReplay: isReplay)
    }

    /// What became of an entry.
    @usableFromInline
    struct Report {
        @usableFromInline let result: Result<State, any Error>
        @usableFromInline let entry: Entry<State>

        @inlinable
        init(result: Result<State, any Error>, entry: Entry<State>) {
            self.result = result
            self.entry = entry
        }
    }
}

/// A relay's attachment to a state type, from ``Store/attach(_:)`` until ``detach()`` or until it is released.
public final class StoreAttachment<State: Flux.State>: Sendable {
    private let lane: Lane<State>
    private let number: UInt64

    init(lane: Lane<State>, number: UInt64) {
        self.lane = lane
        self.number = number
    }

    deinit { detach() }

    /// Commits an action to every living store, in the order of their creation and in the one order of the state type.
    /// Nothing happens after ``detach()``.
    ///
    /// Whoever has committed the action first also has its timers, so it sets none here (``State/timers``), and takes those
    /// away that it would have set.
    public func commit(_ action: State.Action) { lane.placeInAll(action, byRelay: number) }

    /// Returns `Store<State>.actions` to the stores. Further calls do nothing.
    public func detach() { lane.detach(number) }
}

extension Store {
    /// Puts a relay in charge of global dispatches, a bus for example: while attached, `Store<State>.actions` only call
    /// `relay`, and the stores commit what comes back through ``StoreAttachment/commit(_:)``.
    ///
    /// ```swift
    /// let attachment = try Store<Counter>.attach { action in network.send(action) }
    /// network.onAction { action in attachment.commit(action) }
    /// ```
    ///
    /// Instance dispatches (`store.actions`) stay local, and so do their timers. Throws ``FluxError/relayAttached(state:)`` if there is one
    /// already.
    public static func attach(
        _ relay: @escaping @Sendable (State.Action) -> Void
    ) throws(FluxError) -> StoreAttachment<State> {
        let lane = Lane<State>.shared
        guard let number = lane.attach(relay) else {
            throw .relayAttached(state: String(describing: State.self))
        }
        return StoreAttachment(lane: lane, number: number)
    }
}
