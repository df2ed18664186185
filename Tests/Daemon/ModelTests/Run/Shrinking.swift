/// The fewest of some steps that still come to what `subject` names: many at once are left out at first, then one by one.
///
/// - Parameter budget: How many steps are made in all: where it is used up, more are left than need be.
func fewest<Step>(
    of steps: [Step], to subject: String, budget: Int = 40_000, _ outcome: ([Step]) -> String?
) -> [Step] {
    var kept = steps
    var left = budget
    var size = max(1, kept.count / 2)
    while size > 0 {
        var index = 0
        while index < kept.count, left > 0 {
            let fewer = Array(kept[..<index] + kept[min(kept.count, index + size)...])
            left -= fewer.count
            if outcome(fewer) == subject { kept = fewer } else { index += size }
        }
        size /= 2
    }
    return kept
}
