import BusJSON

/// What timers and leases must do, worked out a second time and in another way: one list, searched from end to end. It is
/// fed with the log's entries, and refuses one that should not be there.
struct TimerModel {
    static let definitions: [String] = {
        let actions = """
            initial: { count: 0 }
            actions:
              start:
                payload: { ms: integer }
                timers:
                  a: { in: { "/": [{ var: payload.ms }, 1000] }, action: tick, payload: { by: { var: payload.ms } } }
              both:
                payload: { ms: integer }
                increment: { count: 1 }
                timers:
                  b: { in: 2s, action: odd }
                  a: { at: { "+": [{ var: meta.time }, { "/": [{ var: payload.ms }, 1000] }] }, action: tick }
              tick:
                payload: { by: { type: integer, default: 1 } }
                increment: { count: { var: payload.by } }
              odd:
                require: [{ if: { "==": [{ "%": [{ var: state.count }, 2] }, 1] } }]
                increment: { count: 1 }
              chain:
                increment: { count: 1 }
                timers: { c: { in: 3s, action: chain } }
              stop: { timers: { a: null, b: null, c: null } }
              look: { when: { "==": [{ var: state.count }, -12345] } }
            """
        return ["type: clock\n\(actions)", "type: mayfly\nttl: 4s\n\(actions)"]
    }()

    struct Timer: Equatable {
        let owner: String
        let name: String
        let due: Int
        let order: Int
        let action: String
        let by: Int
    }

    struct Store: Equatable {
        let address: String
        var count = 0
        /// The length of its lease, when it was touched last, and its place among all timers.
        var lease: (length: Int, touched: Int, order: Int)?

        static func == (one: Store, other: Store) -> Bool {
            one.address == other.address && one.count == other.count
        }
    }

    private(set) var revision = 0
    private(set) var time = 0
    /// In order of creation.
    private(set) var stores: [Store] = []
    private(set) var timers: [Timer] = []
    private var nextOrder = 0
    /// How often each thing happened.
    private(set) var fired = 0
    private(set) var refused = 0
    private(set) var expired = 0
    private(set) var late = 0

    // MARK: The log

    mutating func replay(_ entry: JSON) throws {
        guard let first = entry["revision"]?.int, first == revision + 1 else {
            throw Violation("\(entry) does not follow \(revision).")
        }
        time = Int(((entry["time"]?.double ?? 0) * 1000).rounded())
        for _ in 0..<(entry["times"]?.int ?? 1) {
            revision += 1
            try commit(entry)
        }
    }

    private mutating func commit(_ entry: JSON) throws {
        let actions = entry["actions"]?.array ?? []
        if let timer = entry["fired"] { return try fire(timer, actions, entry) }
        if let timer = entry["scheduled"] {
            set(
                owner(timer), timer["timer"]?.string ?? "",
                due: Int(((timer["due"]?.double ?? 0) * 1000).rounded()), timer["action"]?.string ?? "",
                by: timer["payload"]?["by"]?.int ?? timer["payload"]?["ms"]?.int ?? 1)
        }
        if let timer = entry["cancelled"] {
            guard take(owner(timer), timer["timer"]?.string ?? "") != nil else {
                throw Violation("\(entry) cancels what is not there.")
            }
        }
        for member in entry["created"]?.object?.members ?? [] { create(member.key, entry["ttl"]) }
        for address in entry["dropped"]?.array ?? [] { try drop(address.string ?? "", entry) }
        for action in actions {
            guard
                carryOut(
                    action["action"]?.string ?? "", at: owner(action),
                    by: action["payload"]?["by"]?.int ?? action["payload"]?["ms"]?.int ?? 1)
            else { throw Violation("\(entry) should have been refused.") }
        }
    }

    private func owner(_ json: JSON) -> String { json["store"]?.string ?? json["type"]?.string ?? "" }

    private mutating func create(_ address: String, _ ttl: JSON?) {
        var store = Store(address: address)
        if let seconds = ttl?.double {
            store.lease = (Int((seconds * 1000).rounded()), time, nextOrder)
            nextOrder += 1
        }
        stores.append(store)
    }

    /// A store that goes by itself had a lease, which has ended, and before which nothing else was due.
    private mutating func drop(_ address: String, _ entry: JSON) throws {
        guard let index = stores.firstIndex(where: { $0.address == address }) else {
            throw Violation("\(entry) drops what is not there.")
        }
        if entry["by"]?["daemon"] != nil {
            guard let lease = stores[index].lease else { throw Violation("\(address) had no lease.") }
            try requireNext(lease.touched + lease.length, lease.order, entry)
            expired += 1
        }
        stores.remove(at: index)
        timers.removeAll { $0.owner == address }
    }

    // MARK: Time

    private mutating func fire(_ timer: JSON, _ actions: [JSON], _ entry: JSON) throws {
        guard let timer = take(owner(timer), timer["timer"]?.string ?? "") else {
            throw Violation("\(entry) fires what is not there.")
        }
        try requireNext(timer.due, timer.order, entry)
        fired += 1
        let before = self
        let isAccepted = carryOut(timer.action, at: timer.owner, by: timer.by)
        guard isAccepted == !actions.isEmpty else {
            throw Violation("\(entry) should \(isAccepted ? "" : "not ")have been carried out.")
        }
        if isAccepted { return }
        self = before
        refused += 1
    }

    /// Whatever happens because of time is due, and nothing else was due before it.
    private mutating func requireNext(_ due: Int, _ order: Int, _ entry: JSON) throws {
        guard due <= time else { throw Violation("\(entry) came \(due - time) ms early.") }
        if due < time { late += 1 }
        let others =
            timers.map { ($0.due, $0.order) }
            + stores.compactMap { $0.lease.map { ($0.touched + $0.length, $0.order) } }
        if let earlier = others.first(where: { $0 < (due, order) }) {
            throw Violation("\(entry), due at \(due), came before one that was due at \(earlier.0).")
        }
    }

    /// What is due and has not happened.
    func overdue(at now: Int) -> Int {
        timers.count { $0.due <= now }
            + stores.count { $0.lease.map { $0.touched + $0.length <= now } ?? false }
    }

    private mutating func set(_ owner: String, _ name: String, due: Int, _ action: String, by: Int) {
        _ = take(owner, name)
        timers.append(
            Timer(owner: owner, name: name, due: due, order: nextOrder, action: action, by: by))
        nextOrder += 1
    }

    private mutating func take(_ owner: String, _ name: String) -> Timer? {
        guard let index = timers.firstIndex(where: { $0.owner == owner && $0.name == name }) else {
            return nil
        }
        return timers.remove(at: index)
    }

    // MARK: Actions

    /// False if a store refuses the action; then this model is of no more use.
    private mutating func carryOut(_ action: String, at target: String, by: Int) -> Bool {
        // Without its type's name a store stands behind those of the types before.
        let reached =
            target.contains("/")
            ? stores.indices.filter { stores[$0].address == target }
            : ["clock", "mayfly"].flatMap { type in
                stores.indices.filter {
                    (target == "*" || target == type) && stores[$0].address.hasPrefix("\(type)/")
                }
            }
        for index in reached {
            guard carryOut(action, on: index, by: by) else { return false }
        }
        return true
    }

    private mutating func carryOut(_ action: String, on index: Int, by: Int) -> Bool {
        let store = stores[index]
        stores[index].lease?.touched = time
        switch action {
        case "start": set(store.address, "a", due: time + max(10, by), "tick", by: by)
        case "both":
            set(store.address, "a", due: time + max(10, by), "tick", by: 1)
            set(store.address, "b", due: time + 2000, "odd", by: 1)
            stores[index].count += 1
        case "tick": stores[index].count += by
        case "odd":
            guard abs(store.count % 2) == 1 else { return false }
            stores[index].count += 1
        case "chain":
            set(store.address, "c", due: time + 3000, "chain", by: 1)
            stores[index].count += 1
        case "stop": for name in ["a", "b", "c"] { _ = take(store.address, name) }
        default: break
        }
        return true
    }
}
