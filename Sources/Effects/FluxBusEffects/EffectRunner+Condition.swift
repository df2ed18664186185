import BusEffects
import BusJSON
import BusSystem
import FluxBus

/// An effect with a condition: the bus tells which stores come to match it and which cease to, commit by commit; where it
/// tells several commits at once, and of the time while the service was down, the history says what they were.
extension EffectRunner {
    /// Takes the effect up: what held at `done`, and since when, comes first. Where it is not known what happened since then, or
    /// does not count, a store whose condition does not hold now is not taken for one that has held for long enough.
    func resumeCondition(
        _ standing: EffectStanding, _ isSame: Bool, _ isWhole: Bool, at done: Int, _ now: Int
    ) {
        machine = EffectMachine(effect, done: done)
        if downtime == .newest { newest = [:] }
        Task { [self] in
            var (start, holding): (Int, Result<[String], BusError>) = (done, .success([]))
            holding = await Self.holding(effect, at: done, host.bus)
            if case .failure(let error) = holding, error.meansNoPast {
                start = now
                holding = await Self.holding(effect, at: nil, host.bus)
            }
            host.queue.async { [self, start, holding] in
                switch holding {
                case .failure(let error): complain(error)
                case .success(let stores):
                    if start > done {
                        lose(from: done, to: start)
                        machine = EffectMachine(effect, done: start)
                    }
                    let (hold, holding) = (effect.becoming?.hold ?? .zero, Set(stores))
                    let isWhole = start == done && isWhole || hold == .zero
                    // What began after the start was noted before the place had come so far: it is found again.
                    let known = isSame ? standing.held.filter { $0.id.revision <= start } : []
                    tracker = ConditionTracker(
                        hold: hold, holding: holding,
                        beginnings: known.filter { isWhole || holding.contains($0.store) })
                    if isSame, !standing.isClean { uncertain = Set(standing.held.map(\.id)) }
                    scanned = start
                    follow(from: start, standing)
                }
            }
        }
    }

    private static func holding(_ effect: Effect, at revision: Int?, _ bus: Bus) async -> Result<
        [String], BusError
    > {
        do throws(BusError) {
            return .success(try await names(of: effect, at: revision, bus))
        } catch {
            return .failure(error)
        }
    }

    // MARK: - Changes

    func take(_ change: ChangeEvent, _ size: Int) {
        guard phase == .following || phase == .beginning else { return }
        changes.append((change, size))
        takeChanges()
    }

    private func takeChanges() {
        while !isScanning, !isStuck, let (change, _) = changes.first {
            guard !change.isReset, change.coalesced == nil, let cause = change.cause,
                let time = cause["time"]?.double,
                var tracker
            else {
                isScanning = true
                scan(through: change.revision)
                return
            }
            let events = tracker.take(
                began: Set(change.states.keys), ended: Set(change.dropped), at: change.revision, time,
                by: cause["by"] ?? [:])
            keep(tracker, events)
            taken(through: change.revision)
        }
        awaitDue()
    }

    private func keep(_ tracker: ConditionTracker, _ events: [EffectEvent]) {
        self.tracker = tracker
        for event in events { admit(event) }
        keepPlaceSoon()
        guard tracker.isFull else { return pump() }
        isStuck = true
        pause(
            "its condition has become true for \(EffectLimits.beginnings) stores that nothing has followed from yet"
        )
    }

    private func admit(_ event: EffectEvent) {
        guard newest != nil, event.revision > claim.left else {
            uncertainLeft -= 1
            return enter(held: event, isUncertain: uncertainLeft >= 0 || uncertain.contains(event.id))
        }
        if let older = newest?.updateValue(event, forKey: event.store) { tracker?.settled(older.id) }
    }

    private func taken(through revision: Int) {
        let (_, size) = changes.removeFirst()
        taken += 1
        scanned = max(scanned, revision)
        makeRoom(size)
    }

    // MARK: - The history

    /// Looks up each commit up to a revision that may have made the condition true or false, unless it is of a downtime that
    /// does not count.
    private func scan(through revision: Int) {
        let (from, end) = (scanned, downtime == .none ? min(revision, claim.left) : revision)
        let isFirst = claim.isFirst
        Task { [self] in
            var failure: BusError?
            do throws(BusError) {
                var since: Int? = from
                while let start = since, start < end {
                    let (commits, next) = try await host.bus.history(
                        since: start, until: end, limit: 100, of: .type(effect.type))
                    for commit in commits {
                        guard let at = commit["revision"]?.int, let time = commit["time"]?.double else {
                            continue
                        }
                        let stores = Set(try await Self.names(of: effect, at: at, host.bus))
                        host.queue.async { [self] in found(stores, at, time, commit["by"] ?? [:]) }
                    }
                    since = next
                }
            } catch {
                failure = error
            }
            host.queue.async { [self, failure] in
                switch failure {
                case nil where end == revision: scanned(through: revision)
                case nil: skip(through: revision)
                case let error? where error.meansNoPast:
                    if !isFirst { lose(from: scanned, to: revision) }
                    skip(through: revision)
                case let error?:
                    mention(error, "the history can't be read")
                    host.after(EffectLimits.pause) { [self] in scan(through: revision) }
                }
            }
        }
    }

    private func found(_ stores: Set<String>, _ revision: Int, _ time: Double, _ by: JSON) {
        guard !isStuck, revision > scanned, var tracker else { return }
        let events = tracker.take(all: stores, at: revision, time, by: by)
        keep(tracker, events)
        scanned = revision
    }

    /// The history of these commits is gone, or does not count: the bus has told for which stores the condition holds behind them.
    private func skip(through revision: Int) {
        if let (change, _) = changes.first {
            tracker?.resume(
                Set(change.states.keys), ended: change.isReset ? nil : Set(change.dropped))
        }
        scanned(through: revision)
    }

    private func scanned(through revision: Int) {
        guard !isStuck else { return }
        isScanning = false
        claim.left = .max
        taken(through: revision)
        if let events = newest {
            newest = nil
            for event in events.values.sorted(by: { $0.id < $1.id }) { admit(event) }
        }
        keepPlaceSoon()
        takeChanges()
        pump()
    }

    // MARK: - The time

    /// Comes back when something has held for long enough.
    private func awaitDue() {
        guard let due = tracker?.nextDue, due < holdWake else { return }
        holdWake = due
        // The clock may be set meanwhile.
        let wait = min(60, max(0, due - Self.now))
        host.after(.milliseconds(Int((wait * 1000).rounded(.up)))) { [self] in
            guard holdWake == due else { return }
            holdWake = .infinity
            if due > Self.now { awaitDue() } else { becomeDue() }
        }
    }

    private static var now: Double { Double(SystemClock.milliseconds) / 1000 }

    /// What is due by now, unless the bus has something to tell of before.
    private func becomeDue() {
        let time = Self.now
        host.bus.post(BusRequest("sync"), timeout: .never) { [self] _ in
            host.queue.async { [self] in
                guard phase == .following, !isScanning, !isStuck, changes.isEmpty, var tracker else {
                    return awaitDue()
                }
                let events = tracker.events(at: time)
                keep(tracker, events)
                awaitDue()
            }
        }
    }
}
