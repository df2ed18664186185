import ArgumentParser
import BusJSON
import BusProtocol
import FluxBus

/// A point in a bus's history as people write it: `1234`, `now`, `now-3` for three commits ago, or a time, such as
/// `2h`, `yesterday` or `2026-11-21T10:00`.
package enum RevisionArgument: ExpressibleByArgument, CustomStringConvertible, Equatable, Sendable {
    case revision(Int)
    /// This many commits before the newest.
    case beforeNow(Int)
    case time(PastTime)

    package init?(argument: String) {
        if argument == "now" {
            self = .beforeNow(0)
        } else if argument.hasPrefix("now-") {
            let rest = argument.dropFirst(4)
            if let back = Self.number(rest) {
                self = .beforeNow(back)
            } else if let time = PastTime(String(rest)), case .ago = time.form, !rest.hasSuffix("ago") {
                self = .time(time)
            } else {
                return nil
            }
        } else if let revision = Self.number(argument[...]) {
            self = .revision(revision)
        } else if let time = PastTime(argument) {
            self = .time(time)
        } else {
            return nil
        }
    }

    /// The same, for an argument's transformation: says what would be accepted.
    package static func parse(_ text: String) throws -> RevisionArgument {
        guard let revision = RevisionArgument(argument: text) else {
            throw ValidationError(
                "Write a revision (1234, now, now-3 for three commits ago) or a time (\(PastTime.accepted)).")
        }
        return revision
    }

    /// What a shell offers; the rest is to be typed.
    package static let completion = CompletionKind.list(["now", "now-1", "1h", "today", "yesterday"])

    /// The written form, as a help text shows it for a default.
    package var description: String {
        switch self {
        case .revision(let revision): "\(revision)"
        case .beforeNow(0): "now"
        case .beforeNow(let back): "now-\(back)"
        case .time(let time): time.text
        }
    }

    /// Digits only: a sign would make `now--3` mean something.
    private static func number(_ text: Substring) -> Int? {
        text.utf8.allSatisfy { 48...57 ~= $0 } ? Int(text) : nil
    }

    /// The revision. The bus is asked when it depends on the newest, unless that is known, and about a time.
    ///
    /// Throws a usage failure when the bus has not seen so many commits or for a time that can't be placed, and the bus's
    /// `conflict` for one before what is kept.
    func resolved(
        on connection: BusConnection, in session: CommandSession, newest: Int? = nil
    ) throws -> Int {
        switch self {
        case .revision(let revision): return revision
        case .beforeNow(let back):
            let newest = try newest ?? HistoryReader(session, connection).newest()
            guard back <= newest else {
                throw CommandFailure(
                    .usage, "The bus has only \(newest) commits: go back by at most \(newest).")
            }
            return newest - back
        case .time(let time):
            let milliseconds = try time.milliseconds(
                now: session.context.now(), in: session.context.calendar)
            let request = BusRequest("history", ["time": DurationText.seconds(milliseconds), "limit": 1])
            guard let revision = try session.ask(request, on: connection)["since"]?.int else {
                throw CommandFailure(
                    .refused, "This bus can't look up times: name a revision, or upgrade its fluxbusd.")
            }
            return revision
        }
    }
}
