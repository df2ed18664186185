import BusJSON
import Testing

/// The checker finds what it is there for: each of these histories is wrong in one way, or right.
struct HistoryCheckerTests {
    private static let states: [String: JSON] = [
        "ledger/a": ["marks": ["one": "3", "two": "5", "all": "7"]],
        "ledger/b": ["marks": ["will": "6", "all": "7"]],
    ]

    private func operation(
        _ kind: BusOperation.Kind, _ mark: String, _ store: String?, least: Int = 0,
        _ answers: BusOperation.Answer..., shown: BusOperation.Shown? = nil
    ) -> BusOperation {
        BusOperation(
            kind: kind, mark: mark, store: store, least: least, answers: answers, shown: shown)
    }

    private func done(_ revision: Int, again: Bool = false) -> BusOperation.Answer {
        .done(revision: revision, isDuplicate: again)
    }

    /// What the ledgers need to have been asked for.
    private var usual: [BusOperation] {
        [
            operation(.keyed, "one", "ledger/a", least: 2, done(3), done(3, again: true)),
            operation(.once, "two", "ledger/a", least: 3, done(5)),
            operation(.will, "will", "ledger/b", done(2)),
            operation(.keyed, "all", nil, least: 6, done(7, again: true)),
        ]
    }

    /// - Parameter index: Which of the usual ones is replaced; nil: it is added.
    private func checked(
        _ operation: BusOperation? = nil, at index: Int? = nil, states: [String: JSON] = states
    ) -> HistoryChecker {
        var operations = usual
        if let operation, let index {
            operations[index] = operation
        } else if let operation {
            operations.append(operation)
        }
        return HistoryChecker(operations, .init(states, revision: 7))
    }

    @Test func rightHistoryIsRight() {
        let right = [
            nil, operation(.once, "x", "ledger/a"), operation(.will, "x", "ledger/a"),
            operation(.once, "x", "ledger/a", .refused("unavailable", isNone: true)),
            operation(.once, "x", "ledger/a", .refused("unavailable", isNone: false)),
            operation(.sync, "", nil, least: 5, done(5)),
            operation(.fresh, "", "ledger/a", least: 5, done(6), shown: .init(count: 2, last: "two")),
            operation(.read, "", "ledger/b", least: 0, done(5), shown: .init(count: 0, last: "")),
        ]
        for operation in right {
            let checker = checked(operation)
            #expect(checker.problems == [])
            #expect(checker.lost == 0 && checker.doubled == 0)
        }
    }

    @Test func lostIsFound() {
        let checker = checked(operation(.keyed, "x", "ledger/a", done(4)))
        #expect(checker.lost == 1 && checker.problems.count == 1)
        #expect(checked(operation(.will, "x", "ledger/a", done(4))).lost == 1)
        #expect(checked(operation(.once, "x", "ledger/a", done(4))).lost == 1)
    }

    @Test func doubledIsFound() {
        var states = Self.states
        states["ledger/a"] = ["marks": ["one": "3 4", "two": "5", "all": "7"]]
        let checker = checked(states: states)
        #expect(checker.doubled == 1 && checker.problems.count == 1)
    }

    @Test func willThatRanTwiceIsFound() {
        var states = Self.states
        states["ledger/b"] = ["marks": ["will": "4 6", "all": "7"]]
        #expect(checked(states: states).doubled == 1)
    }

    @Test func wrongOnesAreFound() {
        let wrong: [(BusOperation, Int?, String)] = [
            (operation(.keyed, "one", "ledger/a", least: 3, done(3)), 0, "came before"),
            (operation(.keyed, "one", "ledger/a", least: 2, done(4)), 0, "not where its answer says"),
            (operation(.keyed, "one", "ledger/a", least: 2), 0, "never answered"),
            (operation(.keyed, "one", "ledger/a", least: 2, done(3), done(3)), 0, "said to be new"),
            (operation(.keyed, "one", "ledger/a", least: 2, done(3), done(4, again: true)), 0, "not where"),
            (operation(.keyed, "one", "ledger/b", least: 2, done(3)), 0, "another store"),
            (operation(.once, "two", "ledger/a", least: 3, done(5, again: true)), 1, "has no key"),
            (
                operation(.once, "two", "ledger/a", .refused("unavailable", isNone: true)), 1,
                "said to be in no history"
            ),
            (operation(.once, "two", "ledger/a", .refused("rejected", isNone: false)), 1, "was refused"),
            (operation(.keyed, "all", "ledger/a", least: 6, done(7)), 3, "several places"),
            (operation(.sync, "", nil, least: 5, done(4)), nil, "older than what was known"),
            (operation(.fresh, "", "ledger/a", least: 5, done(4)), nil, "older than what was known"),
            (operation(.read, "", nil, done(8)), nil, "a revision that there is not"),
            (
                operation(.read, "", "ledger/a", done(5), shown: .init(count: 1, last: "one")), nil,
                "instead of"
            ),
            (
                operation(.read, "", "ledger/a", done(4), shown: .init(count: 2, last: "two")), nil,
                "instead of"
            ),
        ]
        for (operation, index, what) in wrong {
            let problems = checked(operation, at: index).problems
            #expect(problems.count == 1 && problems[0].contains(what), "\(what): \(problems)")
        }
    }

    @Test func partOfAnAtomicCommitIsFound() {
        var states = Self.states
        states["ledger/b"] = ["marks": ["will": "6"]]
        #expect(checked(states: states).problems.contains { $0.contains("every ledger") })
    }

    @Test func foreignMarkIsFound() {
        var states = Self.states
        states["ledger/b"] = ["marks": ["will": "6", "all": "7", "ghost": "4"]]
        #expect(checked(states: states).problems.contains { $0.contains("Nobody") })
    }
}
