/// A place where a value is not what was expected.
struct Difference: Equatable {
    /// The way to it from the whole: `items[2].name`; empty for the whole itself.
    let path: String
    /// What was expected there; nil: nothing.
    let expected: String?
    /// What is there; nil: nothing.
    let actual: String?

    var line: String {
        let place = path.isEmpty ? "" : "\(path): "
        return "\(place)expected \(expected ?? "nothing"), got \(actual ?? "nothing")"
    }
}

extension [Difference] {
    /// How many are listed before the rest is counted.
    private static var longestList: Int { 20 }

    /// One line for each, indented.
    var text: String {
        var lines = prefix(Self.longestList).map { "\n    \($0.line)" }
        if count > Self.longestList { lines.append("\n    and \(count - Self.longestList) more") }
        return lines.joined()
    }
}
