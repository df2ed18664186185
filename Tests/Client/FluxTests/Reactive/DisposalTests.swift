import Dispatch
import Flux
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct DisposalTests {
    @Test func nothingComesAfterDisposalEvenIfQueued() {
        let manual = ManualExecutor()
        let sink = Sink<Int>()
        let seen = Journal<Int>()
        let observation = sink.observe(on: manual.executor) { seen.write($0) }
        sink.send(1)
        sink.send(2)
        manual.step()
        observation.dispose()
        manual.runAll()
        sink.send(3)
        #expect(seen.entries == [1])
        #expect(manual.count == 0)
    }

    @Test func observerThatDisposesOfAnotherDuringDeliverySilencesItAtOnce() {
        let sink = Sink<Int>()
        let seen = Journal<String>()
        let other = DisposableScope()
        sink.observe { _ in
            seen.write("first")
            other.dispose()
        }
        sink.observe(until: other) { _ in seen.write("second") }
        sink.send(1)
        sink.send(2)
        #expect(seen.entries == ["first", "first"])
    }

    @Test func disposingHappensOnce() {
        let calls = Atomic<Int>(0)
        let disposable = Disposable { calls.add(1, ordering: .relaxed) }
        #expect(!disposable.isDisposed)
        onThreads(8) { _ in disposable.dispose() }
        #expect(disposable.isDisposed)
        #expect(calls.load(ordering: .relaxed) == 1)
    }

    @Test func scopeDisposesOfAllAndOfWhatComesLate() {
        let ended = Journal<Int>()
        let scope = DisposableScope()
        for number in 0..<100 { Disposable { ended.write(number) }.add(to: scope) }
        scope.dispose()
        scope.dispose()
        #expect(ended.entries == Array(0..<100))
        scope.add(Disposable { ended.write(100) })
        #expect(ended.entries.last == 100)
        #expect(scope.isDisposed)
    }

    @Test func scopeDisposesWhenItGoes() {
        let variable = Variable(0)
        let seen = Journal<Int>()
        var scope: DisposableScope? = DisposableScope()
        if let scope { variable.observe(until: scope) { seen.write($0) } }
        variable.value = 1
        scope = nil
        variable.value = 2
        #expect(seen.entries == [0, 1])
    }

    @Test func observerOnAnExecutorIsCalledOnceAtATime() {
        let manual = ManualExecutor()
        let sink = Sink<Int>()
        let seen = Journal<String>()
        sink.observe(on: manual.executor) { value in
            seen.write("begin \(value)")
            // The executor goes on with the next piece of work before this one has ended.
            if manual.count > 0 { manual.step() }
            seen.write("end \(value)")
        }
        sink.send(1)
        sink.send(2)
        manual.step()
        #expect(seen.entries == ["begin 1", "end 1", "begin 2", "end 2"])
    }

    @Test func observingOnAnExecutorKeepsTheOrderThoughItRunsConcurrently() async {
        let sink = Sink<Int>()
        let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
        // The global queue runs its work on as many threads as there are.
        sink.observe(on: FluxExecutor { work in DispatchQueue.global().async(execute: work) }) { value in
            continuation.yield(value)
            if value == 999 { continuation.finish() }
        }
        for value in 0..<1_000 { sink.send(value) }
        var seen: [Int] = []
        for await value in stream { seen.append(value) }
        #expect(seen == Array(0..<1_000))
    }

    @Test func scopeLetsGoOfWhatIsDisposedOf() {
        let ended = Journal<Int>()
        let scope = DisposableScope()
        let members = (0..<9).map { number in Disposable { ended.write(number) } }
        for member in members { scope.add(member) }
        for number in [4, 0, 8, 5] { members[number].dispose() }
        #expect(scope.count == 5)
        scope.add(members[4])
        #expect(scope.count == 5)
        scope.dispose()
        #expect(ended.entries == [4, 0, 8, 5, 1, 2, 3, 6, 7])
        #expect(scope.count == 0)
    }

    @Test func scopeDoesNotKeepADisposedMember() {
        let scope = DisposableScope()
        weak var member: Disposable?
        do {
            let disposable = Disposable {}
            member = disposable
            scope.add(disposable)
            disposable.dispose()
        }
        #expect(member == nil)
        #expect(!scope.isDisposed)
    }

    /// Uses a scope as it goes.
    private final class User: Sendable {
        private let scope: DisposableScope

        init(_ scope: DisposableScope) { self.scope = scope }

        deinit { _ = scope.count }
    }

    /// A scope that looks whether an observer is still there may be the last to hold it.
    @Test func whatAScopeLooksForMayUseTheScope() {
        let scope = DisposableScope()
        onThreads(4) { _ in
            for _ in 0..<20_000 {
                // The observer goes with its source, while other threads look for it.
                let (source, user) = (Sink<Int>(), User(scope))
                source.observe(until: scope) { _ in withExtendedLifetime(user) {} }
                withExtendedLifetime(source) {}
            }
        }
        #expect(scope.count <= 32)
    }
}
