import BusJSON

/// Functions on lists and maps.
extension TextFunction {
    static let collections: [TextFunction] = [
        .init("sort", .method, [.list], .same) { (evaluation, given) throws(EvaluationFailure) in
            let elements = given.first.array ?? []
            return try evaluation.sorted(elements, by: elements, for: "sort")
        },
        .init("distinct", .method, [.list], .same, distinct),
        .init("slice", .method, [.list, .int, .int], .same, slice),
        .init("flatten", .method, [.list, .int], optional: 1, .kinds(.list), flatten),
        .init("lists.range", .global, [.int], .kinds(.list)) {
            (evaluation, given) throws(EvaluationFailure) in
            let count = max(0, given.first.int ?? 0)
            try evaluation.spend(count)
            for _ in 0..<count { try evaluation.produce(16) }
            return .array((0..<count).map { .int($0) })
        },
        .init("sum", .global, [.list], .kinds(.number), sum),
        .init("keys", .global, [.map], .kinds(.list)) { (evaluation, given) throws(EvaluationFailure) in
            try parts(given.first, &evaluation) { .string($0.key) }
        },
        .init("values", .global, [.map], .kinds(.list)) { (evaluation, given) throws(EvaluationFailure) in
            try parts(given.first, &evaluation) { $0.value }
        },
        .init("merge", .method, [.map, .map], .kinds(.map), merge),
        .init("without", .method, [[.list, .map], .any], .same, without),
    ]

    private static func distinct(
        _ evaluation: inout Evaluation, _ given: Arguments
    ) throws(EvaluationFailure) -> JSON {
        var texts: Set<[UInt8]> = []
        var others: [JSON] = []
        var results: [JSON] = []
        for element in given.first.array ?? [] {
            try evaluation.spend()
            if case .string(let text) = element {
                try evaluation.spend(text.utf8.count >> 4)
                guard texts.insert(Array(text.utf8)).inserted else { continue }
            } else {
                var isKnown = false
                for other in others where !isKnown {
                    try evaluation.spend()
                    isKnown = try evaluation.deeplyEqual(other, element)
                }
                if isKnown { continue }
                others.append(element)
            }
            try evaluation.produce(16)
            results.append(element)
        }
        return .array(results)
    }

    private static func slice(
        _ evaluation: inout Evaluation, _ given: Arguments
    ) throws(EvaluationFailure) -> JSON {
        let elements = given.first.array ?? []
        let (start, end) = (given.second.int ?? 0, given.third.int ?? 0)
        guard 0 <= start, start <= end, end <= elements.count else {
            throw .failed(
                "slice was given \(start) and \(end), which are no part of a list of \(elements.count)")
        }
        try evaluation.spend(end - start)
        try evaluation.produce(16 * (end - start))
        return .array(Array(elements[start..<end]))
    }

    private static func flatten(
        _ evaluation: inout Evaluation, _ given: Arguments
    ) throws(EvaluationFailure) -> JSON {
        let levels = given.second.int ?? 1
        guard levels >= 0 else { throw .failed("flatten can't flatten \(levels) levels") }
        var results: [JSON] = []
        try flatten(given.first.array ?? [], levels, into: &results, &evaluation)
        return .array(results)
    }

    private static func flatten(
        _ elements: [JSON], _ levels: Int, into results: inout [JSON], _ evaluation: inout Evaluation
    ) throws(EvaluationFailure) {
        for element in elements {
            try evaluation.spend()
            if levels > 0, case .array(let inner) = element {
                try flatten(inner, levels - 1, into: &results, &evaluation)
            } else {
                try evaluation.produce(element: element)
                results.append(element)
            }
        }
    }

    private static func sum(
        _ evaluation: inout Evaluation, _ given: Arguments
    ) throws(EvaluationFailure) -> JSON {
        var sum = Number.int(0)
        for element in given.first.array ?? [] {
            try evaluation.spend()
            switch (sum, element) {
            case (.int(let a), .int(let b)):
                let (next, overflow) = a.addingReportingOverflow(b)
                if overflow { throw .overflow(operation: "sum") }
                sum = .int(next)
            case (_, .int), (_, .double): sum = .double(sum.asDouble + (element.double ?? 0))
            default: throw .failed("sum needs a list of numbers, and one element is \(element.kind)")
            }
        }
        return switch sum {
        case .int(let number): .int(number)
        case .double(let number): .double(number)
        }
    }

    private static func parts(
        _ map: JSON, _ evaluation: inout Evaluation, _ part: (JSONObject.Member) -> JSON
    ) throws(EvaluationFailure) -> JSON {
        var results: [JSON] = []
        for member in map.object?.members ?? [] {
            try evaluation.spend()
            let result = part(member)
            try evaluation.produce(element: result)
            results.append(result)
        }
        return .array(results)
    }

    /// The members of the second map change those of the first; null takes one away.
    private static func merge(
        _ evaluation: inout Evaluation, _ given: Arguments
    ) throws(EvaluationFailure) -> JSON {
        try evaluation.spend((given.first.object?.count ?? 0) + (given.second.object?.count ?? 0))
        if evaluation.hasPrices { try readChanges(given.second, &evaluation) }
        let merged = MergePatch.apply(given.second, to: given.first)
        try evaluation.produce(element: merged)
        return merged
    }

    /// Takes what it costs to go through the maps of a patch: of what it takes away, nothing is produced.
    private static func readChanges(_ patch: JSON, _ evaluation: inout Evaluation) throws(EvaluationFailure) {
        guard case .object(let changes) = patch else { return }
        try evaluation.read(16 * changes.count)
        for change in changes.members { try readChanges(change.value, &evaluation) }
    }

    /// A list without the elements that equal a value; a map without keys.
    private static func without(
        _ evaluation: inout Evaluation, _ given: Arguments
    ) throws(EvaluationFailure) -> JSON {
        guard case .object(let object) = given.first else {
            var results: [JSON] = []
            for element in given.first.array ?? [] {
                try evaluation.spend()
                if try evaluation.deeplyEqual(element, given.second) { continue }
                try evaluation.keepElement()
                results.append(element)
            }
            return .array(results)
        }
        guard case .array(let keys) = given.second else {
            throw .failed("without needs a list of keys and was given \(given.second.kind)")
        }
        try evaluation.spend(object.count)
        var unwanted: Set<ExactText> = []
        for key in keys {
            try evaluation.spend()
            unwanted.insert(ExactText(try evaluation.mapKey(key)))
        }
        let left = JSON.object(
            JSONObject(sorted: object.members.filter { !unwanted.contains(ExactText($0.key)) }))
        try evaluation.produce(element: left)
        return left
    }
}
