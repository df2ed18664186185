import BusJSON
import BusMachine

/// Leaves out of commits what concerns types that have no past at their revisions. What is told is the same before the log is thinned,
/// meanwhile and afterwards.
final class UntoldPast {
    /// Through which revision nothing is told of types.
    private let types: [String: Int]
    /// What is left out behind one revision and through another one. Commits mostly come in order.
    private var last: (after: Int, through: Int, thinning: Thinning)?

    init(_ types: [String: Int]) { self.types = types }

    /// What is told of an entry, which is this line; nil: nothing.
    func told(
        of entry: JSONObject, _ line: UnsafeRawBufferPointer, at revision: Int
    ) -> JSONObject? {
        if types.isEmpty { return entry }
        switch thinning(at: revision).rest(of: line) {
        case .all: return entry
        case .some(let rest): return (try? JSON(parsing: rest, depthLimit: 1000))?.object
        case .nothing: return nil
        }
    }

    private func thinning(at revision: Int) -> Thinning {
        if let last, last.after < revision, revision <= last.through { return last.thinning }
        let left = types.filter { $0.value >= revision }
        let after = types.values.filter { $0 < revision }.max() ?? -1
        let thinning = Thinning(left.keys)
        last = (after, left.values.min() ?? .max, thinning)
        return thinning
    }
}
