import BusJSON

/// What a finished history has to satisfy: that of the bus, as the ledgers have it at the end, and what clients were told.
///
/// Replies carry revisions, so that the check is linear: what was answered before something was asked for has a lower one.
struct HistoryChecker {
    /// The ledgers at the end: at which revisions each mark was entered.
    struct Truth {
        private(set) var revisions: [String: [String: [Int]]] = [:]
        /// The marks of each ledger, in order.
        private(set) var order: [String: [(revision: Int, mark: String)]] = [:]
        let revision: Int

        init(_ states: [String: JSON], revision: Int) {
            self.revision = revision
            for (store, state) in states {
                for member in state["marks"]?.object ?? [:] {
                    let places = (member.value.string ?? "").split(separator: " ").map { Int($0) ?? -1 }
                    revisions[store, default: [:]][member.key] = places
                    order[store, default: []] += places.map { ($0, member.key) }
                }
                order[store, default: []].sort { $0.revision < $1.revision }
            }
        }

        /// What a read of a store at a revision shows.
        func shown(_ store: String, at revision: Int) -> BusOperation.Shown {
            let entries = order[store] ?? []
            var (low, high) = (0, entries.count)
            while low < high {
                let middle = (low + high) / 2
                if entries[middle].revision <= revision { low = middle + 1 } else { high = middle }
            }
            return .init(count: low, last: low == 0 ? "" : entries[low - 1].mark)
        }
    }

    /// What is wrong, one sentence each.
    private(set) var problems: [String] = []
    /// Acknowledged, and not there.
    private(set) var lost = 0
    /// There more than once.
    private(set) var doubled = 0
    /// Told nothing certain, and there; and not there.
    private(set) var unknown = (there: 0, absent: 0)

    private let truth: Truth
    /// Each mark's revisions, by store.
    private var places: [String: [String: [Int]]] = [:]

    init(_ operations: [BusOperation], _ truth: Truth) {
        self.truth = truth
        for (store, marks) in truth.revisions {
            for (mark, revisions) in marks { places[mark, default: [:]][store] = revisions }
        }
        for operation in operations { check(operation) }
        let known = Set(operations.filter(\.commits).map(\.mark))
        for (mark, places) in places where !known.contains(mark) {
            problems.append("Nobody has asked for \(mark), which is at \(places).")
        }
    }

    private mutating func fail(_ operation: BusOperation, _ what: String) {
        problems.append(
            "\(operation) \(what); it is at \(places[operation.mark] ?? [:]) of \(truth.revision)")
    }

    private mutating func check(_ operation: BusOperation) {
        if operation.commits { return checkCommit(operation) }
        for case .done(let revision, _) in operation.answers {
            if revision < operation.least { fail(operation, "is older than what was known before") }
            if revision > truth.revision { fail(operation, "is of a revision that there is not") }
            guard let shown = operation.shown, let store = operation.store else { continue }
            let right = truth.shown(store, at: revision)
            if shown != right { fail(operation, "shows \(shown) instead of \(right)") }
        }
    }

    private mutating func checkCommit(_ operation: BusOperation) {
        let found = places[operation.mark] ?? [:]
        let isDoubled = found.values.contains { $0.count > 1 }
        if isDoubled {
            doubled += 1
            return fail(operation, "was committed more than once")
        }
        let revisions = Set(found.values.joined())
        if revisions.count > 1 || found.count > 1 && operation.store != nil {
            return fail(operation, "is in several places")
        }
        if let store = operation.store, let other = found.keys.first, other != store {
            return fail(operation, "is in another store")
        }
        if operation.store == nil, !found.isEmpty, found.count < truth.order.count {
            return fail(operation, "did not reach every ledger")
        }
        if let revision = revisions.first, operation.kind != .will, revision <= operation.least {
            fail(operation, "came before what was known when it was asked for")
        }
        checkAnswers(operation, revisions.first)
    }

    private mutating func checkAnswers(_ operation: BusOperation, _ place: Int?) {
        guard let first = operation.answers.first else {
            if operation.kind == .keyed { fail(operation, "was never answered") }
            if place == nil { unknown.absent += 1 } else { unknown.there += 1 }
            return
        }
        for (index, answer) in operation.answers.enumerated() {
            switch answer {
            case .done(let revision, let isDuplicate):
                guard let place else {
                    lost += 1
                    return fail(operation, "was acknowledged, and is lost")
                }
                // The answer to a will is that to setting it.
                if operation.kind == .will { continue }
                if place != revision { fail(operation, "is not where its answer says") }
                if index > 0, !isDuplicate { fail(operation, "was repeated, and is said to be new") }
                if operation.kind == .once, isDuplicate { fail(operation, "has no key, and is a duplicate") }
            case .refused("unavailable", let isNone):
                if operation.kind == .keyed { fail(operation, "was never answered") }
                if isNone, place != nil { fail(operation, "was said to be in no history") }
                if !isNone, index == 0, first == answer {
                    if place == nil { unknown.absent += 1 } else { unknown.there += 1 }
                }
            case .refused(let code, _): fail(operation, "was refused: \(code)")
            }
        }
    }
}
