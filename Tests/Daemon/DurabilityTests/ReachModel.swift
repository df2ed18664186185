import BusLogic

/// What of the past of types is told whose definitions say how far it reaches back, in the plainest way: all that was ever
/// committed, and for each type the revision behind which all of it is known.
struct ReachModel {
    /// What a commit did to stores of one type.
    struct Deed {
        let revision: Int
        let type: String
        /// How many actions it was, which all come as events; 0 for a store that was created.
        let actions: Int
        /// It was one action to every type.
        let isForAll: Bool
    }

    private let reaches: [String: LogReach]
    private(set) var deeds: [Deed] = []
    private var horizons: [String: Int] = [:]
    /// The snapshots in the log, the oldest first: which of them stay is not for this model to say.
    var snapshots: [(revision: Int, time: Int)] = []

    init(_ reaches: [String: LogReach]) { self.reaches = reaches }

    mutating func note(_ revision: Int, _ type: String, actions: Int, isForAll: Bool = false) {
        deeds.append(Deed(revision: revision, type: type, actions: actions, isForAll: isForAll))
    }

    /// Moves each horizon to the newest snapshot that is old enough, or behind which there are enough commits; but not to the newest
    /// of all, and never back.
    mutating func thin(at now: Int) {
        for (type, reach) in reaches {
            for snapshot in snapshots.dropLast() {
                let commits = deeds.filter { $0.type == type && $0.revision > snapshot.revision }
                let isOld = reach.age.map { $0 == 0 || now - snapshot.time >= $0 } ?? false
                let isMore = reach.commits.map { Set(commits.map(\.revision)).count >= $0 } ?? false
                if isOld || isMore { horizons[type] = max(horizons[type] ?? 0, snapshot.revision) }
            }
        }
    }

    /// The revision from which on all is known of a type.
    func knownSince(_ type: String) -> Int { max(horizons[type] ?? 0, snapshots[0].revision) }

    /// The commits of a type that a history tells.
    func history(of type: String) -> [Int] {
        deeds.filter { $0.type == type && $0.revision > knownSince(type) }.map(\.revision)
    }

    /// The count of a type's store at a revision; nil if that is gone.
    func count(of type: String, at revision: Int) -> Int? {
        if revision < knownSince(type) { return nil }
        return deeds.reduce(0) { $1.type == type && $1.revision <= revision ? $0 + $1.actions : $0 }
    }

    /// The actions of some types after a revision, as `revision type`; those that are `known`, or all there ever were.
    ///
    /// An action to every type is left in the log, and is told to whoever follows several types.
    func actions(of types: [String], after since: Int, known: Bool = false) -> [String] {
        deeds.filter { deed in
            guard types.contains(deed.type), deed.revision > since else { return false }
            let begin =
                deed.isForAll && types.count > 1 ? snapshots[0].revision : knownSince(deed.type)
            return !known || deed.revision > begin
        }
        .flatMap { Array(repeating: "\($0.revision) \($0.type)", count: $0.actions) }.sorted()
    }
}
