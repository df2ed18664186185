import BusEffects
import BusJSON
import Foundation
import TestSupport
import Testing

/// The state machine of one effect, by a clock that the test sets.
@Suite struct MachineTests {
    private static let second = 1_000_000_000

    private func effect(_ more: String = "") throws -> Effect {
        try FileTests.load("effect: e\non: { action: rang, of: door/* }\ndo: { run: [/bin/true] }\n" + more)
    }

    private func event(_ revision: Int, _ store: String = "door/a", index: Int = 0) -> EffectEvent {
        EffectEvent(.init(revision: revision, index: index), store: store, object: ["action": "rang"])
    }

    private func started(_ machine: inout EffectMachine, at now: Int = 0) -> [Int] {
        machine.jobs(at: now).map(\.event.revision)
    }

    /// A job ends, and nothing of it is set aside.
    private func finishes(
        _ machine: inout EffectMachine, _ event: EffectEvent, _ outcome: EffectMachine.Outcome, at now: Int
    ) {
        let failure = machine.finished(event, outcome, at: now)
        #expect(failure == nil)
    }

    /// Also where all are handled one after the other.
    @Test func theNewestOfEachStoreIsHandledAfterADowntime() throws {
        var machine = EffectMachine(try effect("limit: { for: all }\n"), done: 0, downtime: .newest)
        for (revision, store) in [(1, "door/a"), (2, "door/b"), (3, "door/a"), (4, "door/c")] {
            machine.take(event(revision, store))
        }
        machine.caughtUp()
        var handled: [Int] = []
        for (revision, store) in [(2, "door/b"), (3, "door/a"), (4, "door/c")] {
            handled += started(&machine)
            finishes(&machine, event(revision, store), .succeeded, at: 0)
        }
        #expect(handled == [2, 3, 4] && machine.takeCounts().skipped == 1 && machine.isIdle)
    }

    /// Events that turn out not to be meant start nothing, so they leave the rate to others.
    @Test func theRateIsForWhatIsStarted() throws {
        var machine = EffectMachine(try effect("limit: { rate: 2/m }\n"), done: 0)
        for revision in 1...9 { machine.take(event(revision)) }
        for revision in 1...7 {
            #expect(started(&machine) == [revision])
            finishes(&machine, event(revision), .notMeant, at: 0)
        }
        #expect(started(&machine) == [8])
        finishes(&machine, event(8), .succeeded, at: 0)
        #expect(started(&machine) == [9])
        finishes(&machine, event(9), .succeeded, at: 0)
        machine.take(event(10))
        #expect(started(&machine).isEmpty && machine.nextDue(at: 0) == 30 * Self.second)
    }

    /// What the watchdog asks: whether something could have been begun, and was not.
    @Test func aJobThatIsNotStartedIsLate() throws {
        var machine = EffectMachine(try effect("retry: { first: 1s }\nlimit: { running: 1 }\n"), done: 0)
        #expect(!machine.isLate(at: 0))
        machine.take(event(1))
        machine.take(event(2, "door/b"))
        #expect(machine.isLate(at: 0))
        machine.isPaused = true
        #expect(!machine.isLate(at: 0))
        machine.isPaused = false
        // The second one waits for the first, which then waits for its retry.
        #expect(started(&machine) == [1] && !machine.isLate(at: 0))
        finishes(&machine, event(1), .failed("no"), at: 0)
        #expect(started(&machine) == [2] && !machine.isLate(at: 0))
        finishes(&machine, event(2, "door/b"), .succeeded, at: 0)
        #expect(!machine.isLate(at: Self.second - 1) && machine.isLate(at: Self.second))
    }

    /// Where the effect stands is told from time to time also while nothing is meant; what has been counted by then is not lost.
    @Test func whatIsCountedIsToldOnce() throws {
        var machine = EffectMachine(try effect(), done: 0)
        var report = PlaceReport()
        func next(isIdle: Bool) -> JSONObject? {
            report.next(&machine, held: [], isClean: true, isIdle: isIdle)
        }
        #expect(next(isIdle: false)?["done"] == 0)
        machine.take(event(1))
        #expect(started(&machine) == [1])
        finishes(&machine, event(1), .succeeded, at: 0)
        #expect(next(isIdle: true) == nil)
        #expect(next(isIdle: false)?["succeeded"] == 1)
        #expect(next(isIdle: false) == nil)
        machine.passed(EffectLimits.idleCommits - 1)
        #expect(next(isIdle: true) == nil)
        machine.passed(EffectLimits.idleCommits)
        let told = next(isIdle: true)
        #expect(told?["done"] == .int(EffectLimits.idleCommits) && told?["succeeded"] == 0)
    }

    @Test func aStoreWaitsForItsJobAndOthersDoNot() throws {
        var machine = EffectMachine(try effect("limit: { running: 2 }\n"), done: 0)
        for (revision, store) in [(1, "door/a"), (2, "door/a"), (3, "door/b"), (4, "door/c")] {
            machine.take(event(revision, store))
        }
        #expect(started(&machine) == [1, 3])
        finishes(&machine, event(3, "door/b"), .succeeded, at: 0)
        #expect(started(&machine) == [4])
        #expect(machine.done == 0)
        finishes(&machine, event(1), .succeeded, at: 0)
        #expect(machine.done == 1 && !machine.isClean)
        #expect(started(&machine) == [2])
        _ = machine.finished(event(2), .succeeded, at: 0)
        #expect(machine.done == 3)
        _ = machine.finished(event(4, "door/c"), .succeeded, at: 0)
        // Another action of the last commit may follow.
        #expect(machine.done == 3)
        machine.passed(4)
        #expect(machine.done == 4 && machine.isClean && machine.isIdle)
        let counts = machine.takeCounts()
        #expect(counts.succeeded == 4)
    }

    @Test func allOneAfterTheOther() throws {
        var machine = EffectMachine(try effect("limit: { for: all }\n"), done: 0)
        machine.take(event(1, "door/a"))
        machine.take(event(2, "door/b"))
        #expect(started(&machine) == [1])
        _ = machine.finished(event(1, "door/a"), .succeeded, at: 0)
        #expect(started(&machine) == [2])
    }

    @Test func whatFailsIsTriedAgainAndThenSetAside() throws {
        var machine = EffectMachine(try effect("retry: { times: 2, first: 1s, most: 90s }\n"), done: 0)
        machine.take(event(1))
        machine.take(event(2))
        var now = 0
        for wait in [1, 2] {
            #expect(started(&machine, at: now) == [1])
            finishes(&machine, event(1), .failed("no"), at: now)
            #expect(machine.nextDue(at: now) == now + wait * Self.second)
            #expect(started(&machine, at: now + wait * Self.second - 1) == [])
            now += wait * Self.second
        }
        #expect(started(&machine, at: now) == [1])
        let failure = machine.finished(event(1), .failed("no"), at: now)
        #expect(failure?.id == .init(revision: 1) && failure?.store == "door/a" && failure?.action == "rang")
        #expect(failure?.reason == "no" && failure?.tries == 3)
        // Those behind it continue, but only what the bus knows is done.
        #expect(started(&machine, at: now) == [2])
        _ = machine.finished(event(2), .succeeded, at: now)
        #expect(machine.done == 0)
        machine.settled(.init(revision: 1))
        machine.passed(2)
        #expect(machine.done == 2)
        let counts = machine.takeCounts()
        #expect(counts.retried == 2 && counts.failed == 1 && counts.succeeded == 1)
    }

    /// The wait is as long as the one who failed asks for, between the effect's own wait and its longest.
    @Test(arguments: [(0, 2), (1, 2), (5, 5), (90, 90), (91, 90), (.max / Self.second, 90)])
    func whoAsksForTimeIsGivenIt(_ asked: Int, _ wait: Int) throws {
        var machine = EffectMachine(try effect("retry: { first: 2s, most: 90s }\n"), done: 0)
        machine.take(event(1))
        #expect(started(&machine) == [1])
        finishes(&machine, event(1), .failed("no", after: .seconds(asked)), at: 0)
        #expect(machine.nextDue(at: 0) == wait * Self.second)
    }

    @Test func whatCanNotSucceedIsNotTriedAgain() throws {
        var machine = EffectMachine(try effect(), done: 0)
        machine.take(event(1))
        _ = started(&machine)
        let failure = machine.finished(event(1), .refused("no"), at: 0)
        #expect(failure?.tries == 1)
    }

    @Test func aCommitIsDoneWithItsLastAction() throws {
        var machine = EffectMachine(try effect(), done: 4)
        machine.take(event(5))
        machine.take(event(5, index: 1))
        _ = started(&machine)
        _ = machine.finished(event(5), .succeeded, at: 0)
        #expect(machine.done == 4 && !machine.isClean)
        _ = started(&machine)
        _ = machine.finished(event(5, index: 1), .succeeded, at: 0)
        machine.passed(5)
        #expect(machine.done == 5 && machine.isClean)
    }

    @Test func aRateSpreadsStarts() throws {
        var machine = EffectMachine(try effect("limit: { running: 64, rate: 2/s }\n"), done: 0)
        for revision in 1...6 { machine.take(event(revision, "door/\(revision)")) }
        let begin = 1000 * Self.second
        var starts: [Int] = []
        var now = begin
        while starts.count < 6 {
            for _ in started(&machine, at: now) { starts.append(now - begin) }
            guard starts.count < 6 else { break }
            now = try #require(machine.nextDue(at: now))
        }
        #expect(starts == [0, 0, 1, 2, 3, 4].map { $0 * Self.second / 2 })
    }

    @Test func aPausedEffectStartsNothing() throws {
        var machine = EffectMachine(try effect(), done: 0)
        machine.isPaused = true
        machine.take(event(1))
        #expect(started(&machine).isEmpty && machine.nextDue(at: 0) == nil)
        machine.isPaused = false
        #expect(started(&machine) == [1])
    }

    @Test func afterADowntimeOnlyTheNewestOfAStoreCounts() throws {
        var machine = EffectMachine(try effect(), done: 0, downtime: .newest)
        for (revision, store) in [(1, "door/a"), (2, "door/b"), (3, "door/a"), (4, "door/a")] {
            machine.take(event(revision, store))
        }
        #expect(started(&machine).isEmpty)
        machine.caughtUp()
        #expect(started(&machine) == [2, 4])
        machine.take(event(5, "door/a"))
        _ = machine.finished(event(2, "door/b"), .succeeded, at: 0)
        #expect(machine.done == 3)
        _ = machine.finished(event(4, "door/a"), .succeeded, at: 0)
        #expect(started(&machine) == [5])
        let counts = machine.takeCounts()
        #expect(counts.skipped == 2)
    }

    /// What a service had taken in that was killed did not happen while none ran.
    @Test(arguments: [(Effect.Downtime.none, [1, 2]), (.newest, [1, 2, 5]), (.all, [1, 2, 3, 4, 5])])
    func whatHappenedBeforeADowntimeIsNotOfIt(_ downtime: Effect.Downtime, _ revisions: [Int]) throws {
        var machine = EffectMachine(
            try effect("limit: { for: all }\n"), done: 0, downtime: downtime, since: 2)
        for revision in 1...5 { machine.take(event(revision)) }
        machine.caughtUp()
        machine.take(event(6))
        var handled: [Int] = []
        while let job = machine.jobs(at: 0).first {
            handled.append(job.event.revision)
            finishes(&machine, job.event, .succeeded, at: 0)
        }
        machine.passed(6)
        #expect(handled == revisions + [6] && machine.done == 6)
    }

    @Test func aStoreForEveryEventDoesNotFillTheMemory() throws {
        var machine = EffectMachine(try effect("limit: { running: 64 }\n"), done: 0, downtime: .newest)
        for revision in 1...EffectLimits.window { machine.take(event(revision, "door/\(revision)")) }
        let jobs = machine.jobs(at: 0)
        #expect(jobs.count == 64)
    }

    /// Random events, results and kills: a model counts what was done. Nothing is lost, a store's events come in order (again
    /// from `done` after a kill), and nothing behind `done` was done by one who says that it is clean.
    @Test(arguments: 0..<20)
    func nothingIsLostOverKills(_ seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let effect = try effect("limit: { running: 3 }\nretry: { times: 3, first: 10ms, most: 20ms }\n")
        let log = (1...200).map { event($0, "door/\(Int.random(in: 0..<5, using: &random))") }
        var (done, now) = (0, 0)
        var handled: [[Int]] = Array(repeating: [], count: 5)
        var (settled, began): (Set<Int>, Set<Int>) = ([], [])
        while done < 200 {
            var machine = EffectMachine(effect, done: done)
            var rest = log.dropFirst(done)[...]
            var running: [EffectMachine.Job] = []
            let isKilled = Int.random(in: 0..<3, using: &random) > 0
            var steps = isKilled ? Int.random(in: 1..<60, using: &random) : .max
            while steps > 0, !(rest.isEmpty && machine.isIdle) {
                steps -= 1
                now += Int.random(in: 0..<5_000_000, using: &random)
                if let next = rest.first, Bool.random(using: &random) {
                    machine.take(next)
                    rest = rest.dropFirst()
                }
                for job in machine.jobs(at: now) {
                    running.append(job)
                    began.insert(job.event.revision)
                }
                guard !running.isEmpty else { continue }
                let job = running.remove(at: Int.random(in: 0..<running.count, using: &random))
                let isRight = Int.random(in: 0..<4, using: &random) > 0
                if isRight {
                    handled[Int(job.event.store.dropFirst(5))!].append(job.event.revision)
                    settled.insert(job.event.revision)
                }
                if let failure = machine.finished(job.event, isRight ? .succeeded : .failed("no"), at: now) {
                    settled.insert(failure.id.revision)
                    machine.settled(failure.id)
                }
                if machine.isClean { #expect(began.allSatisfy { $0 <= machine.done || $0 <= done }) }
            }
            if rest.isEmpty, machine.isIdle { machine.passed(200) }
            #expect(machine.done >= done)
            done = machine.done
            #expect((1...200).prefix(done).allSatisfy(settled.contains), "seed \(seed)")
            began = []
        }
        for events in handled {
            // Each run of it ascends; where it goes back, it was killed.
            var first: Set<Int> = []
            for event in events where first.insert(event).inserted { #expect(event == first.max()) }
        }
    }

    @Test func anEffectThatCausesItselfIsFound() {
        var ancestry = Ancestry()
        let rate = Effect.Rate(count: 3, time: .seconds(1))
        var found: Int?
        for turn in 1...20 {
            // Another one stands between.
            _ = ancestry.note(
                turn * 10 + 5, from: turn * 10, by: "other", rate: rate, at: turn * Self.second / 10)
            if ancestry.note(
                (turn + 1) * 10, from: turn * 10 + 5, by: "e", rate: rate, at: turn * Self.second / 10)
            {
                found = found ?? turn
            }
        }
        #expect(found == 5)
        // What others cause, and a slow circle, are no loop.
        var calm = Ancestry()
        for turn in 1...50 {
            let isOwn = calm.note(turn * 10 + 5, from: turn * 10, by: "e", rate: rate, at: turn)
            let isFast = calm.note(
                100_000 + turn + 1, from: 100_000 + turn, by: "slow", rate: rate, at: turn * Self.second)
            #expect(!isOwn && !isFast)
        }
    }
}
