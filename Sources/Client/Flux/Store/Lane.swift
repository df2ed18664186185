import Synchronization

/// The order of one state type in this process.
///
/// Every dispatch, to one store or to all, takes its place under the lane's one lock: there it gets its ticket and goes
/// into the inbox of each store that it is for. So no two stores see two dispatches in different orders. Nothing is
/// executed under the lock; each store's executor does that afterwards.
final class Lane<State: Flux.State>: Sendable {
    private struct Member {
        let name: ObjectIdentifier
        weak var core: StoreCore<State>?
    }

    private struct Contents {
        var ticket: UInt64 = 0
        /// In the order of creation.
        var members: [Member] = []
        var relay: (number: UInt64, send: @Sendable (State.Action) -> Void)?
    }

    private let contents = Mutex(Contents())

    /// The lane of the state type.
    static var shared: Lane<State> { LaneRegistry.lane(of: State.self) }

    /// Makes the store a target of global dispatches, after `first`, if given, has taken its place in it.
    func join(_ core: StoreCore<State>, first: Entry<State>?) {
        let ticket = contents.withLock { contents in
            contents.ticket += 1
            contents.members.append(Member(name: ObjectIdentifier(core), core: core))
            guard let first, core.inbox.append(first, ticket: contents.ticket) else { return UInt64?.none }
            return contents.ticket
        }
        if let ticket { core.scheduleTurn(through: ticket) }
    }

    /// Removes the store from the targets.
    func leave(_ core: StoreCore<State>) {
        let name = ObjectIdentifier(core)
        contents.withLock { contents in contents.members.removeAll { $0.name == name } }
    }

    /// Commits `entries` to one store, one after another with nothing between. Those of an observer that is notified of a
    /// replay are ignored. What the library itself places is refused and ignored nowhere.
    func place(_ entries: [Entry<State>], in core: StoreCore<State>, isOwn: Bool = false) {
        guard isOwn || !ThreadContext.refusesDispatch() else {
            for entry in entries { entry.completion?(.failure(Self.refusal(of: entry))) }
            return
        }
        guard isOwn || !ThreadContext.isReplaying else {
            for entry in entries { entry.completion?(.success(core.state)) }
            return
        }
        let (tickets, refused) = contents.withLock { contents in
            let before = contents.ticket
            var refused: [Entry<State>] = []
            for entry in entries {
                contents.ticket += 1
                if !core.inbox.append(entry, ticket: contents.ticket) { refused.append(entry) }
            }
            return (before..<contents.ticket, refused)
        }
        for ticket in tickets { core.scheduleTurn(through: ticket + 1) }
        for entry in refused { core.tellGone(entry) }
    }

    /// Commits `action` to every live store, in the order of creation. If a relay is attached, only that is called,
    /// unless it is the relay of this number that commits; if it is no longer attached, nothing happens.
    func placeInAll(_ action: State.Action, byRelay number: UInt64? = nil) {
        guard !ThreadContext.refusesDispatch(), !ThreadContext.isReplaying else { return }
        // Filled inside the lock but released outside: the last reference to a store must not be released under it.
        var targets: [StoreCore<State>] = []
        var ticket: UInt64 = 0
        let relay = contents.withLock { contents -> (@Sendable (State.Action) -> Void)? in
            if let relay = contents.relay, number == nil { return relay.send }
            guard number == contents.relay?.number else { return nil }
            contents.ticket += 1
            ticket = contents.ticket
            let entry = Entry<State>(.actions([action], isRelayed: number != nil))
            for member in contents.members {
                guard let core = member.core else { continue }
                targets.append(core)
                _ = core.inbox.append(entry, ticket: ticket)
            }
            return nil
        }
        if let relay { return relay(action) }
        for core in targets { core.scheduleTurn(through: ticket) }
    }

    /// Commits `action` to every live store, in the order of creation, and reports the outcomes; none of stores that are released
    /// before. If a relay is attached, only that is called.
    func placeInAll(
        _ action: State.Action, _ whenAll: @escaping @Sendable ([Result<State, any Error>]) -> Void
    ) {
        guard !ThreadContext.refusesDispatch(), !ThreadContext.isReplaying else { return whenAll([]) }
        // Released outside the lock, as above.
        var targets: [StoreCore<State>] = []
        var closed: [Int] = []
        var ticket: UInt64 = 0
        var outcomes: Outcomes<State>?
        let relay = contents.withLock { contents -> (@Sendable (State.Action) -> Void)? in
            if let relay = contents.relay { return relay.send }
            contents.ticket += 1
            ticket = contents.ticket
            targets = contents.members.compactMap(\.core)
            let all = Outcomes<State>(count: targets.count, whenAll)
            for (number, core) in targets.enumerated() {
                let entry = Entry<State>(.actions([action])) { all.take($0, of: number) }
                if !core.inbox.append(entry, ticket: ticket) { closed.append(number) }
            }
            outcomes = all
            return nil
        }
        relay?(action)
        for number in closed { outcomes?.take(nil, of: number) }
        for core in targets { core.scheduleTurn(through: ticket) }
        if targets.isEmpty { whenAll([]) }
    }

    /// Attaches a relay and returns its number, or nil if there is one already.
    func attach(_ relay: @escaping @Sendable (State.Action) -> Void) -> UInt64? {
        contents.withLock { contents in
            guard contents.relay == nil else { return nil }
            contents.ticket += 1
            contents.relay = (contents.ticket, relay)
            return contents.ticket
        }
    }

    /// Detaches the relay of this number, if it is attached.
    func detach(_ number: UInt64) {
        // Released outside the lock: the relay's closure may hold anything.
        _ = contents.withLock { contents in
            guard contents.relay?.number == number else { return (@Sendable (State.Action) -> Void)?.none }
            defer { contents.relay = nil }
            return contents.relay?.send
        }
    }

    private static func refusal(of entry: Entry<State>) -> FluxError {
        .dispatchInMutation(action: entry.actions.first.map { String(describing: $0) } ?? "an action")
    }
}

/// One lane for each state type of the process. A generic type can't have stored static properties, hence the table.
enum LaneRegistry {
    private static let lanes = Mutex<[ObjectIdentifier: any Sendable]>([:])

    static func lane<State: Flux.State>(of type: State.Type) -> Lane<State> {
        lanes.withLock { lanes in
            if let lane = lanes[ObjectIdentifier(type)] as? Lane<State> { return lane }
            let lane = Lane<State>()
            lanes[ObjectIdentifier(type)] = lane
            return lane
        }
    }
}
