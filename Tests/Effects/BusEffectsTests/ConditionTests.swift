import BusEffects
import BusJSON
import TestSupport
import Testing

/// For which stores a condition holds, and since when, by the times of commits.
@Suite struct ConditionTests {
    private func tracker(
        _ hold: Duration, _ holding: Set<String> = [], _ beginnings: [ConditionTracker.Beginning] = []
    ) -> ConditionTracker { ConditionTracker(hold: hold, holding: holding, beginnings: beginnings) }

    @Test func whatBecomesTrueIsAnEventOnce() {
        var tracker = tracker(.zero, ["light/a"])
        // It held before.
        var events = tracker.take(all: ["light/a", "light/b", "light/c"], at: 5, 100, by: ["uid": 7])
        #expect(events.map(\.store) == ["light/b", "light/c"])
        #expect(events.map(\.id) == [.init(revision: 5, part: 1), .init(revision: 5, part: 2)])
        #expect(events[0].object["time"] == .double(100) && events[0].object["by"] == ["uid": 7])
        events = tracker.take(began: ["light/b"], ended: [], at: 6, 101, by: [:])
        #expect(events.isEmpty)
        _ = tracker.take(began: [], ended: ["light/b"], at: 7, 102, by: [:])
        events = tracker.take(began: ["light/b"], ended: [], at: 8, 103, by: [:])
        #expect(events.map(\.id) == [.init(revision: 8, part: 1)])
        #expect(tracker.beginnings.count == 3 && !tracker.isClean)
        for beginning in tracker.beginnings { tracker.settled(beginning.id) }
        #expect(tracker.beginnings.isEmpty && tracker.isClean)
    }

    @Test func onlyWhatHasHeldForLongEnoughCounts() {
        var tracker = tracker(.seconds(10))
        _ = tracker.take(began: ["light/a", "light/b"], ended: [], at: 1, 100, by: [:])
        #expect(tracker.nextDue == 110)
        var events = tracker.events(at: 109.999)
        #expect(events.isEmpty)
        _ = tracker.take(began: [], ended: ["light/a"], at: 2, 105, by: [:])
        _ = tracker.take(began: ["light/a"], ended: [], at: 3, 106, by: [:])
        events = tracker.events(at: 110)
        #expect(events.map(\.store) == ["light/b"] && tracker.nextDue == 116)
        events = tracker.events(at: 120)
        #expect(events.map(\.id.revision) == [3] && tracker.nextDue == nil)
    }

    /// What held for long enough counts, also if nobody looked before it ended.
    @Test func anEndComesAfterWhatWasDueBefore() {
        var tracker = tracker(.seconds(10))
        _ = tracker.take(all: ["light/a"], at: 1, 100, by: [:])
        let events = tracker.take(all: [], at: 2, 110, by: [:])
        #expect(events.map(\.id.revision) == [1])
        let more = tracker.take(all: ["light/a"], at: 3, 111, by: [:])
        #expect(more.isEmpty)
        let short = tracker.take(all: [], at: 4, 120.5, by: [:])
        #expect(short.isEmpty && tracker.nextDue == nil)
    }

    /// A start that takes over what is not settled, in any state that the one before may have been in.
    @Test func aStartTakesOverWhatIsNotSettled() {
        func beginning(_ revision: Int, _ store: String, _ time: Double) -> ConditionTracker.Beginning {
            .init(.init(revision: revision, part: 1), store: store, time: time, by: [:])
        }
        var tracker = tracker(
            .seconds(10), ["light/a", "light/b"],
            [
                beginning(9, "light/a", 109), beginning(2, "light/a", 90), beginning(4, "light/b", 100),
                beginning(3, "light/c", 95),
            ])
        // The first of a had been due, since it began again; and so had c, since it no longer holds.
        #expect(tracker.nextDue == 0)
        var events = tracker.events(at: 100)
        #expect(events.map(\.id.revision) == [2, 3])
        events = tracker.events(at: 110)
        #expect(events.map(\.id.revision) == [4] && tracker.nextDue == 119)
    }

    /// A service that is killed at any time, and looks up what happened meanwhile, finds the events of one that is not.
    @Test(arguments: 0..<20)
    func killsMakeNoDifference(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let stores = (0..<4).map { "light/\($0)" }
        var (history, state, time): ([(Double, Set<String>)], Set<String>, Double) = ([], [], 0)
        for _ in 0..<200 {
            time += Double(Int.random(in: 1...8, using: &random))
            state.formSymmetricDifference([stores[Int.random(in: 0..<4, using: &random)]])
            history.append((time, state))
        }
        let end = time + 100
        var whole = tracker(.seconds(10))
        var wanted: [EffectEvent.ID] = []
        for (index, (time, stores)) in history.enumerated() {
            wanted += whole.take(all: stores, at: index + 1, time, by: [:]).map(\.id)
        }
        wanted += whole.events(at: end).map(\.id)

        var found: Set<EffectEvent.ID> = []
        var repeated = 0
        // What is on the bus: up to where, what is not settled.
        var (done, held, index): (Int, [ConditionTracker.Beginning], Int) = (0, [], 0)
        while index < history.count {
            var part = tracker(.seconds(10), done == 0 ? [] : history[done - 1].1, held)
            index = done
            var steps = Int.random(in: 1...60, using: &random)
            while steps > 0, index < history.count {
                steps -= 1
                var events = part.take(all: history[index].1, at: index + 1, history[index].0, by: [:])
                // Between two commits somebody may look at the clock.
                let next = index + 1 < history.count ? history[index + 1].0 : end
                if Bool.random(using: &random) {
                    events += part.events(at: Double.random(in: history[index].0..<next, using: &random))
                }
                for event in events {
                    if !found.insert(event.id).inserted { repeated += 1 }
                    if Bool.random(using: &random) { part.settled(event.id) }
                }
                index += 1
                if Int.random(in: 0..<4, using: &random) == 0 { (done, held) = (index, part.beginnings) }
            }
        }
        var last = tracker(.seconds(10), history[index - 1].1, held)
        if done < index { last = tracker(.seconds(10), done == 0 ? [] : history[done - 1].1, held) }
        for late in done..<index {
            found.formUnion(last.take(all: history[late].1, at: late + 1, history[late].0, by: [:]).map(\.id))
        }
        found.formUnion(last.events(at: end).map(\.id))
        #expect(found == Set(wanted), "Seed \(seed)")
        #expect(repeated < wanted.count * 20)
    }
}
