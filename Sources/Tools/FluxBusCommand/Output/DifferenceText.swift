import BusJSON

/// One difference of a state in a line: `count 2 → 3`, `log[1] + "x"`, `note − "old"`.
struct DifferenceText {
    let style: Style
    /// The columns available; nil for any number.
    let room: Int?

    func text(of difference: StateDifference) -> String {
        let path = ScreenText.path(difference.path)
        let label = path.isEmpty ? "" : path + " "
        switch (difference.old, difference.new) {
        case (let old?, let new?):
            // Half of the remaining columns for each side, so that both can be seen.
            let side = room.map { max(8, ($0 - label.count - 3) / 2) }
            let before = ScreenText.value(old)
            let after = ScreenText.value(new)
            return label + style.paint(side.map { ScreenText.cut(before, to: $0) } ?? before, .old) + " → "
                + style.paint(side.map { ScreenText.cut(after, to: $0) } ?? after, .new)
        case (nil, let new?):
            return label + style.paint("+ " + cut(ScreenText.value(new), used: label.count + 2), .new)
        case (let old?, nil):
            return label + style.paint("− " + cut(ScreenText.value(old), used: label.count + 2), .old)
        case (nil, nil): return label
        }
    }

    /// `text` cut to the columns left after `used`, unless that is too little to be useful.
    func cut(_ text: String, used: Int) -> String {
        guard let room, room - used >= 8 else { return text }
        return ScreenText.cut(text, to: room - used)
    }
}
