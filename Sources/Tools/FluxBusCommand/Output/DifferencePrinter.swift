import BusJSON

/// Prints what differs, store by store:
///
///     counter/hall     created {"count":0}
///     counter/kitchen  count 2 → 3
///                      even true → false
struct DifferencePrinter {
    private let console: Console
    private let indent: String
    /// Nothing has differed so far.
    private(set) var isEmpty = true
    private var addressWidth = 0

    private static let widestColumn = 32

    init(console: Console, indent: String = "") {
        self.console = console
        self.indent = indent
    }

    /// Prints the differences of one store; for programs each is an object.
    mutating func show(_ differences: [StateDifference], of address: String) throws {
        guard !differences.isEmpty else { return }
        isEmpty = false
        if console.form == .lines {
            for difference in differences {
                try console.line(Self.object(difference, of: address))
            }
            return
        }
        let shown = ScreenText.safe(address)
        addressWidth = max(addressWidth, min(shown.count, Self.widestColumn))
        let used = indent.count + addressWidth + 2
        let text = DifferenceText(style: console.style, room: console.width.map { $0 - used })
        for (index, difference) in differences.enumerated() {
            let label = index == 0 ? shown : ""
            let gap = String(repeating: " ", count: max(0, addressWidth - label.count) + 2)
            try console.line(
                indent + console.style.paint(label, .address) + gap + Self.line(difference, text))
        }
    }

    /// A created or dropped store is shown as such, not as a value at an empty path.
    private static func line(_ difference: StateDifference, _ text: DifferenceText) -> String {
        switch (difference.path.isEmpty, difference.old, difference.new) {
        case (true, nil, let new?):
            text.style.paint("created ", .note) + text.cut(ScreenText.value(new), used: 8)
        case (true, _?, nil): text.style.paint("dropped", .old)
        default: text.text(of: difference)
        }
    }

    static func object(_ difference: StateDifference, of address: String) -> JSON {
        var object: JSONObject = ["store": .string(address), "path": .string(difference.pointer)]
        object["old"] = difference.old
        object["new"] = difference.new
        return .object(object)
    }
}

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
