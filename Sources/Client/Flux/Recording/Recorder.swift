import Synchronization

/// Records what a store commits and can restore the store to any step of it.
///
/// ```swift
/// let recorder = Recorder(store)
/// store.dispatch([.increment(), .increment()])
/// try await recorder.replay(upTo: 1)      // as after the first
/// try await recorder.replay()             // as after all
/// let file = try JSONEncoder().encode(recorder.recording)
/// ```
///
/// A step is what reached the mutations, so a replay needs no middleware and no thunk, and none runs. It is one change for the
/// observers. What they dispatch while they are notified of it, to this store, to another, to a bus or by a ``Dispatcher``, is
/// ignored: it was dispatched the first time. (A task that an observer starts is on its own.)
///
/// A replay discards nothing. A commit after it follows the step that was shown and discards the steps after that, as
/// typing after an undo does. Other recorders of the store start over from the state that the replay shows.
///
/// Timers are no part of a replay: those that are set stay set, and those of the state that it shows are not set. What they
/// dispatch when they are due is a commit like any other; cancel those that should not, with ``Store/cancelTimer(_:)``.
public final class Recorder<State: Flux.State>: Sendable {
    private struct Contents {
        /// The state before the first step; nil while nothing was recorded.
        var start: State?
        var steps: [Recording<State>.Step] = []
        /// How many of the steps the store shows.
        var position = 0
    }

    private final class Tape: Sendable {
        let contents = Mutex(Contents())

        func record(_ before: State, _ actions: [State.Action], at time: Duration) {
            // What is discarded is released outside the lock: its deinit may do anything.
            _ = contents.withLock { contents in
                // Where there is nothing to discard, a slice would hold the steps, and appending to them copy all.
                let discarded = Array(contents.steps[contents.position...])
                if contents.start == nil { contents.start = before }
                contents.steps.removeLast(discarded.count)
                contents.steps.append(.init(actions: actions, time: time))
                contents.position = contents.steps.count
                return discarded
            }
        }

        /// Forgets all: it has not led to the state that the store shows.
        func beginAnew() { replace(by: Contents()) }

        func replace(by new: Contents) {
            // What was there is released outside the lock: its deinit may do anything.
            var contents = new
            self.contents.withLock { swap(&$0, &contents) }
        }
    }

    private let tape = Tape()
    private weak let core: StoreCore<State>?
    private let observation: Disposable

    /// Records everything that `store` commits from now on, until ``stop()`` or until the recorder is released. It
    /// does not keep the store alive.
    public init(_ store: Store<State>) {
        core = store.core
        let clock = store.core.clock
        let began = clock.now
        observation = store.core.recorders.add { [tape] in
            tape.record($0, $1, at: clock.now - began)
        } beginAnew: { [tape] in
            tape.beginAnew()
        }
    }

    deinit { observation.dispose() }

    /// All steps up to now, also those after the one that is shown, with the state before the first.
    public var recording: Recording<State> {
        tape.contents.withLock { Recording(start: $0.start, steps: $0.steps) }
    }

    /// Records no more. What was recorded can still be replayed.
    public func stop() { observation.dispose() }

    /// Restores the store to the state after that many steps, by default after all, and returns it.
    ///
    /// Throws ``FluxError/unknownStep(step:count:)``, what a mutation throws, or ``FluxError/storeGone(state:)``; then
    /// nothing has changed.
    @discardableResult
    public func replay(upTo step: Int? = nil) async throws -> State {
        try await replay(upTo: step) { $0 }
    }

    /// Replaces the recorded steps with `recording`, and replays it from its start. If it has none, it is replayed from the
    /// state before the first recorded step, or from the current state if nothing was recorded.
    ///
    /// Throws what ``replay(upTo:)`` throws; then nothing has changed, and what was recorded is still there.
    @discardableResult
    public func replay(_ recording: Recording<State>, upTo step: Int? = nil) async throws -> State {
        try await replay(upTo: step) { recorded in
            Recording(start: recording.start ?? recorded.start, steps: recording.steps)
        }
    }

    /// Replays what `choose` makes of what is recorded when the replay has its turn, and keeps that if it succeeds.
    private func replay(
        upTo step: Int?, _ choose: @escaping @Sendable (Recording<State>) -> Recording<State>
    ) async throws -> State {
        guard let core else { throw FluxError.storeGone(state: String(describing: State.self)) }
        let work = Entry<State>.Work.replay { [tape] now in
            // Only commits, replays among them, change the tape, and they have turns of their own.
            let chosen = choose(tape.contents.withLock { Recording(start: $0.start, steps: $0.steps) })
            let count = step ?? chosen.steps.count
            guard (0...chosen.steps.count).contains(count) else {
                throw FluxError.unknownStep(step: count, count: chosen.steps.count)
            }
            let start = chosen.start ?? now
            return Replay(start: start, actions: chosen.steps.prefix(count).flatMap(\.actions)) {
                tape.replace(
                    by: Contents(
                        start: chosen.steps.isEmpty ? chosen.start : start, steps: chosen.steps,
                        position: count))
            }
        }
        return try await core.outcome(of: work).get()
    }
}

/// The recorders of a store's commits, called in the order of the commits.
@usableFromInline
final class Recorders<State: Flux.State>: Sendable {
    typealias Record = @Sendable (_ before: State, _ actions: [State.Action]) -> Void

    private struct Member {
        let number: Int
        let record: Record
        let beginAnew: @Sendable () -> Void
    }

    private let members = Mutex<[Member]>([])
    @usableFromInline let count = Atomic<Int>(0)

    /// Whether there is any: mostly there is none, and nothing is done for it.
    @inlinable var isRecording: Bool { count.load(ordering: .acquiring) > 0 }

    /// `beginAnew` is called when a replay has led to the state that the store will show.
    func add(
        _ record: @escaping Record, beginAnew: @escaping @Sendable () -> Void = {}
    ) -> Disposable {
        let number = members.withLock { members in
            let number = (members.last?.number ?? 0) + 1
            members.append(Member(number: number, record: record, beginAnew: beginAnew))
            count.store(members.count, ordering: .releasing)
            return number
        }
        return Disposable { [weak self] in self?.remove(number) }
    }

    private func remove(_ number: Int) {
        members.withLock { members in
            members.removeAll { $0.number == number }
            count.store(members.count, ordering: .releasing)
        }
    }

    /// One commit: the state before it, and the actions that reached the mutations. Without
    /// actions nothing is recorded.
    @usableFromInline
    func record(before: State, _ actions: [State.Action]) {
        guard !actions.isEmpty else { return }
        for member in members.withLock({ $0 }) { member.record(before, actions) }
    }

    func beginAnew() {
        for member in members.withLock({ $0 }) { member.beginAnew() }
    }
}
