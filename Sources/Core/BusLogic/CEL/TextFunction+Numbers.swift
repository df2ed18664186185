import BusJSON

/// Functions on numbers.
extension TextFunction {
    static let numbers: [TextFunction] = [
        .init(
            "math.greatest", .global, [[.number, .list], .number], optional: 1, isVariadic: true,
            .kinds(.number)
        ) {
            (evaluation, given) throws(EvaluationFailure) in
            try extreme(given, isGreatest: true, "math.greatest", &evaluation)
        },
        .init(
            "math.least", .global, [[.number, .list], .number], optional: 1, isVariadic: true, .kinds(.number)
        ) {
            (evaluation, given) throws(EvaluationFailure) in
            try extreme(given, isGreatest: false, "math.least", &evaluation)
        },
        .init("math.ceil", .global, [.number], .same) { (_, given) in rounded(given.first, .up) },
        .init("math.floor", .global, [.number], .same) { (_, given) in rounded(given.first, .down) },
        .init("math.round", .global, [.number], .same) { (_, given) in
            rounded(given.first, .toNearestOrAwayFromZero)
        },
        .init("math.trunc", .global, [.number], .same) { (_, given) in rounded(given.first, .towardZero) },
        .init("math.abs", .global, [.number], .same) { (_, given) throws(EvaluationFailure) in
            guard case .int(let number) = given.first else { return .double(abs(given.first.double ?? 0)) }
            if number == .min { throw .overflow(operation: "math.abs") }
            return .int(abs(number))
        },
        .init("math.sign", .global, [.number], .same) { (_, given) in
            guard case .int(let number) = given.first else {
                let number = given.first.double ?? 0
                return .double(number > 0 ? 1 : number < 0 ? -1 : number)
            }
            return .int(number.signum())
        },
        .init("math.sqrt", .global, [.number], .kinds(.double)) { (_, given) in
            .double((given.first.double ?? 0).squareRoot())
        },
        .init("math.isNaN", .global, [.number], .kinds(.bool)) { (_, given) in
            .bool(given.first.double?.isNaN == true)
        },
        .init("math.isInf", .global, [.number], .kinds(.bool)) { (_, given) in
            .bool(given.first.double?.isInfinite == true)
        },
        .init("math.isFinite", .global, [.number], .kinds(.bool)) { (_, given) in
            .bool(given.first.double?.isFinite == true)
        },
        .init("math.bitAnd", .global, [.int, .int], .kinds(.int)) { (_, given) in bits(given, &) },
        .init("math.bitOr", .global, [.int, .int], .kinds(.int)) { (_, given) in bits(given, |) },
        .init("math.bitXor", .global, [.int, .int], .kinds(.int)) { (_, given) in bits(given, ^) },
        .init("math.bitNot", .global, [.int], .kinds(.int)) { (_, given) in .int(~(given.first.int ?? 0)) },
        .init("math.bitShiftLeft", .global, [.int, .int], .kinds(.int)) {
            (_, given) throws(EvaluationFailure) in
            try shifted(given, "math.bitShiftLeft") { $0 << $1 }
        },
        .init("math.bitShiftRight", .global, [.int, .int], .kinds(.int)) {
            (_, given) throws(EvaluationFailure) in
            try shifted(given, "math.bitShiftRight") { $0 >> $1 }
        },
    ]

    /// The first of the numbers that is the largest or the smallest: the arguments, or the elements of a list.
    private static func extreme(
        _ given: Arguments, isGreatest: Bool, _ name: String, _ evaluation: inout Evaluation
    ) throws(EvaluationFailure) -> JSON {
        var values = given.all
        if case .array(let elements) = given.first {
            guard given.count == 1 else { throw .failed("\(name) takes numbers, or one list of them") }
            values = elements
        }
        var best: (value: JSON, number: Number)?
        for value in values {
            try evaluation.spend()
            guard ValueKinds.number.contains(value.kinds), let number = value.scalarNumber else {
                throw .failed("\(name) needs numbers and was given \(value.kind)")
            }
            // Beside what is no number there is no largest.
            if number.isNaN { return value }
            guard let found = best else {
                best = (value, number)
                continue
            }
            let order = number.compared(to: found.number)
            if isGreatest ? order > 0 : order < 0 { best = (value, number) }
        }
        guard let best else { throw .failed("\(name) needs at least one number") }
        return best.value
    }

    private static func rounded(_ value: JSON, _ rule: FloatingPointRoundingRule) -> JSON {
        if case .double(let number) = value { .double(number.rounded(rule)) } else { value }
    }

    private static func bits(_ given: Arguments, _ operation: (Int, Int) -> Int) -> JSON {
        .int(operation(given.first.int ?? 0, given.second.int ?? 0))
    }

    /// Shifts all 64 bits; the sign is one of them.
    private static func shifted(
        _ given: Arguments, _ name: String, _ operation: (UInt, UInt) -> UInt
    ) throws(EvaluationFailure) -> JSON {
        let count = given.second.int ?? 0
        guard count >= 0 else { throw .failed("\(name) can't shift by \(count) bits") }
        let bits = UInt(bitPattern: given.first.int ?? 0)
        return .int(Int(bitPattern: operation(bits, UInt(count))))
    }
}
