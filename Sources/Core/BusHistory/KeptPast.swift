import BusJSON
import BusMachine

/// Reduces commits to what the policies of their types keep, so that answers are the same before, during, and after the log
/// is thinned.
final class KeptPast {
    /// The last revision without a past, by type.
    private let horizons: [String: Int]
    /// The thinning for all revisions after one and up to another; commits mostly come in order.
    private var last: (after: Int, through: Int, thinning: Thinning)?

    init(_ horizons: [String: Int]) { self.horizons = horizons }

    /// The kept part of a commit, or nil if none of it is kept. `line` is the commit as JSON.
    func part(of entry: JSONObject, _ line: UnsafeRawBufferPointer, at revision: Int) -> JSONObject? {
        if horizons.isEmpty { return entry }
        switch thinning(at: revision).rest(of: line) {
        case .all: return entry
        case .some(let rest): return (try? JSON(parsing: rest, depthLimit: 1000))?.object
        case .nothing: return nil
        }
    }

    private func thinning(at revision: Int) -> Thinning {
        if let last, last.after < revision, revision <= last.through { return last.thinning }
        let thinned = horizons.filter { $0.value >= revision }
        let after = horizons.values.filter { $0 < revision }.max() ?? -1
        let thinning = Thinning(thinned.keys)
        last = (after, thinned.values.min() ?? .max, thinning)
        return thinning
    }
}
