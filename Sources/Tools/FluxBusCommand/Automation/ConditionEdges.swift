import BusJSON
import FluxBus

/// On which stores a condition holds, from the events of a subscription with `where`; and on which it has just begun to.
///
/// The memory it takes grows with the stores on which it holds, by their addresses.
struct ConditionEdges {
    private var holding: Set<String>
    /// What has come so far of a reset in parts: at its end these are all.
    private var renewed: Set<String>?
    /// The first event tells where it holds already; on these it did not begin to.
    private var isFirst: Bool

    /// - Parameter holding: Where it held before the first event; nil lets that say it.
    init(holding: Set<String>?) {
        self.holding = holding ?? []
        isFirst = holding == nil
    }

    /// Folds one `change`: the stores on which the condition holds from then on, with their states, and those where it no longer does.
    mutating func fold(_ event: JSONObject) -> (began: [(store: String, state: JSON)], ended: [String]) {
        if event["reset"]?.bool == true { renewed = [] }
        var ended: [String] = []
        for store in (event["dropped"]?.array ?? []).compactMap(\.string) {
            renewed?.remove(store)
            if holding.remove(store) != nil { ended.append(store) }
        }
        var began: [(store: String, state: JSON)] = []
        for member in event["states"]?.object?.members ?? [] {
            renewed?.insert(member.key)
            if holding.insert(member.key).inserted, !isFirst { began.append((member.key, member.value)) }
        }
        guard event["more"]?.bool != true else { return (began, ended) }
        isFirst = false
        if let all = renewed {
            ended += holding.subtracting(all)
            holding = all
            renewed = nil
        }
        return (began, ended)
    }
}

/// Stores on which a condition holds, and has to for a while longer.
struct ConditionHolds {
    /// What is asked about at a time.
    private static let mostQuestions = 16

    private let span: Duration
    private var held: [String: (number: Int, occurrence: Occurrence)] = [:]
    /// In the order in which they are due, which is that in which they came; some are not held any more.
    private var order: ArraySlice<(store: String, number: Int, due: Deadline)> = []
    private var asked: [Int: (store: String, number: Int)] = [:]
    private var count = 0

    init(for span: Duration) { self.span = span }

    /// When the next one is due; never while enough is asked about.
    var nextDue: Deadline { asked.count < Self.mostQuestions ? order.first?.due ?? .never : .never }

    /// The first revision at which one began.
    var unfinished: Int? { held.values.map(\.occurrence.revision).min() }

    mutating func begin(_ occurrence: Occurrence) {
        count += 1
        held[occurrence.target] = (count, occurrence)
        order.append((occurrence.target, count, Deadline(after: span)))
    }

    mutating func end(_ store: String) {
        held[store] = nil
        // So that one that flickers takes no more memory than one that does not.
        if order.count > 2 * held.count + Self.mostQuestions {
            order.removeAll { held[$0.store]?.number != $0.number }
        }
    }

    /// What is due, to be asked of the bus: the answer to a question comes behind everything that has happened until then.
    ///
    /// - Parameter ask: Asks whether it holds on a store, and gives the question's number.
    mutating func askAboutDue(_ ask: (String) -> Int) {
        while asked.count < Self.mostQuestions, let first = order.first, first.due.hasPassed {
            _ = order.popFirst()
            guard held[first.store]?.number == first.number else { continue }
            asked[ask(first.store)] = (first.store, first.number)
        }
    }

    /// Takes an answer; what it is about, if the condition has held all the time.
    mutating func answered(_ reply: JSONObject) -> Occurrence? {
        guard let question = reply["id"]?.int.flatMap({ asked.removeValue(forKey: $0) }),
            let hold = held[question.store], hold.number == question.number
        else { return nil }
        held[question.store] = nil
        return reply["states"]?[question.store].map(hold.occurrence.reading)
    }

    /// The connection on which was asked is gone.
    mutating func forgetQuestions() {
        order = ArraySlice(asked.values.map { ($0.store, $0.number, Deadline(after: .zero)) } + order)
        asked = [:]
    }
}
