import BusLogic

/// The places of a batch's actions, for somebody to whom those that are not shown are not there. Worked out once for all who
/// have the same roles.
struct SeenPlaces {
    private var known: [Grants: [Int?]] = [:]

    /// The `index` of an action that is shown; nil for the only one. `view` is nil where all are shown, `shown` says which
    /// actions of the batch are.
    mutating func index(of number: Int, seenBy view: Grants?, _ shown: (Grants) -> [Bool]) -> Int? {
        guard let view else { return number }
        if let places = known[view] { return places[number] }
        var count = 0
        let places = shown(view).map { isShown -> Int? in
            if isShown { count += 1 }
            return isShown ? count - 1 : nil
        }
        known[view] = count > 1 ? places : places.map { _ in nil }
        return known[view]![number]
    }
}
