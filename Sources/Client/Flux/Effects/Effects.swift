import Synchronization

/// The thunks that are under way for a store, by their identities if they have any. One that ends leaves them.
public final class Effects: Sendable {
    /// When one that is throttled began last, or will begin.
    private struct Throttle {
        let beginning: Duration
        /// No other begins before.
        let end: Duration
        /// The number of the one that waits for `beginning`.
        let waiting: UInt64?
    }

    private struct Contents {
        var tasks: [EffectID: [UInt64: Task<Void, any Error>]] = [:]
        var number: UInt64 = 0
        var throttles: [EffectID: Throttle] = [:]
        /// With so many it is time to look which are over.
        var manyThrottles = 64
    }

    /// How many have begun and not ended, and who hears when one has ended.
    private struct Progress {
        var count = 0
        var observers: [@Sendable () -> Void] = []
    }

    private let progress = Mutex(Progress())
    private let clock: StoreClock
    private let failed: @Sendable (any Error) -> Void
    private let contents = Mutex(Contents())

    /// None yet.
    ///
    /// - Parameters:
    ///   - clock: What debounced and throttled ones wait for.
    ///   - failed: Called with the error of each that was dispatched and failed.
    public init(clock: StoreClock = .continuous, failed: @escaping @Sendable (any Error) -> Void) {
        self.clock = clock
        self.failed = failed
    }

    /// How many with identities are under way or wait for their time, without those that were cancelled.
    package var count: Int { contents.withLock { $0.tasks.values.reduce(0) { $0 + $1.count } } }

    /// How many are under way or wait for their time, with or without identities. One that was cancelled counts until it ends.
    package var workCount: Int { progress.withLock { $0.count } }

    /// Calls `body` whenever one of them has ended.
    package func observeEnds(_ body: @escaping @Sendable () -> Void) {
        progress.withLock { $0.observers.append(body) }
    }

    /// How many throttles are known, those that are over among them.
    package var throttleCount: Int { contents.withLock { $0.throttles.count } }

    /// Reports the error of one that was dispatched.
    func report(_ error: any Error) { failed(error) }

    /// Starts work that has no identity.
    func start(_ work: @escaping @Sendable () async throws -> Void) -> Task<Void, any Error> {
        task(clock.roster?.enter(), work)
    }

    /// A task for the work, which counts until it has ended and has left.
    private func task(
        _ rostered: RosteredWork?, _ work: @escaping @Sendable () async throws -> Void,
        leave: @escaping @Sendable () -> Void = {}
    ) -> Task<Void, any Error> {
        progress.withLock { $0.count += 1 }
        return Task {
            defer {
                leave()
                let observers = progress.withLock { progress in
                    progress.count -= 1
                    return progress.observers
                }
                for observer in observers { observer() }
                rostered?.end()
            }
            guard let rostered else { return try await work() }
            try await RosteredWork.$current.withValue(rostered) { try await work() }
        }
    }

    /// Starts work when its pace allows that.
    func start(
        _ id: EffectID, _ pace: EffectPace, _ work: @escaping @Sendable () async throws -> Void
    ) -> Task<Void, any Error> {
        switch pace {
        case .atOnce(let cancelsInFlight):
            return start(id, cancelsInFlight: cancelsInFlight, clock.roster?.enter(), after: nil, work)
        case .debounced(let pause):
            let rostered = clock.roster?.enter()
            let wait = ClockWait(for: clock, of: rostered)
            defer { wait.begin(until: clock.now + pause) }
            return start(id, cancelsInFlight: true, rostered, after: wait, work)
        case .throttled(let interval, let latest):
            return startThrottled(id, interval, latest: latest, work)
        }
    }

    /// Cancels all that is under way under the identity.
    func cancel(_ id: EffectID) {
        let tasks = contents.withLock { $0.tasks.removeValue(forKey: id) }
        for task in (tasks ?? [:]).values { task.cancel() }
    }

    private func start(
        _ id: EffectID, cancelsInFlight: Bool, _ rostered: RosteredWork?, after wait: ClockWait?,
        _ work: @escaping @Sendable () async throws -> Void
    ) -> Task<Void, any Error> {
        let (task, former) = contents.withLock { contents in
            let former = cancelsInFlight ? contents.tasks.removeValue(forKey: id) : nil
            return (enter(id, rostered, after: wait, work, &contents), former)
        }
        // Outside the lock: what hears of a cancellation may start or cancel others.
        for task in (former ?? [:]).values { task.cancel() }
        return task
    }

    private func startThrottled(
        _ id: EffectID, _ interval: Duration, latest: Bool,
        _ work: @escaping @Sendable () async throws -> Void
    ) -> Task<Void, any Error> {
        let now = clock.now
        let rostered = clock.roster?.enter()
        let wait = ClockWait(for: clock, of: rostered)
        let (task, former, beginning) = contents.withLock { contents in
            forgetThrottles(before: now, &contents)
            var beginning = now
            var former: Task<Void, any Error>?
            if let last = contents.throttles[id], now < last.end {
                guard latest else { return (Task<Void, any Error>?.none, former, now) }
                beginning = now < last.beginning ? last.beginning : last.end
                if now < last.beginning, let number = last.waiting {
                    former = contents.tasks[id]?.removeValue(forKey: number)
                }
            }
            let task = enter(id, rostered, after: beginning > now ? wait : nil, work, &contents)
            contents.throttles[id] = Throttle(
                beginning: beginning, end: beginning + interval, waiting: contents.number)
            return (task, former, beginning)
        }
        former?.cancel()
        guard let task else {
            rostered?.end()
            return Task { throw CancellationError() }
        }
        wait.begin(until: beginning)
        return task
    }

    /// The table would grow with each new identity.
    private func forgetThrottles(before now: Duration, _ contents: inout Contents) {
        guard contents.throttles.count >= contents.manyThrottles else { return }
        contents.throttles = contents.throttles.filter { $0.value.end > now }
        contents.manyThrottles = max(64, 2 * contents.throttles.count)
    }

    /// Under the lock. The task can't end, and leave, before it is entered: for that it needs the lock.
    private func enter(
        _ id: EffectID, _ rostered: RosteredWork?, after wait: ClockWait?,
        _ work: @escaping @Sendable () async throws -> Void, _ contents: inout Contents
    ) -> Task<Void, any Error> {
        contents.number += 1
        let number = contents.number
        let task = self.task(rostered) { [self] in
            do {
                try await wait?.end()
            } catch {
                giveWay(id, number)
                throw error
            }
            try await work()
        } leave: { [self] in
            leave(id, number)
        }
        contents.tasks[id, default: [:]][number] = task
        return task
    }

    private func leave(_ id: EffectID, _ number: UInt64) {
        contents.withLock { contents in
            contents.tasks[id]?[number] = nil
            if contents.tasks[id]?.isEmpty == true { contents.tasks[id] = nil }
        }
    }

    /// It was cancelled before it began: another may begin at its time.
    private func giveWay(_ id: EffectID, _ number: UInt64) {
        contents.withLock { contents in
            guard let last = contents.throttles[id], last.waiting == number else { return }
            contents.throttles[id] = Throttle(beginning: last.beginning, end: last.beginning, waiting: nil)
        }
    }
}

/// When a thunk with an identity begins.
enum EffectPace: Sendable {
    case atOnce(cancelsInFlight: Bool)
    case debounced(Duration)
    case throttled(Duration, latest: Bool)
}

/// The identity of a thunk: any value.
struct EffectID: Hashable, Sendable {
    let base: any Hashable & Sendable

    static func == (one: EffectID, other: EffectID) -> Bool {
        AnyHashable(one.base) == AnyHashable(other.base)
    }

    func hash(into hasher: inout Hasher) { hasher.combine(AnyHashable(base)) }
}

/// One step of a list that a store runs: an action, several as one commit, the actions of a sequence as they come, or work.
///
/// ```swift
/// try await store.run([
///     .action(.start),
///     .sequence(sensor.readings.map { .measured($0) }),
///     .thunk(upload),
///     .atomically([.stop, .report]),
/// ])
/// ```
public struct DispatchStep<State: Flux.State>: Sendable {
    let run: @Sendable (any StateStore<State>) async throws -> Void

    /// One action. It ends when that is committed.
    public static func action(_ action: State.Action) -> DispatchStep {
        DispatchStep { _ = try await $0.state(after: action) }
    }

    /// Several actions as one commit. It ends when they are committed.
    public static func atomically(_ actions: [State.Action]) -> DispatchStep {
        DispatchStep { _ = try await $0.state(afterAtomically: actions) }
    }

    /// Each action of a sequence when it comes, which waits for the commit of the one before. It ends when the sequence does.
    public static func sequence<Actions: AsyncSequence & Sendable>(
        _ actions: Actions
    ) -> DispatchStep where Actions.Element == State.Action {
        DispatchStep { store in
            for try await action in actions { _ = try await store.state(after: action) }
            // A sequence that hears of the cancellation ends as if it were at its end.
            try Task.checkCancellation()
        }
    }

    /// Work. It ends when that does.
    public static func thunk(_ thunk: Thunk<State>) -> DispatchStep {
        DispatchStep { try await $0.run(thunk) }
    }
}

extension StateStore {
    /// Runs each step when the one before has ended, and returns when the last one has. It throws the error of the first step that
    /// fails, whose followers are left out; others may dispatch between two steps.
    public func run(_ steps: [DispatchStep<State>]) async throws {
        for step in steps {
            try Task.checkCancellation()
            try await step.run(self)
        }
    }
}
