import BusJSON
import BusProtocol
import BusSource
import BusState

/// How a view is worked out: from which types, in which of its stores each of their stores counts, and for what.
package final class ViewRules: Sendable {
    /// One member of the view's states.
    package final class Value: Sendable {
        package let name: String
        package let function: ViewFunction
        /// What it makes its value of; nil for `count()` and `list`.
        let argument: ExpressionNode?
        /// How many addresses `list` has at most.
        package let limit: Int
        package let path: StatePath
        /// The members of a source that it reads.
        package let reads: UInt64
        /// What its change means to the computed values of the view.
        package let bits: UInt64

        fileprivate init(
            _ value: LoadedValue, _ path: StatePath, reads: UInt64, bits: UInt64
        ) {
            (name, function, limit) = (value.name, value.function, value.limit)
            argument = value.argument?.node
            (self.path, self.reads, self.bits) = (path, reads, bits)
        }

        /// Whether each source counts for it in a way of its own.
        package var hasArgument: Bool { argument != nil }
    }

    /// The types whose stores it is made of, in written order.
    package let sources: [String]
    let sourcePlaces: [Place]
    let key: ExpressionNode?
    /// How many expressions are evaluated of a source at most.
    package var expressions: Int {
        (key == nil ? 0 : 1) + (condition == nil ? 0 : 1) + values.count(where: \.hasArgument)
    }
    /// Without a key it has one store, `all`.
    package var hasOneStore: Bool { key == nil }
    let condition: ExpressionNode?
    /// By the bytes of their names.
    package let values: [Value]
    /// The members of a source that decide in which store of the view it counts, if in any.
    package let keyReads: UInt64
    /// All members of a source that anything reads.
    package let allReads: UInt64
    private let watched: WatchedMembers
    /// What was written, for the check against the types that it reads.
    let written: Written

    /// The expressions as they stand in the file.
    struct Written: Sendable {
        var key: LocatedValue?
        var condition: LocatedValue?
        var values: [LocatedObject.Member] = []
    }

    /// An expression that is evaluated for each source.
    struct Compiled {
        let node: ExpressionNode
        let reads: StateReads
    }

    /// A member of the view's states before it is known what else is read.
    struct LoadedValue {
        let name: String
        let function: ViewFunction
        let argument: Compiled?
        let limit: Int
    }

    init(
        sources: [(name: String, place: Place)], key: Compiled?, condition: Compiled?, values: [LoadedValue],
        shape: JSONObject, bits: (String) -> UInt64, _ written: Written
    ) {
        self.sources = sources.map(\.name)
        sourcePlaces = sources.map(\.place)
        self.key = key?.node
        self.condition = condition?.node
        self.written = written
        let ofKey = [key, condition].compactMap { $0?.reads }
        let all = ofKey + values.compactMap { $0.argument?.reads }
        let watched = WatchedMembers(all.flatMap(\.names))
        self.watched = watched
        keyReads = ofKey.reduce(0) { $0 | watched.mask($1) }
        allReads = all.reduce(0) { $0 | watched.mask($1) }
        self.values = values.map { value in
            Value(
                value,
                StatePath([value.name], hint: shape.position(of: value.name).index, isOfType: true),
                reads: value.argument.map { watched.mask($0.reads) } ?? 0, bits: bits(value.name))
        }
    }

    /// What a change of a member of a source means to the expressions.
    package func bits(of name: String) -> UInt64 { watched.bits(of: name) }

    /// A change of anything.
    package static let anything = UInt64.max
}

/// What a source counts as for one value of a view.
package enum ViewContribution: Equatable, Sendable {
    /// It is left out: the expression fails, or its value is of no kind that the function takes.
    case none
    case flag(Bool)
    case integer(Int)
    /// Finite, and never minus zero.
    case double(Double)
    case text(ExactText)

    /// The number that it is.
    package var number: Number? {
        switch self {
        case .integer(let number): .int(number)
        case .double(let number): .double(number)
        default: nil
        }
    }
}

/// A text that equals another one by its bytes, as everywhere on the bus; for Swift, others are equal, too.
package struct ExactText: Hashable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func == (left: ExactText, right: ExactText) -> Bool {
        UTF8Order.equal(left.text, right.text)
    }

    package func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
    }
}

/// Evaluates the expressions of a view on its sources. What fails, or costs more than a computed value may, is left out.
package final class ViewReader {
    private let rules: ViewRules
    @exclusivity(unchecked) private var evaluation = Evaluation()
    /// The budget that pays for the expressions. Without one, each expression may spend as much as a computed value.
    @exclusivity(unchecked) private var budget: Budget?
    /// The operations that its expressions have taken so far.
    @exclusivity(unchecked) package private(set) var operations = 0
    /// The bytes that these have read so far.
    @exclusivity(unchecked) package private(set) var reading = 0

    package init(_ rules: ViewRules) { self.rules = rules }

    /// Has a budget pay for what a body evaluates. Once it is used up, its operations are below zero and nothing more is
    /// evaluated.
    package func spend(from budget: inout Budget, _ body: () -> Void) {
        self.budget = budget
        body()
        budget = self.budget!
        self.budget = nil
    }

    /// The name of the view's store in which a source counts; nil where it counts in none.
    package func key(of state: UnsafePointer<JSONObject>) -> String? {
        if let condition = rules.condition, value(of: condition, state) != .bool(true) { return nil }
        guard let key = rules.key else { return ViewRules.onlyStore }
        switch value(of: key, state) {
        case .string(let text): return Names.isStoreName(text) ? text : nil
        case .int(let number): return number < 0 ? nil : String(number)
        case .bool(let flag): return flag ? "true" : "false"
        default: return nil
        }
    }

    /// What a source counts as for the value at an index.
    package func contribution(
        to index: Int, of state: UnsafePointer<JSONObject>
    ) -> ViewContribution {
        Unmanaged.passUnretained(rules.values[index])._withUnsafeGuaranteedRef { value in
            guard let argument = value.argument else { return .none }
            return contribution(of: self.value(of: argument, state), to: value.function)
        }
    }

    private func contribution(of value: JSON?, to function: ViewFunction) -> ViewContribution {
        switch (function.kinds, value) {
        case (.bool, .bool(let flag)?): return .flag(flag)
        case (.bool, _): return .flag(false)
        case (.number, .int(let number)?): return .integer(number)
        case (.number, .double(let number)?): return number.isFinite ? .double(number + 0) : .none
        case (_, .string(let text)?) where function == .counts:
            return text.utf8.count <= ViewRules.longestKey ? .text(ExactText(text)) : .none
        case (_, .int(let number)?) where function == .counts: return .text(ExactText(String(number)))
        case (_, .bool(let flag)?) where function == .counts:
            return .text(ExactText(flag ? "true" : "false"))
        default: return .none
        }
    }

    private func value(of node: ExpressionNode, _ state: UnsafePointer<JSONObject>) -> JSON? {
        let allowance = budget.map { Budget.smaller(.ofComputed, $0) } ?? .ofComputed
        if allowance.operations < 0 { return nil }
        evaluation.begin(allowance, on: state)
        defer { note(allowance) }
        do throws(EvaluationFailure) { return try node.value(&evaluation) } catch { return nil }
    }

    private func note(_ allowance: Budget) {
        operations &+= allowance.operations &- max(evaluation.operations, 0)
        reading &+= allowance.reading &- max(evaluation.reading, 0)
        guard let available = budget else { return }
        budget = evaluation.rest(of: available, after: allowance)
        // Asked after every expression, because one may catch its own failure.
        if evaluation.overdrewLess(than: .ofComputed, allowance) { budget!.operations = -1 }
    }
}

extension ViewRules {
    /// The name of the store of a view without `by`.
    package static let onlyStore = "all"
    /// The longest text that `counts` tells apart, in bytes.
    static let longestKey = 128
}
