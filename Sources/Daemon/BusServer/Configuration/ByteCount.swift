import BusProtocol
import BusSource

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
