import Flux
import Testing

/// Lifetimes: what ends when, and what is let go of.
@Suite(.timeLimit(.minutes(10))) struct ContractScopeTests {
    final class Target: Sendable {
        let seen = Journal<Int>()
    }

    @Test func scopeThatHasEndedEndsAtOnceWhatIsAdded() {
        let scope = DisposableScope()
        scope.dispose()
        scope.dispose()
        let ended = Journal<Int>()
        Disposable { ended.write(1) }.add(to: scope)
        #expect(ended.entries == [1])
        let variable = Variable(0)
        let seen = Journal<Int>()
        variable.observe(until: scope) { seen.write($0) }
        variable.value = 1
        #expect(seen.entries.isEmpty)
    }

    @Test func observerThatEndsItsScopeInItsFirstCallHearsNothingMore() {
        let store = Store<Counter>(state: Counter())
        let scope = DisposableScope()
        let seen = Journal<Int>()
        store.signal(\.count).observe(until: scope) { count in
            seen.write(count)
            scope.dispose()
            if count < 5 { store.actions.increment() }
        }
        #expect(store.state.count == 1)
        #expect(seen.entries == [0])
    }

    @Test func scopeIsNotKeptByItsObservers() {
        let variable = Variable(0)
        let seen = Journal<Int>()
        do {
            let scope = DisposableScope()
            variable.observe(until: scope) { seen.write($0) }
        }
        variable.value = 1
        #expect(seen.entries == [0])
    }

    @Test func disposedObserversAreLetGoOf() {
        let variable = Variable(0)
        weak var plain: Target?
        weak var executed: Target?
        weak var bound: Target?
        weak var late: Target?
        let manual = ManualExecutor()
        do {
            let targets = (0..<4).map { _ in Target() }
            (plain, executed, bound, late) = (targets[0], targets[1], targets[2], targets[3])
            variable.observe { [target = targets[0]] in target.seen.write($0) }.dispose()
            variable.observe(on: .immediate) { [target = targets[1]] in target.seen.write($0) }.dispose()
            variable.bind(to: targets[2]) { [target = targets[2]] in
                target.seen.write($1 + $0.seen.entries.count)
            }
            .dispose()
            variable.observe(on: manual.executor) { [target = targets[3]] in target.seen.write($0) }.dispose()
            manual.runAll()
        }
        #expect(plain == nil && executed == nil && bound == nil && late == nil)
    }

    @Test func nothingIsLeftWhenTheSourceGoesFirst() {
        weak var observed: Target?
        weak var executed: Target?
        weak var bound: Target?
        let kept = DisposableScope()
        do {
            let sink = Sink<Int>()
            let targets = (0..<3).map { _ in Target() }
            (observed, executed, bound) = (targets[0], targets[1], targets[2])
            sink.observe(until: kept) { [target = targets[0]] in target.seen.write($0) }
            sink.observe(until: kept, on: .immediate) { [target = targets[1]] in target.seen.write($0) }
            sink.bind(
                to: Binder<Int>(Target()) { [target = targets[2]] in
                    target.seen.write($1 + $0.seen.entries.count)
                }
            )
            .add(to: kept)
            sink.send(1)
        }
        #expect(observed == nil && executed == nil && bound == nil)
    }

    @Test func bindingLeavesNothingWhenItsSourceGoes() {
        weak var captured: Target?
        let target = Target()
        do {
            let sink = Sink<Int>()
            let helper = Target()
            captured = helper
            sink.bind(to: target) { target, value in
                helper.seen.write(value)
                target.seen.write(value)
            }
            sink.send(1)
        }
        #expect(target.seen.entries == [1])
        #expect(captured == nil)
    }

    @Test func storesAreKeptByNothingThatLooksAtThem() async {
        weak var store: Store<Counter>?
        let views: (Signal<Counter>, Constant<Int>, Binding<Int>, Recorder<Counter>)
        var values: Values<Int>.Iterator
        do {
            let strong = Store<Counter>(state: Counter())
            store = strong
            strong.observe { _ in }
            views = (
                strong.signal, strong.signal(\.count),
                strong.binding(\.count) { .increment(by: $0) }, Recorder(strong)
            )
            values = strong.values(\.count).makeAsyncIterator()
        }
        #expect(store == nil)
        #expect(await values.next() == 0)
        #expect(await values.next() == nil)
        views.2.value = 5
        #expect(views.1.value == 0)
        await #expect(throws: FluxError.self) { try await views.3.replay() }
    }

    @Test func scopeDoesNotGrowByObservationsWhoseSourceHasGone() {
        let scope = DisposableScope()
        let ended = Journal<Int>()
        for number in 0..<1000 {
            let sink = Sink<Int>()
            let observation = sink.observe { _ in }
            observation.add(to: scope)
            if number == 0 { sink.send(1) }
            let store = Store<Counter>(state: Counter())
            store.failures.observe { _ in }.add(to: scope)
            Constant(number).observe { _ in }.add(to: scope)
        }
        Disposable { ended.write(1) }.add(to: scope)
        #expect(scope.count < 100)
        scope.dispose()
        #expect(ended.entries == [1])
    }

    @Test func disposingAndObservingFromEightThreads() {
        let variable = Variable(0)
        let scope = DisposableScope()
        onThreads(8) { thread in
            for number in 0..<60 {
                let observation = variable.observe(until: scope) { _ in }
                variable.value = number
                if number % 2 == 0 { observation.dispose() }
                if thread == 0, number == 40 { scope.dispose() }
            }
        }
        #expect(scope.isDisposed)
        #expect(scope.count == 0)
    }
}
