import Flux
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct SourceTests {
    @Test func sinkKeepsNothing() {
        let sink = Sink<Int>()
        let (early, late) = (Journal<Int>(), Journal<Int>())
        sink.observe { early.write($0) }
        sink.send(1)
        sink.observe { late.write($0) }
        sink.send(2)
        #expect(early.entries == [1, 2])
        #expect(late.entries == [2])
    }

    @Test func variableGivesTheLatestFirstThenEveryChange() {
        let variable = Variable(1)
        variable.value = 2
        let seen = Journal<Int>()
        variable.observe { seen.write($0) }
        variable.value = 3
        variable.modify { $0 += 1 }
        #expect(seen.entries == [2, 3, 4])
        #expect(variable.constant.value == 4)
    }

    @Test func formerValueIsReleasedWhenItsVariableCanBeUsed() {
        final class Parting: Sendable {
            let say: @Sendable () -> Void
            init(_ say: @escaping @Sendable () -> Void) { self.say = say }
            deinit { say() }
        }
        let (variable, seen) = (Variable<Parting?>(nil), Journal<Bool>())
        let parting = { Parting { [weak variable] in seen.write(variable?.value == nil) } }
        variable.value = parting()
        variable.modify { $0 = nil }
        try? variable.modify { (value: inout Parting?) throws(Counter.Failure) in
            value = parting()
            throw Counter.Failure()
        }
        #expect(seen.entries == [true, true])
    }

    @Test func nilIsAValue() {
        let variable = Variable<Int?>(nil)
        let seen = Journal<Int?>()
        variable.signal.skipRepeats().observe { seen.write($0) }
        for value in [nil, 1, 1, nil, nil, 2] { variable.value = value }
        #expect(seen.entries == [nil, 1, nil, 2])
        #expect(variable.value == 2)
    }

    @Test func observersAreCalledInTheOrderOfRegistration() {
        let sink = Sink<Int>()
        let calls = Journal<Int>()
        for number in 0..<5 { sink.observe { _ in calls.write(number) } }
        sink.send(0)
        #expect(calls.entries == [0, 1, 2, 3, 4])
    }

    @Test func mappedConstantIsComputedOnRead() {
        let variable = Variable(2)
        let reads = Atomic<Int>(0)
        let doubled = variable.constant.map { value in
            reads.add(1, ordering: .relaxed)
            return value * 2
        }
        #expect(reads.load(ordering: .relaxed) == 0)
        #expect(doubled.value == 4)
        variable.value = 5
        #expect(reads.load(ordering: .relaxed) == 1)
        #expect(doubled.value == 10)
        #expect(Constant(7).value == 7)
    }

    @Test func noGapAndNoDuplicateUnderConcurrency() {
        let variable = Variable(0)
        let broken = Journal<[Int]>()
        let journals = (0..<40).map { _ in Journal<Int>() }
        onThreads(8) { thread in
            if thread < 4 {
                for _ in 0..<2_000 { variable.modify { $0 += 1 } }
            } else {
                for number in 0..<10 {
                    let journal = journals[(thread - 4) * 10 + number]
                    variable.observe { journal.write($0) }
                }
            }
        }
        for journal in journals {
            let seen = journal.entries
            if seen != Array((seen.first ?? -1)...8_000) { broken.write(seen) }
        }
        #expect(broken.entries.isEmpty)
    }

    @Test func setterInsideAnObserverComesNextForEverybody() {
        let variable = Variable(0)
        let (first, second) = (Journal<Int>(), Journal<Int>())
        variable.observe { [weak variable] value in
            first.write(value)
            if value == 1 { variable?.value = 2 }
        }
        variable.observe { second.write($0) }
        variable.value = 1
        #expect(first.entries == [0, 1, 2])
        #expect(second.entries == [0, 1, 2])
    }

    @Test func observerThatRegistersDuringDeliveryGetsTheLatestAndThenLaterOnes() {
        let variable = Variable(0)
        let inner = Journal<Int>()
        variable.observe { [weak variable] value in
            if value == 1 { variable?.observe { inner.write($0) } }
        }
        variable.value = 1
        variable.value = 2
        #expect(inner.entries == [1, 2])
    }

    @Test func valueThatComesDuringTheFirstCallFollowsIt() {
        let variable = Variable(0)
        let seen = Journal<String>()
        variable.observe { [weak variable] value in
            seen.write("begin \(value)")
            if value == 0, let variable { onThreads(1) { _ in variable.value = 1 } }
            seen.write("end \(value)")
        }
        #expect(seen.entries == ["begin 0", "end 0", "begin 1", "end 1"])
    }

    @Test func derivedSignals() {
        let sink = Sink<Int>()
        let seen = Journal<String>()
        sink.signal.only(where: { $0 > 1 }).observe { seen.write("only \($0)") }
        sink.signal.skip(where: { $0 > 1 }).observe { seen.write("skip \($0)") }
        sink.signal.only(when: { $0 < $1 }).observe { seen.write("rising \($0)") }
        sink.signal.skip(when: { $0 < $1 }).observe { seen.write("falling \($0)") }
        sink.signal.map { $0 * 10 }.observe { seen.write("map \($0)") }
        sink.signal.select { $0 / 2 }.observe { seen.write("half \($0)") }
        for value in [1, 2, 3] { sink.send(value) }
        #expect(
            seen.entries == [
                "skip 1", "rising 1", "falling 1", "map 10", "half 0",
                "only 2", "rising 2", "map 20", "half 1",
                "only 3", "rising 3", "map 30",
            ])
    }
}
