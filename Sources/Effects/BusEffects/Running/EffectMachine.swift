import BusJSON

/// One effect between the bus and what it starts: events in, jobs out; results in, its place out.
///
/// Pure: it reads no clock and starts nothing, so that a test can go through years of it. Guarantees: the jobs of a lane
/// (a store's, or all) come one after the other in the order of the bus; a job that fails is tried again until its retries
/// are used up, and then its event is set aside and the lane continues; every event up to `done` is settled.
///
/// Times are nanoseconds of a clock that never goes back.
package struct EffectMachine {
    package struct Job: Sendable {
        package let event: EffectEvent
        /// Counted from 1.
        package let attempt: Int
        /// Whether somebody asked for an event that had been set aside.
        package let isAgain: Bool
    }

    package enum Outcome: Sendable, Equatable {
        case succeeded
        /// The condition does not hold: nothing was started, and the rate is given back.
        case notMeant
        /// To be tried again, not before this time has passed if that is no longer than the effect's longest wait. The reason
        /// is a clause.
        case failed(String, after: Duration = .zero)
        /// No other attempt helps.
        case refused(String)
    }

    /// An event that was set aside.
    package struct Failure: Sendable, Equatable {
        package let id: EffectEvent.ID
        package let store: String
        package let action: String
        package let reason: String
        package let tries: Int
    }

    /// What there is to count since it was asked last.
    package struct Counts: Sendable, Equatable {
        package var succeeded = 0, retried = 0, failed = 0, skipped = 0
        package init() {}
    }

    private struct Entry {
        let event: EffectEvent
        let isAgain: Bool
        var tries = 0
        var isRunning = false
        /// Not before this moment.
        var due = 0
    }

    private let retry: Effect.Retry
    private let limit: Effect.Limit
    /// Events of each lane, the first of which is running or to run.
    private var lanes: [String: [Entry]] = [:]
    /// The lanes whose first event may start, in the order in which they came to that.
    private var ready: [String] = []
    /// The lanes whose first event waits for its retry.
    private var sleeping: [String: Int] = [:]
    /// Events that are not settled, in the order of the bus, and those of them that are, behind one that is not.
    private var open: [EffectEvent.ID] = []
    private var closed: Set<EffectEvent.ID> = []
    /// How events of a downtime are treated, and the revision at which it began.
    private let downtime: Effect.Downtime
    private let left: Int
    /// Until `caughtUp`: the newest event of each store, where only that counts. They come behind those in `open`.
    private var newest: [String: EffectEvent]?
    /// When the next start would be in time if all starts were spread evenly.
    private var pace = 0
    private var seen: Int
    /// The newest revision of which something is settled.
    private var reached = 0

    package private(set) var running = 0
    package private(set) var counts = Counts()
    package var isPaused = false

    /// - Parameters:
    ///   - done: Everything up to this revision is settled.
    ///   - downtime: What is done, until `caughtUp`, with events after the revision `left`.
    package init(_ effect: Effect, done: Int, downtime: Effect.Downtime = .all, since left: Int = 0) {
        retry = effect.retry
        limit = effect.limit
        seen = done
        (self.downtime, self.left) = (downtime, left)
        newest = downtime == .all ? nil : [:]
    }

    /// Everything up to this revision is settled: nothing of it has to be done after a crash.
    package var done: Int {
        (open.first ?? newest?.values.lazy.map(\.id).min()).map { $0.revision - 1 } ?? seen
    }
    /// How much room its events take up: one each until all up to it are settled. Where only the newest events of a downtime count, each of
    /// these takes half, so that there is room for those that take the places of others.
    package var room: Int { open.count + (newest?.count ?? 0) / 2 }
    /// Whether nothing behind `done` has been tried.
    package var isClean: Bool {
        reached <= done && !lanes.values.contains { $0[0].tries > 0 && !$0[0].isAgain }
    }
    /// Events that are in memory and not running.
    package var waiting: Int { lanes.values.reduce(newest?.count ?? 0) { $0 + $1.count } - running }
    package var isIdle: Bool { running == 0 && lanes.isEmpty && newest?.isEmpty ?? true }

    package mutating func takeCounts() -> Counts {
        defer { counts = Counts() }
        return counts
    }

    // MARK: In

    /// An event, in the order of the bus. `isAgain`: one that had been set aside, wherever it stood. Returns the event that is left
    /// out, this one or an older one, if a downtime has one too many.
    @discardableResult
    package mutating func take(_ event: EffectEvent, isAgain: Bool = false) -> EffectEvent? {
        if isAgain {
            enqueue(Entry(event: event, isAgain: true))
            return nil
        }
        // Another event of its commit may follow.
        seen = max(seen, event.revision - 1)
        guard newest != nil, event.revision > left else {
            open(event)
            return nil
        }
        let skipped = downtime == .none ? event : newest?.updateValue(event, forKey: event.store)
        if skipped != nil { counts.skipped += 1 }
        if let count = newest?.count, count >= EffectLimits.window { caughtUp() }
        return skipped
    }

    /// Every event up to this revision that is meant has been taken.
    package mutating func passed(_ revision: Int) { seen = max(seen, revision) }

    /// What happened while the service was down has been taken.
    package mutating func caughtUp() {
        guard let events = newest else { return }
        newest = nil
        for event in events.values.sorted(by: { $0.id < $1.id }) { open(event) }
    }

    private mutating func open(_ event: EffectEvent) {
        open.append(event.id)
        enqueue(Entry(event: event, isAgain: false))
    }

    private func lane(_ event: EffectEvent) -> String { limit.isOneByOne ? "" : event.store }

    private mutating func enqueue(_ entry: Entry) {
        let name = lane(entry.event)
        lanes[name, default: []].append(entry)
        if lanes[name]?.count == 1 { ready.append(name) }
    }

    // MARK: Jobs

    /// The jobs to start now.
    package mutating func jobs(at now: Int) -> [Job] {
        let awake = sleeping.filter { $0.value <= now }.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
        for (name, _) in awake {
            sleeping[name] = nil
            ready.append(name)
        }
        var jobs: [Job] = []
        while !isPaused, running < limit.running, !ready.isEmpty, paceWait(at: now) == nil {
            let name = ready.removeFirst()
            guard var entry = lanes[name]?.first else { continue }
            entry.tries += 1
            entry.isRunning = true
            lanes[name]?[0] = entry
            running += 1
            if let step = limit.step { pace = max(pace, now) + step }
            jobs.append(Job(event: entry.event, attempt: entry.tries, isAgain: entry.isAgain))
        }
        return jobs
    }

    /// When `jobs` may have more, if nothing happens before; nil: not by itself.
    package func nextDue(at now: Int) -> Int? {
        guard !isPaused else { return nil }
        let wake = sleeping.values.min()
        guard running < limit.running, !ready.isEmpty, let pause = paceWait(at: now) else { return wake }
        return min(pause, wake ?? .max)
    }

    /// Whether a job could have been started at a moment, and was not.
    package func isLate(at moment: Int) -> Bool {
        guard !isPaused, running < limit.running, paceWait(at: moment) == nil else { return false }
        return !ready.isEmpty || sleeping.values.contains { $0 <= moment }
    }

    /// Until when the rate allows no start; nil: it does now.
    private func paceWait(at now: Int) -> Int? {
        guard let rate = limit.rate, let step = limit.step else { return nil }
        let start = pace - step * (rate.count - 1)
        return start > now ? start : nil
    }

    /// A job ended. Returns what is to be set aside on the bus, after which `settled` is called.
    package mutating func finished(_ event: EffectEvent, _ outcome: Outcome, at now: Int) -> Failure? {
        let name = lane(event)
        guard var entry = lanes[name]?.first, entry.isRunning, entry.event.id == event.id else { return nil }
        running -= 1
        entry.isRunning = false
        switch outcome {
        case .succeeded, .notMeant:
            if outcome == .succeeded { counts.succeeded += 1 } else { pace -= limit.step ?? 0 }
            leave(name)
            if !entry.isAgain { settled(event.id) }
            return nil
        case .failed(_, let pause) where entry.tries <= retry.times:
            counts.retried += 1
            entry.due = now + max(retry.wait(before: entry.tries), min(pause, retry.most)).nanoseconds
            lanes[name]?[0] = entry
            sleeping[name] = entry.due
            return nil
        case .failed(let reason, _), .refused(let reason):
            counts.failed += 1
            leave(name)
            return Failure(
                id: event.id, store: event.store, action: event.action, reason: reason, tries: entry.tries)
        }
    }

    /// The lane continues with its next event.
    private mutating func leave(_ name: String) {
        lanes[name]?.removeFirst()
        if lanes[name]?.isEmpty ?? true { lanes[name] = nil } else { ready.append(name) }
    }

    /// The bus knows what became of an event.
    package mutating func settled(_ id: EffectEvent.ID) {
        reached = max(reached, id.revision)
        closed.insert(id)
        var count = 0
        while count < open.count, closed.remove(open[count]) != nil { count += 1 }
        if count > 0 { open.removeFirst(count) }
    }
}

extension Effect.Limit {
    /// The nanoseconds between two starts if all are spread evenly.
    fileprivate var step: Int? { rate.map { $0.time.nanoseconds / $0.count } }
}
