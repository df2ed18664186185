import BusJSON
import BusLogic
import BusState

/// The order of stores by their addresses, as lists have it.
struct AddressOrder {
    let precedes: (Int32, Int32) -> Bool
    let address: (Int32) -> String
}

/// A store that counts in a view: its record, and its row there.
struct ViewSource {
    let store: Int32
    let row: Int32
}

/// The stores that one store of a view counts, as far as one of its values needs them: each is added and taken away with
/// what it counts as. The value depends on what is in it alone, and not on how that came there.
class ViewAggregate {
    /// A store counts as something.
    func add(_ contribution: ViewContribution, of source: ViewSource) {}
    /// It does not any more.
    func remove(_ contribution: ViewContribution, of source: ViewSource) {}
    /// It counts as something else.
    func replace(_ before: ViewContribution, by contribution: ViewContribution, of source: ViewSource) {
        remove(before, of: source)
        add(contribution, of: source)
    }
    /// The value; asked where something has changed.
    var value: JSON { .null }

    /// Brings the member of the view's state up to date.
    func write(_ path: StatePath, to draft: inout Draft) {
        draft.setMember(path, to: value)
    }

    /// What a value of a view needs.
    static func make(
        _ value: ViewRules.Value, _ order: AddressOrder, _ places: HeapPlaces
    ) -> ViewAggregate {
        switch value.function {
        case .count: CountAggregate(.count, all: !value.hasArgument)
        case .any: CountAggregate(.any)
        case .all: CountAggregate(.all)
        case .sum: SumAggregate(isAverage: false)
        case .avg: SumAggregate(isAverage: true)
        case .min: ExtremeAggregate(isLeast: true, isAddress: false, order, places)
        case .argmin: ExtremeAggregate(isLeast: true, isAddress: true, order, places)
        case .max: ExtremeAggregate(isLeast: false, isAddress: false, order, places)
        case .argmax: ExtremeAggregate(isLeast: false, isAddress: true, order, places)
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

    override func add(_ contribution: ViewContribution, of source: ViewSource) {
        stores += 1
        if countsAll || contribution == .flag(true) { holding += 1 }
    }

    override func remove(_ contribution: ViewContribution, of source: ViewSource) {
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

    override func add(_ contribution: ViewContribution, of source: ViewSource) {
        if let number = contribution.number { sum.add(number) }
    }

    override func remove(_ contribution: ViewContribution, of source: ViewSource) {
        if let number = contribution.number { sum.remove(number) }
    }

    override var value: JSON { isAverage ? sum.average : sum.value }
}

/// For each row of a view where its source stands in the heap of one value, if in any.
final class HeapPlaces {
    @exclusivity(unchecked) private var ofRow: ContiguousArray<Int32> = []

    subscript(source: ViewSource) -> Int {
        get { Int(ofRow[Int(source.row)]) }
        set {
            while ofRow.count <= Int(source.row) { ofRow.append(-1) }
            ofRow[Int(source.row)] = Int32(newValue)
        }
    }
}

/// `min`, `max`, `argmin` and `argmax`: a heap with the extreme on top. Of equal numbers that of the first store by address
/// counts.
final class ExtremeAggregate: ViewAggregate {
    private struct Entry {
        var number: Number
        let source: ViewSource
    }

    private let isLeast: Bool
    private let isAddress: Bool
    @exclusivity(unchecked) private var entries: ContiguousArray<Entry> = []
    private let order: AddressOrder
    private let places: HeapPlaces

    /// - Parameter isLeast: Whether the least number comes first, and not the greatest.
    init(isLeast: Bool, isAddress: Bool, _ order: AddressOrder, _ places: HeapPlaces) {
        (self.isLeast, self.isAddress, self.order, self.places) = (isLeast, isAddress, order, places)
    }

    override func add(_ contribution: ViewContribution, of source: ViewSource) {
        guard let number = contribution.number else { return }
        let entry = Entry(number: number, source: source)
        entries.append(entry)
        rise(entry, from: entries.count - 1)
    }

    override func remove(_ contribution: ViewContribution, of source: ViewSource) {
        if contribution.number == nil { return }
        let place = places[source]
        let last = entries.removeLast()
        if place < entries.count { settle(last, at: place) }
    }

    override func replace(
        _ before: ViewContribution, by contribution: ViewContribution, of source: ViewSource
    ) {
        guard before.number != nil, let number = contribution.number else {
            return super.replace(before, by: contribution, of: source)
        }
        settle(Entry(number: number, source: source), at: places[source])
    }

    /// Puts an entry where it belongs, from a place that is free.
    private func settle(_ entry: Entry, at place: Int) {
        if place > 0, precedes(entry, entries[(place - 1) / 2]) {
            rise(entry, from: place)
        } else {
            sink(entry, from: place)
        }
    }

    private func rise(_ entry: Entry, from place: Int) {
        var place = place
        while place > 0 {
            let parent = (place - 1) / 2
            if !precedes(entry, entries[parent]) { break }
            put(entries[parent], at: place)
            place = parent
        }
        put(entry, at: place)
    }

    private func sink(_ entry: Entry, from place: Int) {
        var place = place
        while true {
            var child = 2 * place + 1
            if child >= entries.count { break }
            if child + 1 < entries.count, precedes(entries[child + 1], entries[child]) { child += 1 }
            if !precedes(entries[child], entry) { break }
            put(entries[child], at: place)
            place = child
        }
        put(entry, at: place)
    }

    @inline(__always)
    private func put(_ entry: Entry, at place: Int) {
        entries[place] = entry
        places[entry.source] = place
    }

    @inline(__always)
    private func precedes(_ left: Entry, _ right: Entry) -> Bool {
        let difference = left.number.compared(to: right.number)
        if difference != 0 { return (difference < 0) == isLeast }
        return order.precedes(left.source.store, right.source.store)
    }

    override var value: JSON {
        guard let first = entries.first else { return .null }
        if isAddress { return .string(order.address(first.source.store)) }
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

    override func add(_ contribution: ViewContribution, of source: ViewSource) { change(contribution, by: 1) }
    override func remove(_ contribution: ViewContribution, of source: ViewSource) {
        change(contribution, by: -1)
    }

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
            do throws(WriteFailure) {
                if let count = counts[text] {
                    if before != .int(count) { try draft.set(place, to: .int(count)) }
                } else if before != nil {
                    try draft.unset(place)
                }
            } catch {
                preconditionFailure("A member of an object can be set, and one that is there taken away.")
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

    override func add(_ contribution: ViewContribution, of source: ViewSource) {
        if stores.insert(source.store, within: limit, by: order.precedes) { isChanged = true }
    }

    override func remove(_ contribution: ViewContribution, of source: ViewSource) {
        if stores.remove(source.store, within: limit, by: order.precedes) { isChanged = true }
    }

    override var value: JSON { .array(stores.prefix(limit).map { .string(order.address($0)) }) }

    override func write(_ path: StatePath, to draft: inout Draft) {
        defer { isChanged = false }
        if isChanged { super.write(path, to: &draft) }
    }
}
