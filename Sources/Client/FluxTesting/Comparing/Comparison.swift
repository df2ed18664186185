/// Compares two values of any type, member by member.
///
/// What is `Equatable` is compared by its `==`, and looked into only to say where it differs. Anything else is equal if its
/// members are; a value without members, if it prints the same; an object, if it is the same. What is not a number equals
/// what is not a number: it has not changed.
struct Comparison {
    private(set) var differences: [Difference] = []
    /// Whether two values were taken for equal that no `==` says of: both are not a number.
    private var hasMetNotANumber = false

    /// Where `actual` differs from `expected`.
    static func differences(expected: Any, actual: Any) -> [Difference] {
        var comparison = Comparison()
        comparison.compare(expected, actual, at: "")
        return comparison.differences
    }

    static func areEqual(_ one: Any, _ other: Any) -> Bool {
        differences(expected: one, actual: other).isEmpty
    }

    private mutating func compare(_ expected: Any, _ actual: Any, at path: String) {
        let (first, second) = (Mirror(reflecting: expected), Mirror(reflecting: actual))
        // Before the question whether it can be compared: a cast would unwrap it.
        if first.displayStyle == .optional, second.displayStyle == .optional {
            switch (first.children.first?.value, second.children.first?.value) {
            case (nil, nil): return
            case (let one?, let other?): return compare(one, other, at: path)
            default: return note(expected, actual, at: path)
            }
        }
        let equality = Self.equality(of: expected, and: actual)
        guard equality != true else { return }
        if Self.isNotANumber(expected), Self.isNotANumber(actual) { return hasMetNotANumber = true }
        guard type(of: expected) == type(of: actual) else { return note(expected, actual, at: path) }
        let before = differences.count
        let hadMet = hasMetNotANumber
        hasMetNotANumber = false
        compareMembers(of: first, expected, and: second, actual, at: path)
        // Not equal by its own measure, which is what counts, though all members look alike.
        if equality == false, differences.count == before, !hasMetNotANumber {
            note(expected, actual, at: path)
        }
        hasMetNotANumber = hasMetNotANumber || hadMet
    }

    private mutating func compareMembers(
        of first: Mirror, _ expected: Any, and second: Mirror, _ actual: Any, at path: String
    ) {
        // A mirror of the type's own may show less of one value than of another.
        let isSameShape = first.children.count == second.children.count
        switch first.displayStyle {
        case .struct where isSameShape, .tuple where isSameShape:
            for ((label, one), (_, other)) in zip(first.children, second.children) {
                compare(one, other, at: Self.path(path, label ?? "_"))
            }
        case .enum: compareCases(first, expected, second, actual, at: path)
        case .collection: compareElements(first, second, at: path)
        case .dictionary: compareKeys(expected, actual, at: path)
        case .set: compareSets(expected, actual, at: path)
        case .class:
            let isSame = ObjectIdentifier(expected as AnyObject) == ObjectIdentifier(actual as AnyObject)
            if !isSame { note(expected, actual, at: path) }
        default:
            if ValueText.of(expected) != ValueText.of(actual) { note(expected, actual, at: path) }
        }
    }

    private mutating func compareCases(
        _ first: Mirror, _ expected: Any, _ second: Mirror, _ actual: Any, at path: String
    ) {
        guard let (name, one) = first.children.first, let (other, two) = second.children.first, name == other
        else {
            let isSame =
                first.children.isEmpty && second.children.isEmpty
                && ValueText.of(expected) == ValueText.of(actual)
            return isSame ? () : note(expected, actual, at: path)
        }
        compare(one, two, at: Self.path(path, name ?? "_"))
    }

    private mutating func compareElements(_ first: Mirror, _ second: Mirror, at path: String) {
        let (expected, actual) = (first.children.map(\.value), second.children.map(\.value))
        for place in 0..<max(expected.count, actual.count) {
            let path = "\(path)[\(place)]"
            if place >= actual.count {
                note(expected[place], nil, at: path)
            } else if place >= expected.count {
                note(nil, actual[place], at: path)
            } else {
                compare(expected[place], actual[place], at: path)
            }
        }
    }

    private mutating func compareKeys(_ expected: Any, _ actual: Any, at path: String) {
        guard let expected = expected as? [AnyHashable: Any], let actual = actual as? [AnyHashable: Any]
        else { return note(expected, actual, at: path) }
        let keys = Set(expected.keys).union(actual.keys).map { (key: $0, text: ValueText.of($0.base)) }
        for (key, text) in keys.sorted(by: { $0.text < $1.text }) {
            let path = "\(path)[\(text)]"
            if let one = expected[key], let other = actual[key] {
                compare(one, other, at: path)
            } else {
                note(expected[key], actual[key], at: path)
            }
        }
    }

    private mutating func compareSets(_ expected: Any, _ actual: Any, at path: String) {
        guard let expected = expected as? Set<AnyHashable>, let actual = actual as? Set<AnyHashable> else {
            return note(expected, actual, at: path)
        }
        func texts(_ elements: Set<AnyHashable>) -> [String] {
            elements.map { ValueText.of($0.base) }.sorted()
        }
        for missing in texts(expected.subtracting(actual)) {
            differences.append(Difference(path: path, expected: missing, actual: nil))
        }
        for extra in texts(actual.subtracting(expected)) {
            differences.append(Difference(path: path, expected: nil, actual: extra))
        }
    }

    private mutating func note(_ expected: Any?, _ actual: Any?, at path: String) {
        differences.append(
            Difference(path: path, expected: expected.map(ValueText.of), actual: actual.map(ValueText.of)))
    }
}

extension Comparison {
    /// Whether two values are equal by the `==` of their type; nil if they have none, or are of two types.
    private static func equality(of one: Any, and other: Any) -> Bool? {
        guard let one = one as? any Equatable else { return nil }
        func compare<Same: Equatable>(_ one: Same) -> Bool? { (other as? Same).map { one == $0 } }
        return compare(one)
    }

    private static func isNotANumber(_ value: Any) -> Bool {
        (value as? any FloatingPoint)?.isNaN == true
    }

    private static func path(_ path: String, _ member: String) -> String {
        // An unnamed value of a tuple or a case: `.0`, or `_`, which says nothing.
        let name = member == "_" ? "" : member
        if name.isEmpty || name.hasPrefix(".") { return path + name }
        return path.isEmpty ? name : "\(path).\(name)"
    }
}

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
