import BusJSON
import BusLogic
import FluxBus
import Glibc

/// Waits for a bus, or for stores on it, within one span of time.
///
/// While nothing answers it retries with growing pauses; once connected it subscribes and is notified. When a
/// connection ends it starts over.
struct Waiter {
    /// What is waited for.
    enum Wanted {
        case bus
        /// The store, and that an expression holds on it.
        case store(String, Expression?)
        /// Stores that match a pattern, on so many of which an expression holds.
        case stores(String, JSON?, Quantifier)
    }

    private static let shortestPause = 10
    private static let longestPause = 500
    /// The time limit of one exchange when `--timeout 0` asks for a single look.
    private static let onceTimeout = Duration.seconds(5)

    let session: CommandSession
    let wanted: Wanted

    private var looksOnce: Bool { session.options.timeout.duration == Duration.zero }

    func run() throws -> CommandStatus {
        let watched = try watched()
        let deadline = Deadline(after: looksOnce ? Self.onceTimeout : session.options.timeout.duration)
        var pause = Self.shortestPause
        while true {
            do {
                return try attempt(watched, until: deadline)
            } catch let error as BusError {
                guard Reconnection.mayPass(error), !looksOnce else { throw error }
                guard !deadline.hasPassed else { throw timedOut(error) }
            }
            var left = Int(deadline.pollTimeout)
            if left < 0 { left = pause }
            _ = poll(nil, 0, Int32(min(pause, left)))
            pause = min(pause * 2, Self.longestPause)
        }
    }

    private func attempt(_ watched: AwaitedStores?, until deadline: Deadline) throws -> CommandStatus {
        let connection = try session.connect(until: deadline)
        guard var watched else {
            try connection.request(BusRequest("ping"), until: deadline)
            return .success
        }
        try connection.request(watched.request, until: deadline)
        while true {
            // While lines come as fast as they are read, nothing waits, so no wait times out.
            if deadline.hasPassed {
                throw BusError(.timedOut, "The bus did not answer in the time allowed.")
            }
            guard
                case .event(_, let event) = try BusMessage(parsing: connection.receiveLine(until: deadline)),
                let isMet = try watched.isMet(after: event)
            else { continue }
            if isMet { return .success }
            if looksOnce { return .no }
        }
    }

    private func watched() throws -> AwaitedStores? {
        switch wanted {
        case .bus: nil
        case .store(let store, let expression):
            // One without a value, as a computed value without one, is not true: the next state may give it one.
            AwaitedStores(store, .all) { state, _ in
                expression.map { (try? $0.holds(on: state)) ?? false } ?? true
            }
        case .stores(let pattern, let condition, .all):
            try AwaitedStores(pattern, ofAll: condition ?? "true")
        case .stores(let pattern, let condition, let quantifier):
            AwaitedStores(pattern, quantifier, where: condition)
        }
    }

    private func timedOut(_ error: BusError) -> CommandFailure {
        let span = session.options.timeout
        let awaited =
            switch wanted {
            case .bus: "No bus answered"
            case .store(let store, nil): "\(store) was not created"
            case .store(let store, _): "The expression did not become true on \(store)"
            case .stores(let pattern, nil, .none): "There was a store \(pattern) still"
            case .stores(let pattern, nil, _): "No store \(pattern) was created"
            case .stores(let pattern, _, .any): "The expression did not become true on any store \(pattern)"
            case .stores(let pattern, _, .all): "The expression did not become true on all stores \(pattern)"
            case .stores(let pattern, _, .none): "The expression still held on a store \(pattern)"
            }
        let reason = error.code == .timedOut ? "" : ": \(error.message)"
        return CommandFailure(.temporary, "\(awaited) within \(span)\(reason.isEmpty ? "." : reason)")
    }
}

/// The stores that a wait is about, and whether they are as it wants them.
private struct AwaitedStores {
    let request: BusRequest
    private let quantifier: Quantifier
    /// Whether a store is as it should be, where the bus was not asked for those alone.
    private let holds: (JSON, String) -> Bool
    private var mirror = BusMirror()
    private var failing: Set<String> = []

    init(
        _ target: String, _ quantifier: Quantifier, where condition: JSON? = nil,
        holds: @escaping (JSON, String) -> Bool = { _, _ in true }
    ) {
        let selector = StoreSelector(target).member
        request = BusRequest("subscribe", [selector.name: selector.value, "where": condition])
        (self.quantifier, self.holds) = (quantifier, holds)
    }

    /// All stores have to be known to tell whether an expression holds on each of them.
    init(_ target: String, ofAll condition: JSON) throws {
        let expression: Expression
        do {
            expression = try .compile(condition: condition, name: "--until")
        } catch {
            throw CommandFailure(.usage, "--until can't be understood: \(error.message)")
        }
        guard !expression.stateReads.meta else {
            throw CommandFailure(
                .usage, "--until follows changes of stores, and `meta` changes without them; leave it out.")
        }
        self.init(target, .all) { state, address in
            var budget = Budget.ofStore
            return (try? expression.holds(on: state.object ?? [:], of: address, .null, spending: &budget))
                ?? false
        }
    }

    /// Whether the stores are as they should be behind an event; nil while its parts are incomplete, and for others.
    mutating func isMet(after event: JSONObject) throws -> Bool? {
        guard let change = try mirror.fold(event) else { return nil }
        switch quantifier {
        case .any: return !mirror.states.isEmpty
        case .none: return mirror.states.isEmpty
        case .all:
            if change.isReset { failing = [] }
            for store in change.stores {
                if let state = mirror.states[store.address], !holds(state, store.address) {
                    failing.insert(store.address)
                } else {
                    failing.remove(store.address)
                }
            }
            return failing.isEmpty && !mirror.states.isEmpty
        }
    }
}
