import ArgumentParser

/// A length of time as people write it: `500ms`, `30s`, `1.5m`, `2h`, `1m30s`, or `never` for one that does not end; a
/// bare number means seconds.
package struct TimeSpan: ExpressibleByArgument, Equatable, Sendable, CustomStringConvertible {
    /// Nil for one that does not end.
    package let duration: Duration?
    private let text: String?

    /// Whether somebody wrote it, so that it is no default.
    package var isGiven: Bool { text != nil }

    package init(duration: Duration?) {
        self.duration = duration
        text = nil
    }

    package init?(argument: String) {
        if argument == "never" {
            (duration, text) = (nil, argument)
            return
        }
        if let seconds = Self.number(argument[...]) {
            duration = .milliseconds(Int((seconds * 1000).rounded()))
            text = "\(argument)s"
            return
        }
        var total = Duration.zero
        var rest = argument[...]
        guard !rest.isEmpty else { return nil }
        while !rest.isEmpty {
            let digits = rest.prefix(while: Self.isDecimal)
            rest = rest.dropFirst(digits.count)
            let unit = rest.prefix { $0.isLetter }
            rest = rest.dropFirst(unit.count)
            guard let number = Self.number(digits), let length = Self.seconds(in: unit) else { return nil }
            total += .milliseconds(Int((number * length * 1000).rounded()))
        }
        duration = total
        text = argument
    }

    /// A plain decimal number, at most a year in any unit, so that no sum overflows.
    private static func number(_ text: Substring) -> Double? {
        guard let first = text.first, first != ".", text.allSatisfy(Self.isDecimal) else { return nil }
        guard let value = Double(text), value.isFinite, value >= 0, value <= 31_536_000_000 else {
            return nil
        }
        return value
    }

    private static func isDecimal(_ character: Character) -> Bool {
        character == "." || (character.isASCII && character.isNumber)
    }

    private static func seconds(in unit: Substring) -> Double? {
        switch unit {
        case "ms": 0.001
        case "s": 1
        case "m": 60
        case "h": 3600
        default: nil
        }
    }

    package var description: String { text ?? duration.map { "\($0.components.seconds)s" } ?? "never" }

    package static func == (left: TimeSpan, right: TimeSpan) -> Bool { left.duration == right.duration }
}
