import Flux
import Synchronization

/// A store for tests: every action it commits has to be expected, with what it changes, and nothing else may happen.
///
/// ```swift
/// let test = TestStore<Cart>(state: Cart())
/// try await test.dispatch(.add("tea")) { $0.items = ["tea"] }     // the change, made to the state before
/// test.dispatch(loadPrices)                                       // a thunk
/// try await test.receive(.pricesLoaded(3)) { $0.total = 3 }       // what it dispatches
/// try await test.finish()                                         // nothing is left
/// ```
///
/// **What the test dispatches** it describes at once: the closure gets the state before the action and makes of it what the
/// action should. Without a closure the action should change nothing.
///
/// **What comes otherwise** — from thunks, middleware, timers, observers, or `store.actions` in the code under test — is
/// received, one action after another, in the order of their commits. ``receive(_:timeout:isolation:fileID:file:line:_:)``
/// waits for what has not come yet.
///
/// **At the end** ``finish(timeout:isolation:fileID:file:line:)`` fails if an action or a failure was not received, a timer is set, or a thunk is
/// under way.
///
/// Failures are thrown as ``TestFailure``; with a failure handler they are given to that, and the test goes on.
///
/// The store commits on `FluxExecutor.immediate`. Its timers follow ``clock``, which stands still until it is advanced.
/// What goes to all stores of the type (`Store<Cart>.actions`) comes here too, also from tests that run at the same time.
public final class TestStore<State: Flux.State>: Sendable {
    /// The store itself, for the code under test. What that dispatches has to be received.
    public let store: Store<State>
    /// The clock of the store's timers.
    public let clock: ManualClock
    /// Whether everything has to be expected. If not, a closure says only what it looks at, in the state after the action;
    /// and what was not received is no failure.
    public let isExhaustive: Bool
    /// How long the test waits for what it expects, and at its end for thunks.
    public let timeout: Duration

    let journal: Journal<State>
    let recorder: Recorder<State>
    private let scope = DisposableScope()
    private let onFailure: (@Sendable (TestFailure) -> Void)?
    private let origin: TestPlace
    /// Nothing more is asked of the test when it ends.
    private let isSettled = Atomic<Bool>(false)

    init(
        _ mutations: State.Mutations, state: State, middleware: [Middleware<State>], clock: ManualClock,
        isExhaustive: Bool, timeout: Duration, origin: TestPlace,
        onFailure: (@Sendable (TestFailure) -> Void)?
    ) {
        let journal = Journal(state)
        self.journal = journal
        self.clock = clock
        self.isExhaustive = isExhaustive
        self.timeout = timeout
        self.onFailure = onFailure
        self.origin = origin
        store = Store(
            state: state, mutations: mutations, middleware: [journal.first] + middleware + [journal.last],
            clock: clock.clock)
        recorder = Recorder(store)
        scope.add(store.observeCommits { _, _ in journal.committed() })
        store.effects.observeEnds { journal.news.tell() }
        scope.add(store.failures.observe { journal.failed($0) })
    }

    /// A failure handler hears of a test that forgets to finish. Without one nobody could: nothing can be thrown here.
    deinit {
        scope.dispose()
        guard let onFailure, !isSettled.load(ordering: .relaxed) else { return }
        onFailure(TestFailure("The test of this store ends without finish().", origin))
    }

    /// The current state.
    public var state: State { store.state }

    /// The actions committed so far, or since the last replay, as a recording.
    public var recording: Recording<State> { recorder.recording }

    /// Hands a failure to the handler, or throws it.
    func report(_ message: String, _ place: TestPlace) throws {
        isSettled.store(true, ordering: .relaxed)
        let failure = TestFailure(message, place)
        guard let onFailure else { throw failure }
        onFailure(failure)
    }

    /// The test has come to its end.
    func settle() { isSettled.store(true, ordering: .relaxed) }
}

extension TestStore {
    /// A store with `state`.
    ///
    /// `middleware` is that of the store under test, in its order. `clock` may be one that several stores of a test share, or
    /// that had to be made before. `timeout` is how long the test waits for what it expects: only a test that fails waits so
    /// long, or one that is not exhaustive and leaves thunks. `onFailure` is called with each failure; without it they are
    /// thrown. For `isExhaustive` see there.
    public convenience init(
        state: State, mutations: State.Mutations = .init(), middleware: [Middleware<State>] = [],
        clock: ManualClock = ManualClock(), isExhaustive: Bool = true, timeout: Duration = .seconds(5),
        fileID: StaticString = #fileID, file: StaticString = #filePath, line: UInt = #line,
        onFailure: (@Sendable (TestFailure) -> Void)? = nil
    ) {
        self.init(
            mutations, state: state, middleware: middleware, clock: clock, isExhaustive: isExhaustive,
            timeout: timeout, origin: TestPlace(fileID, file, line), onFailure: onFailure)
    }
}

extension TestStore where State.Mutations: ComposedMutations {
    /// A store whose rules are composed of reducers. It throws what such a `Store` throws.
    public convenience init(
        state: State, mutations: State.Mutations = .init(), middleware: [Middleware<State>] = [],
        clock: ManualClock = ManualClock(), isExhaustive: Bool = true, timeout: Duration = .seconds(5),
        fileID: StaticString = #fileID, file: StaticString = #filePath, line: UInt = #line,
        onFailure: (@Sendable (TestFailure) -> Void)? = nil
    ) throws(FluxError) {
        try mutations.check()
        self.init(
            mutations, state: state, middleware: middleware, clock: clock, isExhaustive: isExhaustive,
            timeout: timeout, origin: TestPlace(fileID, file, line), onFailure: onFailure)
    }
}

extension TestStore {
    /// Ends the test: waits for the thunks that were dispatched to the store, and fails if anything is left that it has not expected.
    ///
    /// That is an action or a failure that was not received, a change without an action, a timer that is set, or a thunk
    /// that does not end. To let a timer come, advance the ``clock``, or take it away with `store.cancelTimer(_:)`; to let
    /// the rest be, ``skipReceived()``. A thunk that was cancelled has to end, too. If not everything has to be expected
    /// (``isExhaustive``), only failures are left to fail it.
    public func finish(
        timeout: Duration? = nil, isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID, file: StaticString = #filePath, line: UInt = #line
    ) async throws {
        settle()
        _ = await first(within: timeout ?? self.timeout) { store.effects.workCount == 0 ? true : nil }
        let running = store.effects.workCount
        journal.cancelThunks()
        journal.note(store.state)
        var left = journal.failures.map(\.text)
        if isExhaustive {
            left += journal.entries.map { entry in
                switch entry {
                case .action(let action): "\(action.name) was not received"
                case .change(let before, let after):
                    "the state changed without an action:"
                        + Comparison.differences(expected: before, actual: after).text
                }
            }
            left += store.timers.map {
                "the timer \($0.name) is set: \(ValueText.of($0.action)) in \($0.remaining)"
            }
            if running > 0 { left.append("\(running) of the thunks did not end") }
        }
        journal.clear()
        guard !left.isEmpty else { return }
        let list = left.map { "\n    \($0)" }.joined()
        try report("The test ends, but not everything was expected:\(list)", TestPlace(fileID, file, line))
    }
}

extension TestStore {
    /// Starts a thunk. The actions that it dispatches have to be received, an error that it throws too, and it has to end
    /// before the test does.
    @discardableResult
    public func dispatch(_ thunk: Thunk<State>) -> Task<Void, any Error> {
        let task = store.dispatch(thunk)
        journal.follow(task)
        return task
    }

    /// Does the work of a thunk to its end, and fails unless it dispatches just these actions, which together change the state
    /// as `change` does. It throws what the thunk throws.
    ///
    /// ```swift
    /// try await test.expect(loadPrices, toDispatch: [.loading, .pricesLoaded(3)]) { $0.total = 3 }
    /// ```
    public func expect(
        _ thunk: Thunk<State>, toDispatch actions: [State.Action],
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID, file: StaticString = #filePath, line: UInt = #line,
        _ change: (inout State) throws -> Void = { _ in }
    ) async throws {
        let place = TestPlace(fileID, file, line)
        let left = journal.entries.count
        let before = store.state
        try await store.run(thunk)
        let came = journal.takeEntries(after: left)
        let dispatched = came.compactMap { entry -> State.Action? in
            if case .action(let action) = entry { action.action } else { nil }
        }
        let differences = Comparison.differences(expected: actions, actual: dispatched)
        guard differences.isEmpty else {
            return try report("The thunk dispatches other actions than expected:\(differences.text)", place)
        }
        try compare("The thunk", before, store.state, place, change)
    }
}

/// What a test expected and did not find, as a sentence that begins with the place in the test.
///
/// A ``TestStore`` throws it, so that a test fails with Swift Testing, with XCTest and with anything else that reports
/// thrown errors, and neither has to be linked. One that was made with a failure handler calls that instead:
///
/// ```swift
/// let store = TestStore<Count>(state: Count()) { failure in
///     Issue.record("\(failure.message)", sourceLocation: SourceLocation(
///         fileID: failure.fileID, filePath: failure.file, line: failure.line, column: 1))
/// }
/// ```
public struct TestFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// What is wrong, without the place.
    public let message: String
    /// The file of the test that expected it, as `#fileID`.
    public let fileID: String
    /// That file's path, as `#filePath` gives it.
    public let file: String
    /// The line in it, counted from 1.
    public let line: Int

    init(_ message: String, _ place: TestPlace) {
        self.message = message
        fileID = "\(place.fileID)"
        file = "\(place.file)"
        line = Int(place.line)
    }

    public var description: String {
        let name = fileID.split(separator: "/").last ?? fileID[...]
        return "\(name):\(line): \(message)"
    }
}

/// A place in a test.
struct TestPlace: Sendable {
    let fileID: StaticString
    let file: StaticString
    let line: UInt

    init(_ fileID: StaticString, _ file: StaticString, _ line: UInt) {
        (self.fileID, self.file, self.line) = (fileID, file, line)
    }
}
