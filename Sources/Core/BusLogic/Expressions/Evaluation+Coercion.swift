import BusJSON

extension JSON {
    /// What counts as true: everything but null, false, 0, the empty text and the empty array.
    @inline(__always)
    var isTruthy: Bool {
        switch self {
        case .null: false
        case .bool(let flag): flag
        case .int(let number): number != 0
        case .double(let number): number != 0
        case .string(let text): !text.utf8.isEmpty
        case .array(let elements): !elements.isEmpty
        case .object: true
        }
    }

    /// `==` takes null for 0, but not for any other value that means 0.
    fileprivate var isNullOrZero: Bool {
        switch self {
        case .null: true
        case .int(let number): number == 0
        case .double(let number): number == 0
        default: false
        }
    }
}

extension Evaluation {
    /// The text of a value for text operators; bytes made for it count as produced.
    mutating func text(of value: JSON) throws(EvaluationFailure) -> String {
        if case .string(let text) = value { return text }
        if case .null = value { return "null" }
        var text = ""
        try append(value, to: &text)
        return text
    }

    /// Appends the text of a value; inside of arrays, and in `cat`, null has none.
    mutating func append(_ value: JSON, to text: inout String) throws(EvaluationFailure) {
        let length = text.utf8.count
        switch value {
        case .null: return
        case .bool(let flag): text += flag ? "true" : "false"
        case .int(let number): text += String(number)
        case .double(let number): text += NumberText.text(of: number)
        case .string(let other): text += other
        case .array(let elements):
            var first = true
            for element in elements {
                try spend()
                if !first {
                    try produce(1)
                    text += ","
                }
                first = false
                try append(element, to: &text)
            }
            return
        case .object: text += "[object Object]"
        }
        try produce(text.utf8.count - length)
    }

    /// `==`: after coercion, except that arrays and objects are compared with each other deeply. Throws if a number meets what
    /// means no number. `operation` is what the failure names.
    mutating func looselyEqual(
        _ left: JSON, _ right: JSON, operation: StaticString
    ) throws(EvaluationFailure) -> Bool {
        switch (left, right) {
        case (.int(let a), .int(let b)): return a == b
        case (.bool(let a), .bool(let b)): return a == b
        case (.null, _), (_, .null): return left.isNullOrZero && right.isNullOrZero
        case (.string, .string), (.array, .array), (.object, .object):
            return try deeplyEqual(left, right)
        case (.array, .object), (.object, .array): return false
        case (.string, .array), (.string, .object), (.array, .string), (.object, .string):
            return try UTF8Order.equal(text(of: left), text(of: right))
        case (.int, _), (.double, _), (_, .int), (_, .double):
            guard let a = try number(left, as: \.scalarNumber), let b = try number(right, as: \.scalarNumber)
            else {
                throw .notComparable(operation: "\(operation)", left.kind, right.kind)
            }
            return a.compared(to: b) == 0
        default:
            guard let a = try number(left, as: \.number), let b = try number(right, as: \.number) else {
                return false
            }
            return a.compared(to: b) == 0
        }
    }

    /// Whether one of the elements equals a value.
    mutating func contains(_ value: JSON, in elements: [JSON]) throws(EvaluationFailure) -> Bool {
        for element in elements {
            try spend()
            if try deeplyEqual(value, element) { return true }
        }
        return false
    }

    /// Deep equality by value: `1` equals `1.0`. Every value that is looked at counts as an operation.
    mutating func deeplyEqual(_ left: JSON, _ right: JSON) throws(EvaluationFailure) -> Bool {
        switch (left, right) {
        case (.array(let a), .array(let b)):
            guard a.count == b.count else { return false }
            try spend(a.count)
            for index in a.indices where try !deeplyEqual(a[index], b[index]) { return false }
            return true
        case (.object(let a), .object(let b)):
            guard a.count == b.count else { return false }
            try spend(a.count)
            for index in a.members.indices {
                try read(min(a.members[index].key.utf8.count, b.members[index].key.utf8.count))
                guard UTF8Order.equal(a.members[index].key, b.members[index].key) else { return false }
                guard try deeplyEqual(a.members[index].value, b.members[index].value) else { return false }
            }
            return true
        case (.string(let a), .string(let b)):
            let length = a.utf8.count
            guard length == b.utf8.count else { return false }
            try spend(length >> 8)
            return UTF8Order.equal(a, b)
        case (.double(let a), .double(let b)): return a == b
        case (.int(let a), .double(let b)), (.double(let b), .int(let a)):
            return !b.isNaN && Number.int(a).compared(to: .double(b)) == 0
        default: return left == right
        }
    }

    /// How two values stand to each other: negative, zero or positive; nil when a text that means no number meets
    /// null or a boolean, which makes every order false. Two texts go by their UTF-8 bytes, everything else by
    /// number; arrays and objects have no order. `operation` is what the failure names.
    mutating func order(
        _ left: JSON, _ right: JSON, operation: StaticString
    ) throws(EvaluationFailure) -> Int? {
        switch (left, right) {
        case (.int(let a), .int(let b)): return a < b ? -1 : a > b ? 1 : 0
        case (.string(let a), .string(let b)): return try order(a, b)
        default:
            if let a = try number(left, as: \.scalarNumber), let b = try number(right, as: \.scalarNumber) {
                return a.compared(to: b)
            }
            switch (left, right) {
            case (.string, .null), (.string, .bool), (.null, .string), (.bool, .string): return nil
            default: throw .notComparable(operation: "\(operation)", left.kind, right.kind)
            }
        }
    }

    /// The number that a value means, whose text is read for it.
    @inline(__always)
    mutating func number(
        _ value: JSON, as meaning: (JSON) -> Number?
    ) throws(EvaluationFailure) -> Number? {
        switch value {
        case .string, .array: try readText(of: value)
        default: break
        }
        return meaning(value)
    }

    /// Charges for reading the text that may be a number: the value's own, or that of the only element of an array.
    @inline(never)
    private mutating func readText(of value: JSON) throws(EvaluationFailure) {
        switch value {
        case .string(let text): try read(text.utf8.count)
        case .array(let elements) where elements.count == 1: try readText(of: elements[0])
        default: return
        }
    }

    mutating func order(_ a: String, _ b: String) throws(EvaluationFailure) -> Int {
        try spend(min(a.utf8.count, b.utf8.count) >> 8)
        return UTF8Order.equal(a, b) ? 0 : UTF8Order.precedes(a, b) ? -1 : 1
    }
}
