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
    /// How long the test waits for what it expects.
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

    /// The actions committed so far, as a recording.
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
    /// long. `onFailure` is called with each failure; without it they are thrown. For `isExhaustive` see there.
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
