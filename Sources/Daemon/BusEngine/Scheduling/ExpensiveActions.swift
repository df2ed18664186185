/// Actions that took long on one store lately, and what they cost there: the next one waits at the gate, as a dispatch to a
/// great many stores does. The cost on one store says nothing about another.
final class ExpensiveActions {
    private struct Key: Hashable {
        let store: Int32
        let action: Int
    }

    private var costs: [Key: Int] = [:]
    /// How many are remembered. With one more, all are forgotten, and each takes one turn more until it is known again.
    private static let most = 4096

    var isEmpty: Bool { costs.isEmpty }

    /// 0 where it is not known to be expensive.
    func cost(of action: Int, on store: Int32) -> Int { costs[Key(store: store, action: action)] ?? 0 }

    func note(_ cost: Int, of action: Int, on store: Int32) {
        let key = Key(store: store, action: action)
        guard cost >= DaemonLimits.longRequest else { return costs[key] = nil }
        if costs.count >= Self.most, costs[key] == nil { costs.removeAll() }
        costs[key] = cost
    }
}
