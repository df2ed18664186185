import Synchronization

/// The order of all dispatches to stores of one state type in this process.
///
/// Every dispatch, to one store or to all, takes its place under the lane's one lock: there it gets its ticket and goes
/// into the inbox of each store that it is for. So no two stores see two dispatches in different orders. Nothing is
/// executed under the lock; each store's executor commits the dispatch afterwards.
@usableFromInline
final class Lane<State: Flux.State>: Sendable {
    @usableFromInline
    struct Member {
        @usableFromInline let name: ObjectIdentifier
        @usableFromInline weak var core: StoreCore<State>?
    }

    @usableFromInline
    struct Relay: Sendable {
        @usableFromInline let number: UInt64
        @usableFromInline let send: @Sendable (State.Action) -> Void
    }

    @usableFromInline
    struct Contents {
        @usableFromInline var ticket: UInt64 = 0
        /// In the order of creation.
        @usableFromInline var members: [Member] = []
        @usableFromInline var relay: Relay?
    }

    @usableFromInline let contents = Mutex(Contents())

    /// The lane of the state type.
    @usableFromInline static var shared: Lane<State> { LaneRegistry.lane(of: State.self) }

    /// Makes the store a target of global dispatches. `first`, if given, goes into its inbox before any of them.
    func join(_ core: StoreCore<State>, first: Entry<State>?) {
        let ticket = contents.withLock { contents in
            contents.ticket += 1
            contents.members.append(Member(name: ObjectIdentifier(core), core: core))
            guard let first, core.inbox.append(first, ticket: contents.ticket) else { return UInt64?.none }
            return contents.ticket
        }
        if let ticket { core.scheduleTurn(through: ticket, .current) }
    }

    /// Removes the store from the targets.
    func leave(_ core: StoreCore<State>) {
        let name = ObjectIdentifier(core)
        contents.withLock { contents in contents.members.removeAll { $0.name == name } }
    }

    /// Commits `entry` to one store. Refuses it inside a mutation, and ignores it from an observer of a replay.
    @inlinable
    func place(_ entry: Entry<State>, in core: StoreCore<State>) {
        let context = ThreadContext.current
        if context.refusesDispatch() || context.isReplaying { return refuse([entry], in: core, context) }
        let ticket = contents.withLock { contents -> UInt64? in
            contents.ticket += 1
            return core.inbox.append(entry, ticket: contents.ticket) ? contents.ticket : nil
        }
        if let ticket { core.scheduleTurn(through: ticket, context) } else { core.tellGone(entry) }
    }

    /// Commits `entries` to one store, one after another with nothing in between. Refuses them inside a mutation, and ignores
    /// them from an observer of a replay, unless they are the library's own.
    @usableFromInline
    func place(_ entries: [Entry<State>], in core: StoreCore<State>, isOwn: Bool = false) {
        let context = ThreadContext.current
        if !isOwn, context.refusesDispatch() || context.isReplaying {
            return refuse(entries, in: core, context)
        }
        var refused: [Entry<State>] = []
        let last = contents.withLock { contents in
            for entry in entries {
                contents.ticket += 1
                if !core.inbox.append(entry, ticket: contents.ticket) { refused.append(entry) }
            }
            return contents.ticket
        }
        for number in 0..<UInt64(entries.count) {
            core.scheduleTurn(through: last - UInt64(entries.count) + number + 1, context)
        }
        for entry in refused { core.tellGone(entry) }
    }

    /// Completes entries without placing them: with an error inside a mutation, with the state in an observer of a replay.
    @usableFromInline
    func refuse(_ entries: [Entry<State>], in core: StoreCore<State>, _ context: ThreadContext) {
        let isMutating = context.refusesDispatch()
        for entry in entries {
            entry.completion?(isMutating ? .failure(Self.refusal(of: entry)) : .success(core.state))
        }
    }

    /// Commits `action` to every live store, in the order of creation. If a relay is attached, the action goes only to the
    /// relay. With a `number`, it is that relay that commits; if the relay is no longer attached, nothing happens.
    @inlinable
    func placeInAll(_ action: State.Action, byRelay number: UInt64? = nil) {
        let context = ThreadContext.current
        if context.refusesDispatch() || context.isReplaying { return }
        // Filled under the lock but released outside: the last reference to a store must not be released under it.
        var targets: [StoreCore<State>] = []
        var ticket: UInt64 = 0
        let entry = Entry<State>(number == nil ? .action(action) : .actions([action], isRelayed: true))
        let relay = contents.withLock { contents -> Relay? in
            if number == nil, let relay = contents.relay { return relay }
            guard number == contents.relay?.number else { return nil }
            contents.ticket += 1
            ticket = contents.ticket
            for member in contents.members {
                guard let core = member.core else { continue }
                targets.append(core)
                _ = core.inbox.append(entry, ticket: ticket)
            }
            return nil
        }
        if let relay { return relay.send(action) }
        for core in targets { core.scheduleTurn(through: ticket, context) }
    }

    /// Commits `action` to every live store, in the order of creation, and reports the outcomes, except for stores that are
    /// released before they commit. If a relay is attached, the action goes only to the relay, and there are no outcomes.
    func placeInAll(
        _ action: State.Action, whenAll: @escaping @Sendable ([Result<State, any Error>]) -> Void
    ) {
        let context = ThreadContext.current
        if context.refusesDispatch() || context.isReplaying { return whenAll([]) }
        // Released outside the lock, as above.
        var targets: [StoreCore<State>] = []
        var closed: [Int] = []
        var ticket: UInt64 = 0
        var outcomes: Outcomes<State>?
        let relay = contents.withLock { contents -> Relay? in
            if let relay = contents.relay { return relay }
            contents.ticket += 1
            ticket = contents.ticket
            targets = contents.members.compactMap(\.core)
            let all = Outcomes<State>(count: targets.count, whenAll)
            for (number, core) in targets.enumerated() {
                let entry = Entry<State>(.action(action)) { all.take($0, of: number) }
                if !core.inbox.append(entry, ticket: ticket) { closed.append(number) }
            }
            outcomes = all
            return nil
        }
        relay?.send(action)
        for number in closed { outcomes?.take(nil, of: number) }
        for core in targets { core.scheduleTurn(through: ticket, context) }
        if targets.isEmpty { whenAll([]) }
    }

    /// Attaches a relay and returns its number, or nil if there is one already.
    func attach(_ relay: @escaping @Sendable (State.Action) -> Void) -> UInt64? {
        contents.withLock { contents in
            guard contents.relay == nil else { return nil }
            contents.ticket += 1
            contents.relay = Relay(number: contents.ticket, send: relay)
            return contents.ticket
        }
    }

    /// Detaches the relay of this number, if it is attached.
    func detach(_ number: UInt64) {
        // Released outside the lock: the relay's closure may hold anything.
        _ = contents.withLock { contents in
            contents.relay?.number == number ? contents.relay.take() : nil
        }
    }

    private static func refusal(of entry: Entry<State>) -> FluxError {
        .dispatchInMutation(action: entry.actions.first.map { String(describing: $0) } ?? "an action")
    }
}

/// One lane for each state type of the process. A generic type can't have stored static properties, hence the table.
enum LaneRegistry {
    private static let lanes = Mutex<[ObjectIdentifier: any AnyObject & Sendable]>([:])

    static func lane<State: Flux.State>(of type: State.Type) -> Lane<State> {
        lanes.withLock { lanes in
            if let lane = lanes[ObjectIdentifier(type)] { return unsafeDowncast(lane, to: Lane<State>.self) }
            let lane = Lane<State>()
            lanes[ObjectIdentifier(type)] = lane
            return lane
        }
    }
}

/// An entry of a store's inbox: something to commit, at its place in the order.
@usableFromInline
struct Entry<State: Flux.State>: Sendable {
    @usableFromInline
    enum Work: Sendable {
        /// One action, as most are.
        case action(State.Action)
        /// Actions that become one commit, each passed through the middleware from number `firstMiddleware` on. Actions that a
        /// relay commits set no timers.
        case actions([State.Action], firstMiddleware: Int = .min, isRelayed: Bool = false)
        /// A replay: `read` provides its first state and its actions when it is committed. The actions pass no middleware.
        indirect case replay(_ read: @Sendable (_ now: State) throws -> Replay<State>)
        /// Sets or cancels a timer. Indirect, because every dispatch copies an entry and most have no timer.
        indirect case timer(TimerChange<State>)
        /// Commits the action of a timer that is due, if there is one.
        case dueTimer
    }

    @usableFromInline let work: Work
    /// Called with the outcome. Without it, an error goes to the store's `failures`.
    @usableFromInline let completion: (@Sendable (Result<State, any Error>) -> Void)?

    @inlinable
    init(_ work: Work, completion: (@Sendable (Result<State, any Error>) -> Void)? = nil) {
        self.work = work
        self.completion = completion
    }

    @usableFromInline var actions: [State.Action] {
        switch work {
        case .action(let action): [action]
        case .actions(let actions, _, _): actions
        case .timer(let change): change.setting.map { [$0.action] } ?? []
        case .replay, .dueTimer: []
        }
    }
}

/// What a store replays: the state `start`, then `actions`. `whenDone` is called once all have been applied without an error.
@usableFromInline
struct Replay<State: Flux.State> {
    let start: State
    let actions: [State.Action]
    let whenDone: () -> Void
}

/// The queue of a store: what is still to be committed, in the order of dispatch.
@usableFromInline
final class Inbox<State: Flux.State>: Sendable {
    /// An entry and its place in the order.
    @usableFromInline
    struct Placed: Sendable {
        @usableFromInline let ticket: UInt64
        @usableFromInline let entry: Entry<State>

        @inlinable
        init(ticket: UInt64, entry: Entry<State>) {
            self.ticket = ticket
            self.entry = entry
        }
    }

    @usableFromInline
    struct Contents {
        @usableFromInline var line = FirstInFirstOut<Placed>()
        @usableFromInline var isClosed = false

        @inlinable
        init() {}
    }

    @usableFromInline let contents = Mutex(Contents())

    @inlinable
    init() {}

    /// Appends an entry; false if the inbox is closed.
    @inlinable
    func append(_ entry: Entry<State>, ticket: UInt64) -> Bool {
        contents.withLock { contents in
            if contents.isClosed { return false }
            contents.line.append(Placed(ticket: ticket, entry: entry))
            return true
        }
    }

    /// Removes and returns the first entry; nil if its place is after `ticket`, or if there is none.
    @inlinable
    func next(through ticket: UInt64) -> Placed? {
        contents.withLock { contents in
            guard let first = contents.line.first, first.ticket <= ticket else { return nil }
            return contents.line.popFirst()
        }
    }

    /// Closes the inbox, and returns the entries that will not be committed.
    func close() -> [Entry<State>] {
        contents.withLock { contents in
            contents.isClosed = true
            var left: [Entry<State>] = []
            while let placed = contents.line.popFirst() { left.append(placed.entry) }
            return left
        }
    }
}
