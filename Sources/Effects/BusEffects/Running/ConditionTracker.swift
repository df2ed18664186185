import BusJSON

/// For which stores the condition of an effect holds, and since when: what the bus tells in, events out.
///
/// Pure, as `EffectMachine` is. What it goes by are the times of commits, so it makes no difference whether the service ran
/// when something became true, or when it had held for long enough.
package struct ConditionTracker: Sendable {
    /// What has become true for a store.
    package struct Beginning: Sendable, Equatable {
        package let id: EffectEvent.ID
        package let store: String
        /// When, in seconds since 1970, and who caused it.
        package let time: Double
        package let by: JSON

        package init(_ id: EffectEvent.ID, store: String, time: Double, by: JSON) {
            (self.id, self.store, self.time, self.by) = (id, store, time, by)
        }

        /// The event of it.
        package var event: EffectEvent {
            EffectEvent(id, store: store, object: ["by": by, "time": .double(time), "payload": [:]])
        }
    }

    private let hold: Double
    /// The stores for which the condition holds.
    private var holding: Set<String>
    /// Those for which it has not held for long enough.
    private var waiting: [String: Beginning] = [:]
    /// What had held for long enough before the tracker began.
    private var late: [Beginning] = []
    /// Beginnings whose events are under way.
    private var due: [EffectEvent.ID: Beginning] = [:]

    /// - Parameters:
    ///   - hold: How long the condition has to hold.
    ///   - holding: The stores for which it held where the tracker begins.
    ///   - beginnings: What is not settled of before. One that no longer holds there had held for long enough.
    package init(hold: Duration, holding: Set<String>, beginnings: [Beginning] = []) {
        self.hold = hold.seconds
        self.holding = holding
        for beginning in beginnings.sorted(by: { $0.id < $1.id }) {
            let older =
                holding.contains(beginning.store)
                ? waiting.updateValue(beginning, forKey: beginning.store) : beginning
            if let older { late.append(older) }
        }
    }

    /// Everything that is not settled, for a start after a crash.
    package var beginnings: [Beginning] { (late + waiting.values + due.values).sorted { $0.id < $1.id } }
    /// Whether it takes no more: too much is not settled.
    package var isFull: Bool { late.count + waiting.count + due.count >= EffectLimits.beginnings }

    /// A commit left the condition true for these stores, and for no others. Returns the events that had come due before.
    package mutating func take(all stores: Set<String>, at revision: Int, _ time: Double, by: JSON)
        -> [EffectEvent]
    {
        take(
            began: stores.subtracting(holding), ended: holding.subtracting(stores), at: revision, time, by: by
        )
    }

    /// A commit made it true for some stores, and false for others.
    package mutating func take(
        began: Set<String>, ended: Set<String>, at revision: Int, _ time: Double, by: JSON
    ) -> [EffectEvent] {
        // What had held for long enough by then counts, whatever became of it.
        let events = events(at: time)
        for store in ended {
            holding.remove(store)
            waiting[store] = nil
        }
        for (place, store) in began.subtracting(holding).sorted(by: UTF8Order.precedes).enumerated() {
            holding.insert(store)
            waiting[store] = Beginning(
                .init(revision: revision, part: place + 1), store: store, time: time, by: by)
        }
        return events + (hold == 0 ? self.events(at: time) : [])
    }

    /// The events that are due at a time, in seconds since 1970, in the order in which they came to that.
    package mutating func events(at time: Double) -> [EffectEvent] {
        let ripe = waiting.values.filter { $0.time + hold <= time }
        for beginning in ripe { waiting[beginning.store] = nil }
        let over = (late + ripe).sorted { ($0.time, $0.id) < ($1.time, $1.id) }
        late = []
        for beginning in over {
            due[beginning.id] = beginning
        }
        return over.map(\.event)
    }

    /// When the next event is due, if nothing changes.
    package var nextDue: Double? { late.isEmpty ? waiting.values.map { $0.time + hold }.min() : 0 }

    /// Whether no event is under way.
    package var isClean: Bool { due.isEmpty }

    /// Goes on behind commits that are not known, or do not count: the condition has come to hold for some stores, and has ceased
    /// for others; nil: for all others.
    package mutating func resume(_ began: Set<String>, ended: Set<String>? = nil) {
        holding = ended.map { holding.union(began).subtracting($0) } ?? began
        waiting = waiting.filter { holding.contains($0.key) }
    }

    /// What became of an event is on the bus, or needs not be.
    package mutating func settled(_ id: EffectEvent.ID) { due[id] = nil }
}
