import Flux
import Testing

@Suite(.timeLimit(.minutes(10))) struct ValuesTests {
    @Test func unboundedSequenceLosesNothingAndEndsWithItsSource() async {
        var variable: Variable<Int>? = Variable(0)
        var iterator = variable?.values.makeAsyncIterator()
        for value in 1...100 { variable?.value = value }
        variable = nil
        var seen: [Int] = []
        while let value = await iterator?.next() { seen.append(value) }
        #expect(seen == Array(0...100))
    }

    @Test func newestSequenceKeepsOnlyTheNewest() async {
        let variable = Variable(0)
        var iterator = variable.values(buffering: .newest(2)).makeAsyncIterator()
        for value in 1...100 { variable.value = value }
        #expect(await iterator.next() == 99)
        #expect(await iterator.next() == 100)
    }

    @Test func cancellationEndsTheLoopAndTheObservation() async {
        let sink = Sink<Int>()
        weak var observed: Probe?
        let (started, begin) = AsyncStream.makeStream(of: Void.self)
        let task: Task<Bool, Never>
        do {
            let probe = Probe()
            observed = probe
            let values = sink.signal.map { value in withExtendedLifetime(probe) { value } }.values
            task = Task {
                var iterator = values.makeAsyncIterator()
                begin.finish()
                return await iterator.next() == nil
            }
        }
        for await _ in started {}
        #expect(observed != nil)
        task.cancel()
        #expect(await task.value)
        #expect(observed == nil)
        sink.send(1)
    }

    @Test func droppedLoopLeavesNoObserver() async {
        let variable = Variable(0)
        weak var observed: Probe?
        do {
            let object = Probe()
            observed = object
            let signal = variable.signal.map { value in withExtendedLifetime(object) { value } }
            for await value in signal.values where value == 0 { break }
        }
        #expect(observed == nil)
        variable.value = 1
    }

    @Test func sinkEndsItsSequences() async {
        var sink: Sink<Int>? = Sink()
        var iterator = sink?.values.makeAsyncIterator()
        sink?.send(1)
        sink = nil
        #expect(await iterator?.next() == 1)
        #expect(await iterator?.next() == nil)
    }

    /// Something whose end can be seen.
    private final class Probe: Sendable {}
}
