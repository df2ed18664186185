import BusJSON
import BusLogic
import BusState

/// The order of stores by their addresses, as lists have it.
struct AddressOrder {
    let precedes: (Int32, Int32) -> Bool
    let address: (Int32) -> String
}

/// The stores that one store of a view counts, as far as one of its values needs them: each is added and taken away with
/// what it counts as. The value depends on what is in it alone, and not on how that came there.
class ViewAggregate {
    /// A store counts as something.
    func add(_ contribution: ViewContribution, of store: Int32) {}
    /// It does not any more.
    func remove(_ contribution: ViewContribution, of store: Int32) {}
    /// The value; asked where something has changed.
    var value: JSON { .null }

    /// Brings the member of the view's state up to date.
    func write(_ path: StatePath, to draft: inout Draft) {
        let value = value
        if draft.state.pointee.value(of: path.segments[0], hint: path.hint) != value {
            Self.set(path, to: value, in: &draft)
        }
    }

    static func set(_ path: StatePath, to value: JSON, in draft: inout Draft) {
        do throws(WriteFailure) { try draft.set(path, to: value) } catch {
            preconditionFailure("A member of a state can always be set.")
        }
    }

    /// What a value of a view needs.
    static func make(_ value: ViewRules.Value, _ order: AddressOrder) -> ViewAggregate {
        switch value.function {
        case .count: CountAggregate(.count, all: !value.hasArgument)
        case .any: CountAggregate(.any)
        case .all: CountAggregate(.all)
        case .sum: SumAggregate(isAverage: false)
        case .avg: SumAggregate(isAverage: true)
        case .min: ExtremeAggregate(isLeast: true, isAddress: false, order)
        case .argmin: ExtremeAggregate(isLeast: true, isAddress: true, order)
        case .max: ExtremeAggregate(isLeast: false, isAddress: false, order)
        case .argmax: ExtremeAggregate(isLeast: false, isAddress: true, order)
        case .counts: CountsAggregate()
        case .list: ListAggregate(value.limit, order)
        }
    }
}

/// `count`, `any` and `all`: how many stores there are, and for how many it holds.
final class CountAggregate: ViewAggregate {
    private let function: ViewFunction
    /// Whether each store counts.
    private let countsAll: Bool
    @exclusivity(unchecked) private var stores = 0
    @exclusivity(unchecked) private var holding = 0

    init(_ function: ViewFunction, all countsAll: Bool = false) {
        self.function = function
        self.countsAll = countsAll
    }

    override func add(_ contribution: ViewContribution, of store: Int32) {
        stores += 1
        if countsAll || contribution == .flag(true) { holding += 1 }
    }

    override func remove(_ contribution: ViewContribution, of store: Int32) {
        stores -= 1
        if countsAll || contribution == .flag(true) { holding -= 1 }
    }

    override var value: JSON {
        switch function {
        case .any: .bool(holding > 0)
        case .all: .bool(holding == stores)
        default: .int(holding)
        }
    }
}

/// `sum` and `avg`.
final class SumAggregate: ViewAggregate {
    private let isAverage: Bool
    @exclusivity(unchecked) private var sum = ExactSum()

    init(isAverage: Bool) { self.isAverage = isAverage }

    override func add(_ contribution: ViewContribution, of store: Int32) {
        if let number = contribution.number { sum.add(number) }
    }

    override func remove(_ contribution: ViewContribution, of store: Int32) {
        if let number = contribution.number { sum.remove(number) }
    }

    override var value: JSON { isAverage ? sum.average : sum.value }
}

/// `min`, `max`, `argmin` and `argmax`. Of equal numbers that of the first store by address counts.
final class ExtremeAggregate: ViewAggregate {
    private typealias Entry = (number: Number, store: Int32)

    private let isLeast: Bool
    private let isAddress: Bool
    @exclusivity(unchecked) private var entries = OrderedPages<Entry>()
    private let order: AddressOrder

    /// - Parameter isLeast: Whether the least number comes first, and not the greatest.
    init(isLeast: Bool, isAddress: Bool, _ order: AddressOrder) {
        (self.isLeast, self.isAddress, self.order) = (isLeast, isAddress, order)
    }

    @inline(__always)
    private func precedes(_ left: Entry, _ right: Entry) -> Bool {
        let difference = left.number.compared(to: right.number)
        return difference == 0 ? order.precedes(left.store, right.store) : (difference < 0) == isLeast
    }

    override func add(_ contribution: ViewContribution, of store: Int32) {
        guard let number = contribution.number else { return }
        _ = entries.insert((number, store)) { precedes($0, $1) }
    }

    override func remove(_ contribution: ViewContribution, of store: Int32) {
        guard let number = contribution.number else { return }
        _ = entries.remove((number, store)) { precedes($0, $1) }
    }

    override var value: JSON {
        guard let first = entries.first else { return .null }
        if isAddress { return .string(order.address(first.store)) }
        return switch first.number {
        case .int(let number): .int(number)
        case .double(let number): .double(number)
        }
    }
}

/// `counts`: how many stores have each value. With more values than a state may have it is null.
final class CountsAggregate: ViewAggregate {
    @exclusivity(unchecked) private var counts: [ExactText: Int] = [:]
    /// The values whose counts have changed since the member was written.
    @exclusivity(unchecked) private var changed: Set<ExactText> = []
    @exclusivity(unchecked) private var wasWritten = false

    override func add(_ contribution: ViewContribution, of store: Int32) { change(contribution, by: 1) }
    override func remove(_ contribution: ViewContribution, of store: Int32) { change(contribution, by: -1) }

    private func change(_ contribution: ViewContribution, by amount: Int) {
        guard case .text(let text) = contribution else { return }
        let count = (counts[text] ?? 0) + amount
        counts[text] = count == 0 ? nil : count
        if wasWritten, changed.count <= ViewFunction.most { changed.insert(text) }
    }

    override var value: JSON {
        if counts.count > ViewFunction.most { return .null }
        let members = counts.sorted { UTF8Order.precedes($0.key.text, $1.key.text) }
        return .object(JSONObject(sorted: members.map { .init(key: $0.key.text, value: .int($0.value)) }))
    }

    /// Writes those counts that have changed, where the member has the others.
    override func write(_ path: StatePath, to draft: inout Draft) {
        defer {
            changed = []
            wasWritten = true
        }
        let name = path.segments[0]
        let isObject =
            if case .object? = draft.state.pointee.value(of: name, hint: path.hint) { true } else { false }
        guard wasWritten, isObject, counts.count <= ViewFunction.most, changed.count <= ViewFunction.most
        else { return super.write(path, to: &draft) }
        for text in changed.sorted(by: { UTF8Order.precedes($0.text, $1.text) }) {
            let place = StatePath([name, text.text], hint: path.hint)
            let before = draft.state.pointee.value(at: place.segments)
            if let count = counts[text] {
                if before != .int(count) { Self.set(place, to: .int(count), in: &draft) }
            } else if before != nil {
                do throws(WriteFailure) { try draft.unset(place) } catch {
                    preconditionFailure("What is there can be taken away.")
                }
            }
        }
    }
}

/// `list`: the first addresses.
final class ListAggregate: ViewAggregate {
    private let limit: Int
    private let order: AddressOrder
    @exclusivity(unchecked) private var stores = OrderedPages<Int32>()
    /// Whether one of the first has changed since the member was written.
    @exclusivity(unchecked) private var isChanged = true

    init(_ limit: Int, _ order: AddressOrder) {
        self.limit = limit
        self.order = order
    }

    override func add(_ contribution: ViewContribution, of store: Int32) {
        if stores.insert(store, within: limit, by: order.precedes) { isChanged = true }
    }

    override func remove(_ contribution: ViewContribution, of store: Int32) {
        if stores.remove(store, within: limit, by: order.precedes) { isChanged = true }
    }

    override var value: JSON { .array(stores.prefix(limit).map { .string(order.address($0)) }) }

    override func write(_ path: StatePath, to draft: inout Draft) {
        defer { isChanged = false }
        if isChanged { super.write(path, to: &draft) }
    }
}
