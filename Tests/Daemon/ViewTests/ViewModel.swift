import BusJSON
import TestSupport

/// A view as a test knows it: what its file says, and the same once more as a function of all states.
struct ViewModel {
    struct Key {
        let text: String
        let of: (JSONObject) -> String?
    }

    struct Condition {
        let text: String
        let holds: (JSONObject) -> Bool
    }

    struct Value {
        let text: String
        let of: ([(address: String, state: JSONObject)]) -> JSON
    }

    let name: String
    var sources: [String]
    var key: Key?
    var condition: Condition?
    var values: [(name: String, value: Value)] = []
    /// Whether it has a computed value, which says how many there are.
    var isComputed = false

    var yaml: String {
        var lines = ["view: \(name)", "of: [\(sources.joined(separator: ", "))]"]
        if let key { lines.append("by: '\(key.text)'") }
        if let condition { lines.append("where: '\(condition.text)'") }
        lines.append("values:")
        lines.append("  n: count()")
        for value in values { lines.append("  \(value.name): '\(value.value.text)'") }
        if isComputed { lines.append("computed: { many: n > 2 }") }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Its stores by address, from all states there are.
    func states(of all: [String: JSONObject]) -> [String: JSON] {
        var groups: [String: [(address: String, state: JSONObject)]] = [:]
        for (address, state) in all.sorted(by: { Self.precedes($0.key, $1.key) })
        where sources.contains(String(address.prefix { $0 != "/" })) {
            if let condition, !condition.holds(state) { continue }
            if let key {
                if let name = key.of(state) { groups[name, default: []].append((address, state)) }
            } else {
                groups["all", default: []].append((address, state))
            }
        }
        var states: [String: JSON] = [:]
        for (name, members) in groups {
            var state: JSONObject = ["n": .int(members.count)]
            for value in values { state[value.name] = value.value.of(members) }
            if isComputed { state["many"] = .bool(members.count > 2) }
            states["\(self.name)/\(name)"] = .object(state)
        }
        return states
    }

    /// By the type's name, then by the store's.
    private static func precedes(_ left: String, _ right: String) -> Bool {
        let (a, b) = (
            left.split(separator: "/").map(String.init), right.split(separator: "/").map(String.init)
        )
        return a[0] == b[0] ? UTF8Order.precedes(a[1], b[1]) : UTF8Order.precedes(a[0], b[0])
    }

    // MARK: Functions

    typealias Members = [(address: String, state: JSONObject)]

    /// Whether a store's name may be made of a value.
    static func key(_ value: JSON?) -> String? {
        switch value {
        case .string(let text)?: ["ground", "attic", "cellar", "auto", "off"].contains(text) ? text : nil
        case .int(let number)?: number < 0 ? nil : "\(number)"
        case .bool(let flag)?: "\(flag)"
        default: nil
        }
    }

    static func count(_ text: String, _ holds: @escaping (JSONObject) -> Bool) -> Value {
        Value(text: "count(\(text))") { .int($0.count { holds($0.state) }) }
    }

    static func any(_ text: String, _ holds: @escaping (JSONObject) -> Bool) -> Value {
        Value(text: "any(\(text))") { .bool($0.contains { holds($0.state) }) }
    }

    static func all(_ text: String, _ holds: @escaping (JSONObject) -> Bool) -> Value {
        Value(text: "all(\(text))") { .bool($0.allSatisfy { holds($0.state) }) }
    }

    private static func number(_ value: JSON?) -> JSON? {
        switch value {
        case .int?: value
        case .double(let double)?: .double(double + 0)
        default: nil
        }
    }

    /// Doubles in tests are multiples of 2⁻¹⁰ below 2⁴⁰.
    private static func exact(_ members: Members, _ member: String) -> (numbers: [JSON], sum: Int128) {
        let numbers = members.compactMap { number($0.state[member]) }
        return (
            numbers,
            numbers.reduce(0) {
                switch $1 {
                case .int(let number): $0 + Int128(number) << 10
                case .double(let double): $0 + Int128(double * 1024)
                default: $0
                }
            }
        )
    }

    static func sum(_ member: String) -> Value {
        Value(text: "sum(\(member))") { members in
            let (numbers, sum) = exact(members, member)
            if numbers.allSatisfy({ if case .int = $0 { true } else { false } }) {
                return Int(exactly: sum >> 10).map(JSON.int) ?? .null
            }
            return .double(Double(sum) / 1024)
        }
    }

    static func average(_ member: String) -> Value {
        Value(text: "avg(\(member))") { members in
            let (numbers, sum) = exact(members, member)
            return numbers.isEmpty ? .null : .double(Double(sum) / 1024 / Double(numbers.count))
        }
    }

    /// `text`: min, max, argmin or argmax.
    static func extreme(_ text: String, _ member: String) -> Value {
        Value(text: "\(text)(\(member))") { members in
            var best: (address: String, number: JSON, exact: Int128)?
            for (address, state) in members {
                guard let number = number(state[member]) else { continue }
                let exact = exact([(address, state)], member).sum
                let isBetter =
                    best.map { text.hasSuffix("min") ? exact < $0.exact : exact > $0.exact } ?? true
                if isBetter { best = (address, number, exact) }
            }
            guard let best else { return .null }
            return text.hasPrefix("arg") ? .string(best.address) : best.number
        }
    }

    static func counts(_ member: String) -> Value {
        Value(text: "counts(\(member))") { members in
            var counts = JSONObject()
            for (_, state) in members {
                let text: String
                switch state[member] {
                case .string(let value)?: text = value
                case .int(let value)?: text = "\(value)"
                case .bool(let value)?: text = "\(value)"
                default: continue
                }
                counts[text] = .int((counts[text]?.int ?? 0) + 1)
            }
            return .object(counts)
        }
    }

    static func list(_ limit: Int) -> Value {
        Value(text: "list(store, \(limit))") { .array($0.prefix(limit).map { .string($0.address) }) }
    }
}

extension ViewModel {
    private static var conditions: [Condition] {
        [
            Condition(text: "on") { $0["on"] == true },
            Condition(text: "mode != \"off\"") { $0["mode"] != "off" },
            Condition(text: "measured > 18") { number($0["measured"])?.double ?? 0 > 18 },
            Condition(text: "warm") { number($0["measured"])?.double ?? 0 > 18 },
            Condition(text: "state.mode == \"auto\" || on") { $0["mode"] == "auto" || $0["on"] == true },
        ]
    }

    /// A view over rooms and windows.
    static func random(_ name: String, _ generator: inout SeededGenerator) -> ViewModel {
        var view = ViewModel(
            name: name,
            sources: [["room"], ["window"], ["room", "window"]].randomElement(using: &generator)!)
        if !generator.oneIn(3) {
            let member = ["floor", "mode", "on"].randomElement(using: &generator)!
            view.key = Key(text: member) { key($0[member]) }
        }
        if generator.oneIn(2) { view.condition = conditions.randomElement(using: &generator) }
        view.isComputed = generator.oneIn(2)
        for index in 0..<Int.random(in: 0...7, using: &generator) {
            view.values.append(("v\(index)", value(&generator)))
        }
        return view
    }

    private static func value(_ generator: inout SeededGenerator) -> Value {
        let condition = conditions.randomElement(using: &generator)!
        let member = ["measured", "power"].randomElement(using: &generator)!
        switch Int.random(in: 0..<10, using: &generator) {
        case 0: return count(condition.text, condition.holds)
        case 1: return any(condition.text, condition.holds)
        case 2: return all(condition.text, condition.holds)
        case 3: return sum(member)
        case 4: return average(member)
        case 5, 6:
            return extreme(["min", "max", "argmin", "argmax"].randomElement(using: &generator)!, member)
        case 7, 8: return counts(["mode", "floor", "on"].randomElement(using: &generator)!)
        default: return list(Int.random(in: 1...4, using: &generator))
        }
    }

    /// A view over another one.
    static func over(_ other: ViewModel, _ name: String, _ generator: inout SeededGenerator) -> ViewModel {
        var view = ViewModel(name: name, sources: [other.name])
        if generator.oneIn(2) { view.key = Key(text: "n") { key($0["n"]) } }
        if generator.oneIn(3) { view.condition = Condition(text: "n > 1") { ($0["n"]?.int ?? 0) > 1 } }
        view.values = [("total", sum("n")), ("most", extreme("argmax", "n")), ("names", list(3))]
        return view
    }

    /// All views of a bus, those over others behind them.
    static func random(_ generator: inout SeededGenerator) -> [ViewModel] {
        var views = (0..<Int.random(in: 0...3, using: &generator)).map { random("v\($0)", &generator) }
        if let first = views.first, generator.oneIn(2) { views.append(over(first, "a-over", &generator)) }
        return views
    }
}
