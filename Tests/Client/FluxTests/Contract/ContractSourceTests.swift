import Dispatch
import Flux
import Testing

/// What the documentation promises of signals: latest first, no gap, no duplicate, order of registration, silence after the
/// end.
@Suite(.timeLimit(.minutes(10))) struct ContractSourceTests {
    @Test func everyObserverSeesEveryChangeOnceWhoeverJoinsWhen() {
        let variable = Variable(0)
        let journals = (0..<8).map { _ in Journal<Int>() }
        let scope = DisposableScope()
        onThreads(8) { thread in
            for number in 0..<500 {
                variable.modify { $0 += 1 }
                if number == 250 { variable.observe(until: scope) { journals[thread].write($0) } }
            }
        }
        for journal in journals {
            let entries = journal.entries
            #expect(entries.last == 4000)
            #expect(zip(entries, entries.dropFirst()).allSatisfy { $1 == $0 + 1 })
        }
    }

    @Test func observersHearOneValueBeforeTheNextAlsoIfTheySetIt() {
        let variable = Variable(0)
        let order = Journal<String>()
        variable.observe { value in
            order.write("a\(value)")
            if value == 1 { variable.value = 2 }
        }
        variable.observe { order.write("b\($0)") }
        variable.value = 1
        #expect(order.entries == ["a0", "b0", "a1", "b1", "a2", "b2"])
    }

    @Test func disposalByAnEarlierObserverSilencesALaterOneAtOnce() {
        let sink = Sink<Int>()
        let seen = Journal<String>()
        let later = Variable<Disposable?>(nil)
        sink.signal.observe {
            seen.write("first \($0)")
            later.value?.dispose()
        }
        later.value = sink.signal.observe { seen.write("later \($0)") }
        sink.send(1)
        #expect(seen.entries == ["first 1"])
    }

    @Test func nothingQueuedOnAnExecutorComesAfterDisposal() {
        let manual = ManualExecutor()
        let variable = Variable(0)
        let seen = Journal<Int>()
        let observation = variable.observe(on: manual.executor) { seen.write($0) }
        variable.value = 1
        manual.step()
        observation.dispose()
        manual.runAll()
        #expect(seen.entries == [0])
    }

    @Test func nilIsAValueForEveryWayOfSkipping() {
        let variable = Variable<Int?>(nil)
        let repeats = Journal<Int?>()
        let only = Journal<Int?>()
        let selected = Journal<Int?>()
        variable.signal.skipRepeats().observe { repeats.write($0) }
        variable.signal.only(when: { $0 != $1 }).observe { only.write($0) }
        variable.signal.select { $0 }.observe { selected.write($0) }
        for value in [nil, 1, 1, nil, nil, 2] as [Int?] { variable.value = value }
        let expected: [Int?] = [nil, 1, nil, 2]
        #expect(repeats.entries == expected)
        #expect(only.entries == expected)
        #expect(selected.entries == expected)
    }

    @Test func partsThatCannotBeComparedAreAllTold() {
        struct Opaque: Sendable { var number: Int }
        let variable = Variable(Opaque(number: 1))
        let seen = Journal<Int>()
        variable.signal.select { $0 }.observe { seen.write($0.number) }
        variable.value = Opaque(number: 1)
        #expect(seen.entries == [1, 1])
    }

    @Test func eachObservationHasItsOwnMemory() {
        let sink = Sink<Int>()
        let distinct = sink.signal.skipRepeats()
        let seen = Journal<String>()
        distinct.observe { seen.write("a\($0)") }
        sink.send(1)
        distinct.observe { seen.write("b\($0)") }
        sink.send(1)
        #expect(seen.entries == ["a1", "b1"])
    }

    @Test func burstDuringTheFirstCallOfAnObserverArrivesWholeAndInOrder() {
        let variable = Variable(0)
        let seen = Variable(-1)
        let count = 20_000
        variable.observe { value in
            if value == 0 { onThreads(1) { _ in for number in 1...count { variable.value = number } } }
            seen.modify { last in if value == last + 1 { last = value } }
        }
        #expect(seen.value == count)
    }

    @Test func constantNeverChangesAndItsStreamEnds() async {
        var values: [Int] = []
        for await value in Constant(7).map({ $0 * 2 }).values { values.append(value) }
        #expect(values == [14])
    }
}
