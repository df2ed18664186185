import BusJSON

/// What a view makes of all stores that it reads, one value for each.
package enum ViewFunction: String, CaseIterable, Sendable {
    case count, any, all, sum, avg, min, max, argmin, argmax, counts, list

    /// The most addresses that `list` has, and the most values that `counts` tells apart: a state has to fit into a line.
    package static let most = 1000

    /// The kinds of values that its expression gives.
    var kinds: ValueKinds {
        switch self {
        case .count, .any, .all: .bool
        case .sum, .avg, .min, .max, .argmin, .argmax: .number
        case .counts: [.text, .int, .bool]
        case .list: .text
        }
    }

    /// How it is written, for messages.
    var example: String {
        switch self {
        case .count: "count() or count(heating)"
        case .any, .all: "\(rawValue)(heating)"
        case .sum, .avg, .min, .max, .argmin, .argmax: "\(rawValue)(measured)"
        case .counts: "counts(mode)"
        case .list: "list(store, 100)"
        }
    }

    /// What it gives where nothing is left of all stores.
    package var ofNothing: JSON {
        switch self {
        case .count, .sum: 0
        case .any: false
        case .all: true
        case .avg, .min, .max, .argmin, .argmax: .null
        case .counts: [:]
        case .list: []
        }
    }

    /// What its values are.
    var schema: ValueSchema {
        var words: ValueSchema.Words
        switch self {
        case .count:
            words = .init(.integer)
            words.minimum = 0
        case .any, .all: words = .init(.boolean)
        case .sum, .avg, .min, .max:
            words = .init(.number)
            words.isNullable = true
        case .argmin, .argmax:
            words = .init(.string)
            words.isNullable = true
        case .counts:
            words = .init(.object)
            words.values = .integer
            words.isNullable = true
        case .list:
            words = .init(.array)
            words.items = .string
        }
        words.fallback = ofNothing
        return ValueSchema(words)
    }

    /// The same as definitions write it.
    var definition: JSON {
        switch self {
        case .count: ["type": "integer", "minimum": 0, "default": 0]
        case .any, .all: ["type": "boolean", "default": ofNothing]
        case .sum, .avg, .min, .max: ["type": "number", "nullable": true, "default": ofNothing]
        case .argmin, .argmax: ["type": "string", "nullable": true, "default": .null]
        case .counts: ["type": "object", "values": "integer", "nullable": true, "default": [:]]
        case .list: ["type": "array", "items": "string", "default": []]
        }
    }
}
