import Flux
import Testing

/// Parts of a store's state as stores.
@Suite(.timeLimit(.minutes(10))) struct ScopedStoreTests {
    /// Two counters, and one within.
    struct App: State, Equatable {
        var left = Counter()
        var inner = Inner()

        enum Action: Sendable, Equatable { case left(Counter.Action), inner(Inner.Action) }

        struct Mutations: ComposedMutations {
            let mutators: [Mutator<App>] = [
                Mutator(\.left, mutations: Counter.Mutations()) {
                    if case .left(let action) = $0 { action } else { nil }
                },
                Mutator(\.inner, mutations: Inner.Mutations()) {
                    if case .inner(let action) = $0 { action } else { nil }
                },
            ]
        }
    }

    struct Inner: State, Equatable {
        var right = Counter()

        enum Action: Sendable, Equatable { case right(Counter.Action) }

        struct Mutations: ComposedMutations {
            let mutators: [Mutator<Inner>] = [
                Mutator(\.right, mutations: Counter.Mutations()) {
                    switch $0 {
                    case .right(let action): action
                    }
                }
            ]
        }
    }

    private let store: Store<App>

    init() throws { store = try Store(state: App()) }

    /// What handles counters knows nothing of the rest.
    private func count(_ amounts: Int..., in counter: AnyStore<Counter>) {
        for amount in amounts { counter.dispatch(.increment(by: amount)) }
    }

    @Test func partIsReadAndChangedThroughTheWhole() {
        let left = store.scoped(\.left) { .left($0) }
        let right = store.scoped(\.inner) { .inner($0) }.scoped(\.right) { .right($0) }
        let (seen, actions) = (Journal<Int>(), Journal<Int>())
        right.signal(\.count).observe { seen.write($0) }
        left.select(\.isEven).observe { actions.write($0 ? 0 : 1) }
        count(1, 2, in: left)
        count(10, 20, in: right)
        left.dispatch([.increment(by: 1), .increment(by: 1)])
        #expect(store.state.left.count == 5)
        #expect(store.state.inner.right.count == 30)
        #expect(left.state.count == 5)
        #expect(right.computed.exceeds(29))
        #expect(seen.entries == [0, 10, 30])
        #expect(actions.entries == [0, 1, 0, 1])
    }

    @Test func outcomeIsThatOfTheWhole() async throws {
        let right = store.scoped(\.inner) { .inner($0) }.scoped(\.right) { .right($0) }
        #expect(try await right.state(after: .increment(by: 4)).count == 4)
        await #expect(throws: Counter.Failure.self) { try await right.state(after: .fail) }
        await #expect(throws: Counter.Failure.self) {
            try await right.state(afterAtomically: [.increment(), .fail])
        }
        #expect(try await right.state(afterAtomically: [.increment(), .increment()]).count == 6)
        let failures = Journal<[App.Action]>()
        store.failures.observe { failures.write($0.actions) }
        right.dispatch(.fail)
        right.dispatch(atomically: [.increment(by: 5), .fail])
        right.dispatch(atomically: [.increment(), .increment()])
        #expect(
            failures.entries
                == [[.inner(.right(.fail))], [.inner(.right(.increment(by: 5))), .inner(.right(.fail))]])
        #expect(right.state.count == 8)
    }

    @Test func thunksOfAPartRunAgainstIt() async throws {
        let left = store.scoped(\.left) { .left($0) }
        let double = Thunk<Counter> { $0.dispatch(.increment(by: $0.state.count)) }
        left.dispatch(.increment(by: 3))
        try await left.run(double)
        try await left.dispatch(double.cancellable(id: "double")).value
        #expect(store.state.left.count == 12)
        // The identities are those of the whole.
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let endless = Thunk<Counter> { _ in
            for await _ in gate {}
            try Task.checkCancellation()
        }
        let task = left.dispatch(endless.cancellable(id: "endless"))
        store.cancel(id: "endless")
        await #expect(throws: CancellationError.self) { try await task.value }
        opener.finish()
    }

    private final class Subscriber: StoreSubscriber {
        let seen = Journal<Int>()

        func newState(_ count: Int) { seen.write(count) }
    }

    @Test func subscribersHearOfThePartAlone() {
        let subscriber = Subscriber()
        let left = store.scoped(\.left) { .left($0) }
        left.subscribe(subscriber) { $0.select(\.count) }
        store.dispatch(.inner(.right(.increment())))
        store.dispatch(.left(.increment()))
        left.unsubscribe(subscriber)
        left.dispatch(.increment())
        #expect(subscriber.seen.entries == [0, 1])
    }

    /// Nobody holds the part: the subscription lasts as long as the store and the subscriber, and can be ended through another one.
    @Test func subscriptionThroughATemporaryPartLasts() {
        let subscriber = Subscriber()
        store.scoped(\.left) { .left($0) }.subscribe(subscriber) { $0.select(\.count) }
        store.dispatch(.left(.increment()))
        #expect(subscriber.seen.entries == [0, 1])
        store.scoped(\.left) { .left($0) }.subscribe(subscriber) { $0.select(\.count) }
        store.dispatch(.left(.increment()))
        #expect(subscriber.seen.entries == [0, 1, 1, 2], "the second replaces the first")
        let inner = store.scoped(\.inner) { .inner($0) }
        inner.scoped(\.right) { .right($0) }.subscribe(subscriber) { $0.select(\.count) }
        store.dispatch(.inner(.right(.increment(by: 5))))
        #expect(subscriber.seen.entries == [0, 1, 1, 2, 0, 5], "an object may follow several parts")
        store.scoped(\.left) { .left($0) }.unsubscribe(subscriber)
        store.dispatch(.left(.increment()))
        store.dispatch(.inner(.right(.increment())))
        #expect(subscriber.seen.entries == [0, 1, 1, 2, 0, 5, 6])
        #expect(store.scoped(\.left) { .left($0) }.subscriberCount == 0)
    }

    @Test func temporaryPartKeepsNoSubscriber() {
        var subscriber: Subscriber? = Subscriber()
        weak let released = subscriber
        subscriber.map { store.scoped(\.left) { .left($0) }.subscribe($0) { $0.select(\.count) } }
        #expect(store.scoped(\.left) { .left($0) }.subscriberCount == 1)
        subscriber = nil
        #expect(released == nil)
        store.dispatch(.left(.increment()))
        #expect(store.scoped(\.left) { .left($0) }.subscriberCount == 0)
    }

    @Test func partHasWhatAStoreHas() async throws {
        let left = store.scoped(\.left) { .left($0) }
        left.dispatch([.increment(), .increment()])
        left.weakActions.dispatch(.increment(by: 3))
        left.binding(\.count) { .increment(by: $0) }.value = 10
        #expect(left.state.count == 15)
        let failures = Journal<Bool>()
        left.failures.observe { failures.write($0.error is Counter.Failure) }
        left.dispatch(.fail)
        #expect(failures.entries == [true])
        #expect(try await left.state(after: [.increment(), .increment()]).count == 17)
        await #expect(throws: Counter.Failure.self) { try await left.state(after: [.fail, .increment()]) }
        #expect(left.state.count == 18)
    }

    @Test func partKeepsTheWholeAlive() throws {
        var whole: Store<App>? = try Store(state: App())
        weak let released = whole
        var part = whole?.scoped(\.left) { .left($0) }
        whole = nil
        part?.dispatch(.increment())
        #expect(part?.state.count == 1)
        #expect(released != nil)
        part = nil
        #expect(released == nil)
    }
}
