import Testing

/// The checker itself: it refuses histories that are wrong, each in one way.
@Suite struct ClusterCheckerTests {
    private static func operation(
        _ mark: Int, _ kind: Operation.Kind = .keyed, revision: Int? = nil, isDuplicate: Bool = false,
        seen: Int = 0, epoch: String = "e"
    ) -> Operation {
        var operation = Operation(mark: mark, kind: kind, client: "t", started: 0)
        operation.seen = [epoch: seen]
        operation.epoch = epoch
        if let revision {
            operation.answered = 1
            operation.answer = .done(revision: revision, isDuplicate: isDuplicate)
        }
        return operation
    }

    private static func refused(_ mark: Int, _ kind: Operation.Kind, _ code: String) -> Operation {
        var refused = operation(mark, kind)
        refused.answered = 1
        refused.answer = .refused(code)
        return refused
    }

    private static func none(_ mark: Int) -> Operation {
        var none = operation(mark, .once)
        none.isSaidToBeNone = true
        return none
    }

    private static func truth(
        _ revisions: [Int: [Int]], waiting: Set<Int> = [], times: [Int] = [], hasGoneBack: Bool = false
    ) -> ClusterChecker.Truth {
        ClusterChecker.Truth(
            epoch: "e", revisions: revisions, waiting: waiting, times: times, hasGoneBack: hasGoneBack)
    }

    @Test func rightHistoriesPass() throws {
        try ClusterChecker.check(
            [
                Self.operation(0, revision: 1), Self.operation(1, revision: 2, seen: 1),
                Self.operation(2, revision: 1, isDuplicate: true, seen: 9, epoch: "e"), Self.none(3),
                Self.refused(4, .guarded, "rejected"), Self.operation(5, .will, revision: 2),
                Self.operation(6, .will, revision: 2), Self.operation(7, .sync, revision: 5, seen: 5),
                Self.operation(8, .timer, revision: 3),
            ], [(0, 1)],
            Self.truth([0: [1], 1: [2], 2: [1], 6: [7], 8: [8]], waiting: [5], times: [1, 1, 2]))
        // Lost, and its client knows.
        try ClusterChecker.check(
            [Self.operation(0, revision: 1, epoch: "before")], [], Self.truth([:], hasGoneBack: true))
    }

    private static let wrong: [(String, [Operation], [(Int, Int)], ClusterChecker.Truth)] = [
        ("twice", [operation(0, revision: 1)], [], truth([0: [1, 2]])),
        ("never answered", [operation(0)], [], truth([0: [1]])),
        ("lost", [operation(0, revision: 1)], [], truth([:])),
        ("lost in this epoch", [operation(0, revision: 1)], [], truth([:], hasGoneBack: true)),
        ("lost without a loss", [operation(0, revision: 1, epoch: "d")], [], truth([:])),
        ("elsewhere", [operation(0, revision: 1)], [], truth([0: [2]])),
        ("duplicate elsewhere", [operation(0, revision: 1, isDuplicate: true)], [], truth([0: [2]])),
        ("before what was answered", [operation(0, revision: 3, seen: 3)], [], truth([0: [3]])),
        ("stale", [operation(0, .sync, revision: 3, seen: 4)], [], truth([:])),
        ("none and there", [none(0)], [], truth([0: [1]])),
        ("refused and there", [refused(0, .guarded, "rejected")], [], truth([0: [1]])),
        ("refused for nothing", [refused(0, .keyed, "conflict")], [], truth([:])),
        ("will gone", [operation(0, .will, revision: 1)], [], truth([:])),
        ("will ran and waits", [operation(0, .will, revision: 1)], [], truth([0: [1]], waiting: [0])),
        ("timer gone", [operation(0, .timer, revision: 1)], [], truth([:])),
        ("time goes back", [], [], truth([:], times: [2, 1])),
        (
            "out of order", [operation(0, .once, revision: 2), operation(1, .once, revision: 1)],
            [(0, 1)], truth([0: [2], 1: [1]])
        ),
    ]

    @Test func wrongHistoriesAreRefused() {
        for (name, operations, pairs, truth) in Self.wrong {
            #expect(throws: SimulationFailure.self, "\(name)") {
                try ClusterChecker.check(operations, pairs, truth)
            }
        }
    }
}
