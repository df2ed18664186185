/// The fewest of some steps that still come to what `subject` names: many at once are left out at first, then one by one until none
/// can be spared. The last ones go first, as what an earlier one does may be needed by a later one only.
///
/// - Parameters:
///   - budget: How many steps are made in all: where it is used up, more are left than need be.
///   - outcome: What some steps come to, and how many were made until then.
func fewest<Step>(
    of steps: [Step], to subject: String, budget: Int = 40_000,
    _ outcome: ([Step]) -> (subject: String?, made: Int)
) -> [Step] {
    var kept = steps
    var left = budget
    var size = max(1, kept.count / 2)
    while size > 0, left > 0 {
        let before = kept.count
        var end = kept.count
        while end > 0, left > 0 {
            let start = max(0, end - size)
            let fewer = Array(kept[..<start] + kept[end...])
            let (found, made) = outcome(fewer)
            left -= made
            if found == subject { kept = Array(fewer.prefix(made)) }
            end = min(start, kept.count)
        }
        if size > 1 { size /= 2 } else if kept.count == before { size = 0 }
    }
    return kept
}
