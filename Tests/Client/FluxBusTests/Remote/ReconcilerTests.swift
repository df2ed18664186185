import FluxBus
import Synchronization
import TestSupport
import Testing

/// Optimism must never show what never was: each own action once from its dispatch on, in an order that could be.
@Suite(.serialized) struct ReconcilerTests {
    @Test func actionShowsAtOnceAndIsNotCountedTwice() {
        var store = Reconciler<Ledger>(isOptimistic: true)
        store.changed(to: Ledger(), from: 0, revision: 1)
        store.dispatched(.add(entry: 7), id: 0)
        #expect(store.shown?.entries == [7])
        store.changed(to: Ledger([7]), from: 1, revision: 2)
        #expect(
            store.shown?.entries == [7], "the event comes before the answer, and may hold the action or not")
        store.committed(0, revision: 2)
        #expect(store.shown?.entries == [7])
        #expect(store.pendingCount == 0)
        #expect(store.revision == 2)
    }

    @Test func refusedActionIsRolledBackUnderLaterOnes() {
        var store = Reconciler<Ledger>(isOptimistic: true)
        store.changed(to: Ledger(), from: 0, revision: 1)
        store.dispatched(.add(entry: 5), id: 0)
        store.dispatched(.add(entry: 6), id: 1)
        #expect(store.shown?.entries == [5, 6])
        store.failed(0)
        #expect(store.shown?.entries == [6])
        store.changed(to: Ledger([6]), from: 1, revision: 2)
        store.committed(1, revision: 2)
        #expect(store.shown?.entries == [6])
    }

    /// The bus has committed it all the same, and the next answer may come before it is known here that nobody waits for it.
    @Test func cancelledActionIsNotCountedTwice() {
        var store = Reconciler<SharedCounter>(isOptimistic: true)
        store.changed(to: SharedCounter(), from: 0, revision: 1)
        for id in 0..<3 { store.dispatched(.increment(), id: id) }
        store.changed(to: SharedCounter(count: 2), from: 1, revision: 3)
        store.committed(1, revision: 3)
        #expect(store.shown?.count == 3)
        #expect(store.pendingCount == 1)
        store.failed(0)
        #expect(store.shown?.count == 3)
        store.changed(to: SharedCounter(count: 3), from: 3, revision: 4)
        store.committed(2, revision: 4)
        #expect(store.shown?.count == 3)
        #expect(store.pendingCount == 0)
    }

    @Test func actionThatChangedNothingGoesWithItsAnswer() {
        var store = Reconciler<Ledger>(isOptimistic: true)
        store.changed(to: Ledger([1]), from: 0, revision: 1)
        store.dispatched(.clear, id: 0)
        #expect(store.shown?.entries == [])
        // The daemon's rule left the store alone, so no event comes.
        store.committed(0, revision: 2)
        #expect(store.shown?.entries == [1])
        #expect(store.pendingCount == 0)
    }

    @Test func resetAfterARestartForgetsTheOldNumbers() {
        var store = Reconciler<Ledger>(isOptimistic: true)
        store.changed(to: Ledger([1]), from: 899, revision: 900)
        store.dispatched(.add(entry: 2), id: 0)
        store.reset(to: Ledger(), revision: 3)
        store.failed(0)
        #expect(store.shown?.entries == [])
        #expect(store.revision == 3)
        store.changed(to: Ledger([9]), from: 3, revision: 4)
        #expect(store.shown?.entries == [9])
    }

    /// A state that waits for an answer leaves no revision of an earlier epoch behind, which would mean something else in this one.
    @Test func resetForgetsTheOwnRevisionAtOnce() {
        var store = Reconciler<Ledger>(isOptimistic: true)
        store.changed(to: Ledger([1]), from: 8, revision: 9, ownRevision: 9)
        store.dispatched(.add(entry: 2), id: 0)
        #expect(store.ownRevision == 9)
        store.reset(to: Ledger(), revision: 12)
        #expect(store.ownRevision == nil && !store.hasTaken(through: 12))
    }

    /// A state stands for all commits since the one before it.
    @Test func stateThatWaitsKeepsBackEachOfItsCommits() {
        var store = Reconciler<SharedCounter>(isOptimistic: true)
        store.changed(to: SharedCounter(), from: 0, revision: 1)
        store.dispatched(.increment(), id: 0)
        store.changed(to: SharedCounter(count: 5), from: 1, revision: 6)
        #expect(store.hasTaken(through: 1) && !store.hasTaken(through: 2) && !store.hasTaken(through: 6))
        store.failed(0)
        #expect(store.hasTaken(through: 2))
    }

    /// An answer may tell of a change that has not come yet, or of one that waits: with its revision, a state from before would pass
    /// for the newest.
    @Test func ownRevisionIsThatOfTheConfirmedStateOrUnknown() {
        var store = Reconciler<Ledger>(isOptimistic: true)
        store.reset(to: Ledger([1]), revision: 9)
        store.recordOwnRevision(10)
        #expect(store.ownRevision == nil)
        store.dispatched(.add(entry: 3), id: 0)
        store.changed(to: Ledger([1, 2]), from: 9, revision: 12)
        store.recordOwnRevision(9)
        #expect(store.ownRevision == nil, "a newer state waits")
        store.failed(0)
        store.recordOwnRevision(11)
        #expect(store.confirmed?.entries == [1, 2] && store.ownRevision == 11)
    }

    /// 8,000 actions that are under way: each is applied when it is dispatched and when it is confirmed, and not once for each other.
    @Test func confirmationsCostTheSameHoweverManyArePending() {
        let many = 8000
        let before = Tallied.work.load(ordering: .relaxed)
        var store = Reconciler<Tallied>(isOptimistic: true)
        store.changed(to: Tallied(), from: 0, revision: 1)
        for id in 0..<many { store.dispatched(.add(1), id: id) }
        var sum = 0
        for id in 0..<many {
            // The bus counts as this side does; the state can't be compared but by its coding.
            sum += 1
            store.changed(to: Tallied(sum: sum), from: id + 1, revision: id + 2)
            store.committed(id, revision: id + 2)
            #expect(!store.isStale)
        }
        #expect(store.shown?.sum == many)
        #expect(store.pendingCount == 0)
        #expect(Tallied.work.load(ordering: .relaxed) - before <= 2 * many)
    }

    /// What other clients commit, and refusals, are made up for once, when somebody looks.
    @Test func pendingActionsAreAppliedAgainOnceForAllThatCame() {
        let many = 1000
        var store = Reconciler<Tallied>(isOptimistic: true)
        store.changed(to: Tallied(), from: 0, revision: 1)
        for id in 0..<many { store.dispatched(.add(1), id: id) }
        let before = Tallied.work.load(ordering: .relaxed)
        for id in 0..<100 {
            store.changed(to: Tallied(sum: 1000 * (id + 1) + id), from: 2 * id + 1, revision: 2 * id + 2)
            store.changed(to: Tallied(sum: 1000 * (id + 1) + id + 1), from: 2 * id + 2, revision: 2 * id + 3)
            store.committed(id, revision: 2 * id + 3)
            store.failed(999 - id)
        }
        #expect(store.isStale)
        #expect(Tallied.work.load(ordering: .relaxed) - before <= 1)
        store.refresh()
        #expect(!store.isStale)
        #expect(Tallied.work.load(ordering: .relaxed) - before <= 801)
        #expect(store.shown?.sum == 100_000 + 100 + 800)
        #expect(store.pendingCount == 800)
    }

    @Test func withoutOptimismOnlyTheBusSpeaks() {
        var store = Reconciler<Ledger>(isOptimistic: false)
        store.changed(to: Ledger(), from: 0, revision: 1)
        store.dispatched(.add(entry: 1), id: 0)
        #expect(store.shown?.entries == [])
        store.changed(to: Ledger([1]), from: 1, revision: 2)
        #expect(store.shown?.entries == [1])
    }

    /// A daemon in miniature on the other end of an ordered stream, with other clients, refusals, and readers so slow
    /// that commits are merged.
    @Test(arguments: 0..<60) func everyOwnActionShowsExactlyOnceUntilItIsRefused(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var daemon = DaemonInMiniature()
        var store = Reconciler<Ledger>(isOptimistic: true)
        var own: Set<Int> = []
        store.reset(to: daemon.state, revision: 0)

        for entry in 0..<300 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<3:
                own.insert(entry)
                daemon.requests.append((entry, isRefused: entry % 5 == 0))
                store.dispatched(.add(entry: entry), id: entry)
            case 3..<5: daemon.commitForeign(10_000 + entry)
            case 5..<7: daemon.commitNextRequest()
            default: daemon.deliver(merging: .random(in: 1...4, using: &random), to: &store, own: &own)
            }
            check(store, own)
        }
        while daemon.commitNextRequest() {}
        while daemon.deliver(merging: 1, to: &store, own: &own) { check(store, own) }
        #expect(store.shown == daemon.state)
        #expect(store.pendingCount == 0)
    }

    private func check(_ store: Reconciler<Ledger>, _ own: Set<Int>) {
        let entries = store.shown?.entries ?? []
        #expect(Set(entries).count == entries.count, "an entry stands twice in \(entries)")
        #expect(Set(entries.filter { $0 < 10_000 }) == own, "own entries are missing or left over")
    }
}

/// A state without `==` that counts how often its mutations run.
private struct Tallied: SharedState {
    var sum = 0

    enum Action: Codable, Sendable { case add(Int) }

    static let work = Atomic<Int>(0)
    static let actions = ActionList<Tallied>()

    struct Mutations: Flux.Mutations {
        func commit(_ action: Action, to state: inout Tallied) {
            guard case .add(let amount) = action else { return }
            Tallied.work.add(1, ordering: .relaxed)
            state.sum += amount
        }
    }

    init() {}

    init(sum: Int) { self.sum = sum }
}

extension Ledger {
    init(_ entries: [Int]) {
        self.init()
        for entry in entries { try? Mutations().commit(.add(entry: entry), to: &self) }
    }
}

/// Commits in order, and puts events and answers into one stream as the protocol promises: events up to a revision
/// before the answer that bears it.
private struct DaemonInMiniature {
    private enum Message {
        case change(Ledger, from: Int, revision: Int)
        case committed(id: Int, revision: Int)
        case refused(id: Int)
    }

    private(set) var state = Ledger()
    private var revision = 0
    var requests: [(id: Int, isRefused: Bool)] = []
    private var stream: [Message] = []

    mutating func commitForeign(_ entry: Int) { add(entry) }

    @discardableResult
    mutating func commitNextRequest() -> Bool {
        guard !requests.isEmpty else { return false }
        let request = requests.removeFirst()
        if request.isRefused {
            stream.append(.refused(id: request.id))
        } else {
            add(request.id)
            stream.append(.committed(id: request.id, revision: revision))
        }
        return true
    }

    private mutating func add(_ entry: Int) {
        revision += 1
        state = Ledger(state.entries + [entry])
        stream.append(.change(state, from: revision - 1, revision: revision))
    }

    /// Hands over the next message. Of several, changes that an answer waits behind may be merged into the last one.
    @discardableResult
    mutating func deliver(merging most: Int, to store: inout Reconciler<Ledger>, own: inout Set<Int>) -> Bool
    {
        guard !stream.isEmpty else { return false }
        // A later state may overtake answers, as when a slow reader's commits are merged; never the other way.
        let window = stream.prefix(most)
        if let last = window.lastIndex(where: { if case .change = $0 { true } else { false } }), last > 0 {
            let merged = stream[...last].compactMap {
                if case .change(_, let from, _) = $0 { from } else { nil }
            }
            guard case .change(let state, _, let revision) = stream[last] else { return false }
            let change = Message.change(state, from: merged[0], revision: revision)
            var kept = stream[..<last].filter { if case .change = $0 { false } else { true } }
            kept.insert(change, at: 0)
            stream.replaceSubrange(...last, with: kept)
        }
        switch stream.removeFirst() {
        case .change(let state, let from, let revision):
            store.changed(to: state, from: from, revision: revision)
        case .committed(let id, let revision): store.committed(id, revision: revision)
        case .refused(let id):
            own.remove(id)
            store.failed(id)
        }
        return true
    }
}
