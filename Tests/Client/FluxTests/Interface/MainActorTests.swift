import Flux
import Testing

/// Observers that belong to the main actor use what is there as if they were called there, which they are.
@MainActor
@Suite(.mainThread, .timeLimit(.minutes(10))) struct MainActorTests {
    /// Something that only the main actor may touch.
    @MainActor final class Label {
        var text = ""
        private(set) var shown: [String] = []
        var last = 0 { didSet { shown.append("\(last)") } }

        func show(_ text: String) { shown.append(text) }
    }

    @MainActor final class Controller: MainActorSubscriber {
        private(set) var seen: [Int] = []

        func newState(_ count: Int) { seen.append(count) }
    }

    @MainActor final class WholeController: MainActorSubscriber {
        private(set) var seen: [Counter] = []

        func newState(_ state: Counter) { seen.append(state) }
    }

    private let store = Store<Counter>(state: Counter())

    /// Dispatches from a thread of its own, and awaits what that leads to on the main thread.
    private func dispatchElsewhere(_ actions: Counter.Action...) async {
        onThreads(1) { [store] _ in for action in actions { store.dispatch(action) } }
        await settleMainThread()
    }

    @Test func observerUsesWhatBelongsToTheMainActor() async {
        let label = Label()
        let observation = store.signal(\.count).observe(on: MainActor.shared) { label.show("\($0)") }
        await dispatchElsewhere(.increment(), .increment())
        store.dispatch(.increment())
        await settleMainThread()
        #expect(label.shown == ["0", "1", "2", "3"])
        observation.dispose()
        await dispatchElsewhere(.increment())
        #expect(label.shown.count == 4)
    }

    @Test func observerEndsWithItsScope() async {
        let label = Label()
        var scope: DisposableScope? = DisposableScope()
        if let scope {
            store.signal(\.count).observe(until: scope, on: MainActor.shared) { label.show("\($0)") }
        }
        await dispatchElsewhere(.increment())
        scope = nil
        await dispatchElsewhere(.increment())
        #expect(label.shown == ["0", "1"])
    }

    @Test func membersAreBound() async {
        let label = Label()
        store.signal(\.count).bind(to: label, on: MainActor.shared, \.last)
        store.signal(\.count).map { "count \($0)" }.bind(to: label, on: MainActor.shared) { $0.text = $1 }
        await dispatchElsewhere(.increment(by: 4))
        #expect(label.shown == ["0", "4"])
        #expect(label.text == "count 4")
    }

    @Test func bindingEndsWithItsTarget() async {
        var label: Label? = Label()
        let binder = label.map { Binder<Int>($0, on: MainActor.shared) { $0.last = $1 } }
        guard let binder else { return #expect(Bool(false)) }
        let binding = store.signal(\.count).bind(to: binder)
        await dispatchElsewhere(.increment())
        #expect(label?.shown == ["0", "1"])
        #expect(!binding.isDisposed)
        weak let watched = label
        label = nil
        #expect(watched == nil)
        await dispatchElsewhere(.increment())
        #expect(binding.isDisposed)
        #expect(store.signal(\.count).bind(to: binder).isDisposed)
    }

    @Test func subscriberOfTheMainActorSeesItsSelection() async {
        let controller = Controller()
        store.subscribe(controller) { $0.select(\.count) }
        await dispatchElsewhere(.increment(), .write("no count"), .increment())
        #expect(controller.seen == [0, 1, 2])
        store.unsubscribe(controller)
        await dispatchElsewhere(.increment())
        #expect(controller.seen == [0, 1, 2])
        #expect(store.subscriberCount == 0)
    }

    @Test func subscriberOfTheMainActorIsHeldWeakly() async {
        var controller: WholeController? = WholeController()
        if let controller { store.subscribe(controller) }
        await dispatchElsewhere(.increment())
        #expect(controller?.seen.map(\.count) == [0, 1])
        weak let watched = controller
        controller = nil
        #expect(watched == nil)
        await dispatchElsewhere(.increment())
        #expect(store.subscriberCount == 0)
    }

    /// Who asked elsewhere whether a target exists would hold it meanwhile, and might be the one that releases it.
    @Test func targetsOfTheMainActorAreHeldThereOnly() async {
        var (label, controller): (Label?, WholeController?) = (Label(), WholeController())
        let binding = label.map { store.signal(\.count).bind(to: $0, on: MainActor.shared, \.last) }
        if let controller { store.subscribe(controller) }
        (label, controller) = (nil, nil)
        onThreads(1) { [store] _ in store.dispatch(.increment()) }
        #expect(binding?.isDisposed == false)
        #expect(store.subscriberCount == 1)
        await settleMainThread()
        #expect(binding?.isDisposed == true)
        #expect(store.subscriberCount == 0)
    }

    @Test func constantThatIsBoundElsewhereIsShown() async {
        let label = Label()
        onThreads(1) { _ in
            Constant("always").bind(to: label, on: .mainThread) { label, text in
                MainActor.assumeIsolated { label.show(text) }
            }
        }
        await settleMainThread()
        #expect(label.shown == ["always"])
    }
}
