import BusJSON
import BusState

/// The values of an `enum`, found without a look at all of them: a schema may list very many, and each write and payload is
/// held against it.
struct Choices: Sendable {
    /// Ascending by their bytes.
    private let texts: [String]
    /// Ascending.
    private let numbers: [Number]
    /// Null, booleans, arrays and objects.
    private let others: [JSON]

    init(_ values: [JSON]) {
        texts = values.compactMap(\.string).sorted(by: UTF8Order.precedes)
        numbers = values.compactMap { Self.number($0) }.sorted { $0.compared(to: $1) < 0 }
        others = values.filter { $0.string == nil && Self.number($0) == nil }
    }

    private static func number(_ value: JSON) -> Number? {
        switch value {
        case .int, .double: value.scalarNumber
        default: nil
        }
    }

    /// Whether one of them equals a value, as expressions see it.
    func contains(_ value: JSON) -> Bool {
        if case .string(let text) = value {
            return Self.has(texts) { UTF8Order.compare($0, text) }
        }
        if let number = Self.number(value) { return Self.has(numbers) { $0.compared(to: number) } }
        return others.contains { $0.isDeeplyEqual(to: value) }
    }

    /// Whether an element is the wanted one; `order` says where it stands to that.
    private static func has<Element>(_ sorted: [Element], _ order: (Element) -> Int) -> Bool {
        var (low, high) = (0, sorted.count)
        while low < high {
            let middle = (low + high) / 2
            let found = order(sorted[middle])
            if found == 0 { return true }
            if found < 0 { low = middle + 1 } else { high = middle }
        }
        return false
    }
}
