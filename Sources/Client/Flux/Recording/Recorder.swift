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
/// A step is what reached the mutations, so a replay needs no middleware and no thunk, and none runs. It is one
/// change for the observers, and what these dispatch to the store when they are told of it is ignored: the recording
/// holds what came of it. (That goes for what they dispatch themselves, on whatever executor, not for what a task does
/// later.) A replay that fails changes nothing.
///
/// A commit after a replay follows the step that was shown; the steps after it are discarded, as by typing after an undo.
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
        /// When the recording began, by the store's clock.
        let began: Duration

        init(from began: Duration) { self.began = began }

        func record(_ before: State, _ actions: [State.Action], at time: Duration) {
            contents.withLock { contents in
                if contents.start == nil { contents.start = before }
                contents.steps.removeLast(contents.steps.count - contents.position)
                contents.steps.append(.init(actions: actions, time: time - began))
                contents.position = contents.steps.count
            }
        }
    }

    private let tape: Tape
    private weak let core: StoreCore<State>?
    private let observation: Disposable

    /// Records everything that `store` commits from now on, until ``stop()`` or until the recorder is released. It
    /// does not keep the store alive.
    public init(_ store: Store<State>) {
        core = store.core
        let tape = Tape(from: store.core.clock.now)
        self.tape = tape
        observation = store.core.recorders.add { tape.record($0, $1, at: $2) }
    }

    deinit { observation.dispose() }

    /// All steps up to now, also those after the one that is shown.
    public var recording: Recording<State> {
        tape.contents.withLock { Recording(from: $0.start, steps: $0.steps) }
    }

    /// Records no more. What was recorded can still be replayed.
    public func stop() { observation.dispose() }

    /// Restores the store to the state after that many steps, by default after all, and returns it.
    ///
    /// Throws ``FluxError/unknownStep(step:count:)``, what a mutation throws (then nothing has changed), or
    /// ``FluxError/storeGone(state:)``.
    @discardableResult
    public func replay(upTo step: Int? = nil) async throws -> State {
        guard let core else { throw FluxError.storeGone(state: String(describing: State.self)) }
        let (start, steps) = tape.contents.withLock { ($0.start, $0.steps) }
        let count = step ?? steps.count
        guard (0...steps.count).contains(count) else {
            throw FluxError.unknownStep(step: count, count: steps.count)
        }
        return try await replay(start ?? core.state, steps.prefix(count), in: core) { contents in
            contents.position = min(count, contents.steps.count)
        }
    }

    /// Replaces what was recorded by `recording`, and replays it: from its own start; without one from the state before the
    /// first recorded step, or from the current state if nothing was recorded.
    @discardableResult
    public func replay(_ recording: Recording<State>, upTo step: Int? = nil) async throws -> State {
        guard let core else { throw FluxError.storeGone(state: String(describing: State.self)) }
        let count = step ?? recording.steps.count
        guard (0...recording.steps.count).contains(count) else {
            throw FluxError.unknownStep(step: count, count: recording.steps.count)
        }
        let start = recording.start ?? tape.contents.withLock { $0.start } ?? core.state
        return try await replay(start, recording.steps.prefix(count), in: core) { contents in
            contents = Contents(start: start, steps: recording.steps, position: count)
        }
    }

    /// Replays steps, and notes that on the tape once they have succeeded.
    private func replay(
        _ start: State, _ steps: ArraySlice<Recording<State>.Step>, in core: StoreCore<State>,
        note: @escaping @Sendable (inout Contents) -> Void
    ) async throws -> State {
        let replay = Entry<State>.Work.replay(from: start, actions: steps.flatMap(\.actions)) { [tape] in
            tape.contents.withLock { note(&$0) }
        }
        return try await core.outcome(of: replay).get()
    }
}

/// The recorders of a store's commits, called in the order of the commits.
final class Recorders<State: Flux.State>: Sendable {
    typealias Record = @Sendable (_ before: State, _ actions: [State.Action], _ time: Duration) -> Void

    private let members = Mutex<[(number: Int, record: Record)]>([])

    func add(_ record: @escaping Record) -> Disposable {
        let number = members.withLock { members in
            let number = (members.last?.number ?? 0) + 1
            members.append((number, record))
            return number
        }
        return Disposable { [weak self] in
            self?.members.withLock { members in members.removeAll { $0.number == number } }
        }
    }

    /// One commit: the state before it, and the actions that reached the mutations. Without
    /// actions nothing is recorded.
    func record(before: State, _ actions: [State.Action], at time: @autoclosure () -> Duration) {
        guard !actions.isEmpty else { return }
        let members = members.withLock { $0 }
        if members.isEmpty { return }
        let time = time()
        for member in members { member.record(before, actions, time) }
    }
}
