/// The fewest of some steps that still come to what `subject` names: many at once are left out at first, then one by one.
func fewest<Step>(of steps: [Step], to subject: String, attempts: Int = 400, _ outcome: ([Step]) -> String?)
    -> [Step]
{
    var kept = steps
    var left = attempts
    var size = max(1, kept.count / 2)
    while size > 0 {
        var index = 0
        while index < kept.count, left > 0 {
            let fewer = Array(kept[..<index] + kept[min(kept.count, index + size)...])
            left -= 1
            if outcome(fewer) == subject { kept = fewer } else { index += size }
        }
        size /= 2
    }
    return kept
}
