import ArgumentParser

/// A point in a bus's history as people write it: `1234`, `now`, or `now-3` for three commits ago.
package enum RevisionArgument: ExpressibleByArgument, CustomStringConvertible, Equatable, Sendable {
    case revision(Int)
    /// This many commits before the newest.
    case beforeNow(Int)

    package init?(argument: String) {
        if argument == "now" {
            self = .beforeNow(0)
        } else if argument.hasPrefix("now-"), let back = Self.number(argument.dropFirst(4)) {
            self = .beforeNow(back)
        } else if let revision = Self.number(argument[...]) {
            self = .revision(revision)
        } else {
            return nil
        }
    }

    /// The written form, as a help text shows it for a default.
    package var description: String {
        switch self {
        case .revision(let revision): "\(revision)"
        case .beforeNow(0): "now"
        case .beforeNow(let back): "now-\(back)"
        }
    }

    /// Digits only: a sign would make `now--3` mean something.
    private static func number(_ text: Substring) -> Int? {
        text.utf8.allSatisfy { 48...57 ~= $0 } ? Int(text) : nil
    }

    /// The revision, given the newest one. Throws a usage failure when the bus has not seen so many.
    package func resolved(newest: Int) throws -> Int {
        switch self {
        case .revision(let revision): return revision
        case .beforeNow(let back):
            guard back <= newest else {
                throw CommandFailure(
                    .usage, "The bus has seen \(newest) commits only: go back by \(newest) at most.")
            }
            return newest - back
        }
    }
}
