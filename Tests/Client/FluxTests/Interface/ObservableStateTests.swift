import Flux
import Observation
import Synchronization
import Testing

/// What a user interface reads of a store: it is notified of what it has read, and of nothing else.
@MainActor
@Suite(.mainThread, .timeLimit(.minutes(10))) struct ObservableStateTests {
    /// A state with a member that can't be compared.
    struct Desk: State {
        struct Paper: Sendable { let number: Int }

        fileprivate(set) var paper = Paper(number: 0)
        fileprivate(set) var lamp = false

        enum Action: Sendable { case put(Int), switchLamp }

        struct Mutations: Flux.Mutations {
            func commit(_ action: Action, to state: inout Desk) {
                switch action {
                case .put(let number): state.paper = Paper(number: number)
                case .switchLamp: state.lamp.toggle()
                }
            }
        }
    }

    /// How often whoever reads this is notified of a change while `change` happens: once at most, as Observation does it.
    private func notifications(of read: () -> Void, while change: () -> Void) async -> Int {
        let count = Mutex(0)
        withObservationTracking(read) { count.withLock { $0 += 1 } }
        change()
        await settleMainThread()
        return count.withLock { $0 }
    }

    @Test func onlyReadersOfMembersThatChangedAreNotified() async {
        let store = Store<Counter>(state: Counter())
        let counter = ObservableState(store)
        let change = { store.dispatch(.write("a")) }
        #expect(await notifications(of: { _ = counter.count }, while: change) == 0)
        #expect(counter.note == "a")
        #expect(await notifications(of: { _ = counter.note }, while: { store.dispatch(.write("b")) }) == 1)
        #expect(await notifications(of: { _ = counter.note }, while: { store.dispatch(.increment()) }) == 0)
        #expect(await notifications(of: { _ = counter.count }, while: { store.dispatch(.increment()) }) == 1)
        #expect(counter.count == 2)
    }

    @Test func derivedMembersCountOnlyIfTheyChange() async {
        let store = Store<Counter>(state: Counter())
        let counter = ObservableState(store)
        #expect(counter.isEven)
        let add = { (amount: Int) in { store.dispatch(.increment(by: amount)) } }
        #expect(await notifications(of: { _ = counter.isEven }, while: add(2)) == 0)
        #expect(await notifications(of: { _ = counter.isEven }, while: add(1)) == 1)
        #expect(!counter.isEven)
    }

    @Test func readersOfTheWholeAreNotifiedOfEveryChange() async {
        let store = Store<Counter>(state: Counter())
        let counter = ObservableState(store)
        #expect(await notifications(of: { _ = counter.state }, while: { store.dispatch(.write("a")) }) == 1)
        let above = { _ = counter.computed.exceeds(3) }
        #expect(await notifications(of: above, while: { store.dispatch(.increment()) }) == 1)
        #expect(await notifications(of: above, while: { store.dispatch(.touch) }) == 0)
        #expect(counter.state == store.state)
    }

    @Test func whatCannotBeComparedCountsAsChanged() async {
        let store = Store<Desk>(state: Desk())
        let desk = ObservableState(store)
        #expect(await notifications(of: { _ = desk.paper }, while: { store.dispatch(.switchLamp) }) == 1)
        #expect(await notifications(of: { _ = desk.lamp }, while: { store.dispatch(.put(2)) }) == 0)
        #expect(desk.paper.number == 2)
    }

    /// A view that draws itself again whenever it is told, as SwiftUI's do.
    @MainActor private final class Drawing {
        private(set) var shown: [Int] = []
        private let counter: ObservableState<Counter>

        init(_ counter: ObservableState<Counter>) {
            self.counter = counter
            draw()
        }

        func draw() {
            shown.append(
                withObservationTracking {
                    counter.count
                } onChange: { [weak self] in
                    Task { @MainActor in self?.draw() }
                })
        }
    }

    @Test func viewThatReadsAgainIsNotifiedAgainAndShowsTheLast() async throws {
        let store = Store<Counter>(state: Counter())
        let drawing = Drawing(ObservableState(store))
        // From many threads, while the main thread draws.
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { for _ in 0..<100 { store.dispatch(.increment()) } }
            }
        }
        await settleMainThread()
        while drawing.shown.last != 800 { await Task.yield() }
        #expect(drawing.shown == drawing.shown.sorted())
        #expect(Set(drawing.shown).count == drawing.shown.count)
    }

    @Test func keepsItsStoreAndGoesWithIt() async {
        var counter: ObservableState<Counter>?
        weak var store: Store<Counter>?
        do {
            let made = Store<Counter>(state: Counter())
            counter = ObservableState(made)
            store = made
        }
        counter?.actions.increment()
        await settleMainThread()
        #expect(counter?.count == 1)
        weak let watched = counter
        counter = nil
        #expect(watched == nil)
        #expect(store == nil)
    }

    @Test func valueWithAParameterIsFollowed() async {
        let store = Store<Counter>(state: Counter())
        let isHigh = ObservableValue(store.select { $0.exceeds(5) })
        #expect(await notifications(of: { _ = isHigh.value }, while: { store.dispatch(.increment()) }) == 0)
        #expect(
            await notifications(of: { _ = isHigh.value }, while: { store.dispatch(.increment(by: 9)) }) == 1)
        #expect(isHigh.value)
    }
}
