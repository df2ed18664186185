import BusEngine
import BusProtocol
import BusSource

/// Reads the limits of the configuration: counts are integers, sizes may have a unit.
enum LimitReading {
    private struct Entry: Sendable {
        let name: String
        let isSize: Bool
        /// Below, the daemon could not work; above, the limit would not limit anything.
        let range: ClosedRange<Int>
        let set: @Sendable (inout Limits, Int) -> Void

        init(
            name: String, isSize: Bool, range: ClosedRange<Int>,
            path: WritableKeyPath<Limits, Int> & Sendable
        ) {
            (self.name, self.isSize, self.range) = (name, isSize, range)
            set = { $0[keyPath: path] = $1 }
        }

        /// What each user may have at most: none is a limit, too.
        init(ofUser name: String, isSize: Bool, path: WritableKeyPath<UserLimits, Int?> & Sendable) {
            (self.name, self.isSize) = (name, isSize)
            range = 0...(isSize ? 1 << 50 : 100_000_000)
            set = { $0.daemon.user[keyPath: path] = $1 }
        }
    }

    private static let entries = [
        // A line holds at least what surrounds the smallest state, and a definition.
        Entry(name: "line", isSize: true, range: 4096...(256 << 20), path: \.daemon.line),
        // Every level costs stack when a value is read.
        Entry(name: "depth", isSize: false, range: 8...512, path: \.daemon.depth),
        Entry(name: "state", isSize: true, range: 256...(256 << 20), path: \.bus.state),
        Entry(name: "stores", isSize: false, range: 1...100_000_000, path: \.bus.stores),
        // The kernel's own bound of descriptors in one process.
        Entry(name: "connections", isSize: false, range: 1...1_000_000, path: \.daemon.connections),
        Entry(name: "subscriptions", isSize: false, range: 1...1_000_000, path: \.daemon.subscriptions),
        Entry(name: "outbox", isSize: true, range: 4096...(1 << 30), path: \.daemon.outbox),
        Entry(name: "batch", isSize: false, range: 1...1_000_000, path: \.bus.batch),
        // One action on a few stores at least.
        Entry(name: "commit", isSize: false, range: 1000...1_000_000_000, path: \.bus.commit),
        // The daemon itself takes some 12 MiB: with less, every commit would be refused.
        Entry(name: "memory", isSize: true, range: (16 << 20)...(1 << 50), path: \.daemon.memory),
    ]

    private static let userEntries = [
        Entry(ofUser: "connections", isSize: false, path: \.connections),
        Entry(ofUser: "subscriptions", isSize: false, path: \.subscriptions),
        Entry(ofUser: "shapes", isSize: false, path: \.shapes),
        Entry(ofUser: "stores", isSize: false, path: \.stores),
        Entry(ofUser: "timers", isSize: false, path: \.timers),
        Entry(ofUser: "wills", isSize: true, path: \.wills),
        Entry(ofUser: "outboxes", isSize: true, path: \.outboxes),
    ]

    static let names = entries.map(\.name) + ["user"]
    static let userNames = userEntries.map(\.name)

    static func set(_ name: String, to value: LocatedValue, in limits: inout Limits) throws(SourceError) {
        if name == "user" {
            throw value.failure(
                "limits.user is what each user may have; set its members one by one, as in user: { connections: 100 }, in the configuration."
            )
        }
        guard let entry = entries.first(where: { $0.name == name }) else {
            throw value.failure("\(name) is not a limit; \(suggestion(for: name, among: names))")
        }
        try set(entry, "limits.\(name)", to: value, in: &limits)
    }

    /// A member of `limits.user`.
    static func setForUser(
        _ name: String, to value: LocatedValue, in limits: inout Limits
    ) throws(SourceError) {
        guard let entry = userEntries.first(where: { $0.name == name }) else { return }
        try set(entry, "limits.user.\(name)", to: value, in: &limits)
    }

    private static func set(
        _ entry: Entry, _ shown: String, to value: LocatedValue, in limits: inout Limits
    ) throws(SourceError) {
        let number = entry.isSize ? try ByteCount.read(value, shown) : try value.int(shown)
        guard entry.range.contains(number) else {
            let (least, most) = (entry.range.lowerBound, entry.range.upperBound)
            let bounds =
                entry.isSize ? (ByteCount.text(least), ByteCount.text(most)) : ("\(least)", "\(most)")
            throw value.failure("\(shown) must be within \(bounds.0) and \(bounds.1).")
        }
        entry.set(&limits, number)
    }

    /// `NAME=VALUE`, as the flag takes it.
    static func set(_ text: String, in limits: inout Limits, at place: Place) throws(SourceError) {
        guard let equals = text.firstIndex(of: "=") else {
            throw SourceError(
                "\(text) is not of the form NAME=VALUE; write a limit, such as line=64KiB.", at: place)
        }
        let value = String(text[text.index(after: equals)...])
        let scalar = Int(value).map { LocatedValue(.scalar(.int($0)), at: place) }
        try set(
            String(text[..<equals]), to: scalar ?? LocatedValue(.scalar(.string(value)), at: place),
            in: &limits)
    }
}

/// Sizes as people write them: `65536`, `64KiB`, `1MiB`, `2GiB`.
package enum ByteCount {
    private static let units: [(name: String, bytes: Int)] = [
        ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40), ("B", 1),
    ]

    static func read(_ value: LocatedValue, _ name: String) throws(SourceError) -> Int {
        switch value.content {
        case .scalar(.int(let number)): return number
        case .scalar(.string(let text)): return try read(text, name, at: value.place)
        default: throw value.failure("\(name) must be a size such as 64KiB or 1MiB, not \(value.kind).")
        }
    }

    private static func read(_ text: String, _ name: String, at place: Place) throws(SourceError) -> Int {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unitName = String(text[digits.endIndex...])
        guard !digits.isEmpty, !unitName.isEmpty else {
            throw SourceError("\(name) must be a size such as 64KiB or 1MiB, not `\(text)`.", at: place)
        }
        guard let unit = units.first(where: { $0.name == unitName }) else {
            let hint = suggestion(for: unitName, among: units.map(\.name))
            throw SourceError("\(unitName) is not a unit of size; \(hint)", at: place)
        }
        guard let number = Int(digits),
            case let (size, false) = number.multipliedReportingOverflow(by: unit.bytes)
        else { throw SourceError("\(name) is too large; use a smaller size.", at: place) }
        return size
    }

    /// The size in the largest unit that it is a whole number of.
    package static func text(_ size: Int) -> String {
        let fitting = units.filter { $0.bytes > 1 && size % $0.bytes == 0 }
        guard size > 0, let unit = fitting.last else { return "\(size) bytes" }
        return "\(size / unit.bytes)\(unit.name)"
    }
}
