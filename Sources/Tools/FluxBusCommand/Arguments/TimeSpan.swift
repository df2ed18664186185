import ArgumentParser
import BusProtocol

/// A length of time as ``DurationText`` has it, or `never` for one that does not end.
package struct TimeSpan: ExpressibleByArgument, Equatable, Sendable, CustomStringConvertible {
    /// Nil for one that does not end.
    package let duration: Duration?
    private let text: String?
    /// A thousand years: with any other it makes a time that a clock can have.
    private static let longest = 31_536_000_000_000

    /// Whether somebody wrote it, so that it is no default.
    package var isGiven: Bool { text != nil }

    package init(duration: Duration?) {
        self.duration = duration
        text = nil
    }

    package init?(argument: String) {
        if argument == "never" {
            duration = nil
        } else {
            guard let time = DurationText.milliseconds(argument), time <= Self.longest else { return nil }
            duration = .milliseconds(time)
        }
        let isBare = argument.last.map { $0.isASCII && $0.isNumber } ?? false
        text = isBare ? "\(argument)s" : argument
    }

    package var description: String { text ?? duration.map { "\($0.components.seconds)s" } ?? "never" }

    package static func == (left: TimeSpan, right: TimeSpan) -> Bool { left.duration == right.duration }
}
