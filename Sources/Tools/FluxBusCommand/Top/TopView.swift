/// How somebody looks at the bus: what keys change.
package struct TopView: Equatable, Sendable {
    package enum Section: Int, CaseIterable, Sendable {
        case types = 1
        case actions, clients

        var name: String {
            switch self {
            case .types: "types"
            case .actions: "actions"
            case .clients: "clients"
            }
        }
    }

    package var section = Section.actions
    /// The place of the column that rows are sorted by, among those that can be sorted by.
    package var sort = 0
    package var isPaused = false
    package var showsHelp = false
    /// In seconds.
    package var interval = 1.0
    /// What is wrong now, such as a lost connection.
    package var trouble: String?
    /// Commits a second, oldest first.
    package var history: [Double] = []

    private static let intervals = [0.25, 0.5, 1, 2, 5, 10, 30, 60]
    private static let longestHistory = 512

    package init() {}

    package mutating func note(_ rate: Double?) {
        guard let rate else { return }
        history.append(rate)
        history.removeFirst(max(0, history.count - Self.longestHistory))
    }

    /// Does what a key means; false for the one that ends it.
    package mutating func press(_ key: Character) -> Bool {
        let wasHelp = showsHelp
        showsHelp = false
        switch key {
        case "q", "Q": return wasHelp
        case " ": isPaused.toggle()
        case "s", "S": sort += 1
        case "1", "2", "3":
            section = Section(rawValue: key.wholeNumberValue ?? 1) ?? .types
            sort = 0
        case "?", "h": showsHelp = !wasHelp
        case "+", "=": interval = Self.intervals.first { $0 > interval } ?? interval
        case "-", "_": interval = Self.intervals.last { $0 < interval } ?? interval
        default: break
        }
        return true
    }
}

/// Makes keys of the bytes that a terminal sends. Sequences of keys that mean nothing here, such as arrows, are left out
/// as a whole.
package struct KeyReader {
    private enum Place { case outside, escaped, sequence }
    private var place = Place.outside

    package init() {}

    package mutating func keys(in bytes: some Sequence<UInt8>) -> [Character] {
        var keys: [Character] = []
        for byte in bytes {
            switch (place, byte) {
            case (_, 0x1b): place = .escaped
            case (.escaped, UInt8(ascii: "[")), (.escaped, UInt8(ascii: "O")): place = .sequence
            case (.escaped, _): place = .outside
            // The first letter ends it.
            case (.sequence, 0x40...0x7e): place = .outside
            case (.sequence, _): break
            case (.outside, 0x20...0x7e): keys.append(Character(Unicode.Scalar(byte)))
            case (.outside, _): break
            }
        }
        return keys
    }
}
