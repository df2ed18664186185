import Flux
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct BindingTests {
    final class Label: Sendable {
        private let content = Mutex("")
        let history = Journal<String>()

        var text: String {
            get { content.withLock { $0 } }
            set {
                content.withLock { $0 = newValue }
                history.write(newValue)
            }
        }
    }

    @Test func valuesGoToAKeyPathAClosureOrABinder() {
        let store = Store<Counter>(state: Counter())
        let (first, second, third) = (Label(), Label(), Label())
        let text = store.signal(\.count).map { "\($0)" }
        text.bind(to: first, \.text)
        text.bind(to: second) { label, text in label.text = text }
        text.bind(to: Binder(third) { $0.text = $1 })
        store.actions.increment()
        for label in [first, second, third] { #expect(label.history.entries == ["0", "1"]) }
    }

    @Test func targetsAreNotKeptAndBindingsEndWithThem() {
        let variable = Variable("a")
        var label: Label? = Label()
        weak let watched = label
        let binding = label.map { variable.bind(to: $0, \.text) }
        label = nil
        #expect(watched == nil)
        #expect(binding?.isDisposed == false)
        variable.value = "b"
        #expect(binding?.isDisposed == true)
    }

    @Test func bindingOfAPartThatDoesNotChangeEndsWithItsTarget() {
        let store = Store<Counter>(state: Counter())
        let manual = ManualExecutor()
        var label: Label? = Label()
        let text = store.signal(\.note).map { $0 ?? "" }
        let bindings = label.map {
            [text.bind(to: $0, \.text), text.bind(to: $0, on: manual.executor, \.text)]
        }
        manual.runAll()
        label = nil
        store.actions.increment()
        #expect(bindings?.map(\.isDisposed) == [true, true])
        #expect(manual.count == 0)
    }

    @Test func disposedBindingPutsNothing() {
        let variable = Variable("a")
        let label = Label()
        let binding = variable.bind(to: label, \.text)
        binding.dispose()
        variable.value = "b"
        #expect(label.text == "a")
    }

    @Test func whatIsQueuedIsPutAfterTheSourceHasEnded() {
        let manual = ManualExecutor()
        let label = Label()
        var variable: Variable<String>? = Variable("begun")
        let binding = variable?.bind(to: label, on: manual.executor, \.text)
        variable?.value = "done"
        variable = nil
        #expect(binding?.isDisposed == false)
        manual.runAll()
        #expect(label.history.entries == ["begun", "done"])
        #expect(binding?.isDisposed == true)
    }

    @Test func constantIsPutThoughItHasEndedBefore() {
        let manual = ManualExecutor()
        let label = Label()
        Constant("always").bind(to: label, on: manual.executor, \.text)
        manual.runAll()
        #expect(label.history.entries == ["always"])
    }

    @Test func disposedBindingPutsNothingThatIsQueued() {
        let manual = ManualExecutor()
        let label = Label()
        let binding = Constant("always").bind(to: label, on: manual.executor, \.text)
        binding.dispose()
        manual.runAll()
        #expect(label.history.entries == [])
    }

    @Test func twoWayBindingReadsAndDispatches() {
        let store = Store<Counter>(state: Counter())
        let note = store.binding(\.note) { .write($0) }
        let seen = Journal<String?>()
        note.observe { seen.write($0) }
        note.value = "written"
        store.dispatch(.write("dispatched"))
        #expect(note.value == "dispatched")
        note.value = nil
        #expect(store.state.note == nil)
        #expect(seen.entries == [nil, "written", "dispatched", nil])
    }

    @Test func bindingToATargetThatHasGoneIsDisposedOfAtOnce() {
        let manual = ManualExecutor()
        let sink = Sink<String>()
        let variable = Variable("a")
        let silent = Binder<String>(Label()) { $0.text = $1 }
        let waiting = Binder<String>(Label(), on: manual.executor) { $0.text = $1 }
        #expect(sink.bind(to: silent).isDisposed)
        #expect(variable.bind(to: silent).isDisposed)
        #expect(variable.bind(to: waiting).isDisposed)
    }
}
