import BusJSON

/// `format`: a text whose clauses, such as `%s` and `%.2f`, give way to the elements of a list.
extension TextFunction {
    /// As many digits behind the point as a clause may ask for.
    private static let mostDigits = 100

    static func format(
        _ evaluation: inout Evaluation, _ given: Arguments
    ) throws(EvaluationFailure) -> JSON {
        let scalars = try scalars(given.first, &evaluation)
        let values = given.second.array ?? []
        var used = 0
        var text = ""
        var rest = scalars[...]
        while let scalar = rest.popFirst() {
            guard scalar == "%" else {
                text.unicodeScalars.append(scalar)
                continue
            }
            if rest.first == "%" {
                rest.removeFirst()
                text += "%"
                continue
            }
            let precision = try precision(&rest)
            guard let clause = rest.popFirst() else {
                throw .failed("format ends with %, where a clause begins")
            }
            guard used < values.count else {
                throw .failed("format has more clauses than the \(values.count) values it was given")
            }
            try evaluation.spend()
            try append(values[used], as: clause, precision, to: &text, &evaluation)
            used += 1
        }
        try evaluation.produce(text.utf8.count)
        return .string(text)
    }

    /// The digits behind the point that a clause asks for.
    private static func precision(
        _ rest: inout Substring.UnicodeScalarView
    ) throws(EvaluationFailure) -> Int {
        guard rest.first == "." else { return 6 }
        rest.removeFirst()
        var digits = ""
        while let digit = rest.first, "0"..."9" ~= digit {
            digits.unicodeScalars.append(digit)
            rest.removeFirst()
        }
        guard let precision = Int(digits), precision <= mostDigits else {
            throw .failed("format takes a precision of 0 to \(mostDigits) digits")
        }
        return precision
    }

    private static func append(
        _ value: JSON, as clause: Unicode.Scalar, _ precision: Int, to text: inout String,
        _ evaluation: inout Evaluation
    ) throws(EvaluationFailure) {
        switch (clause, value) {
        case ("s", _): try append(value, to: &text, &evaluation)
        case ("d", .int(let number)): text += String(number)
        case ("d", .double(let number)) where !number.isFinite:
            try evaluation.append(number: value, to: &text)
        case ("d", .double(let number)) where Int(exactly: number) != nil:
            try evaluation.append(value, to: &text)
        case ("f", .int), ("f", .double), ("e", .int), ("e", .double):
            guard let number = value.double, number.isFinite else {
                try evaluation.append(number: value, to: &text)
                return
            }
            // As much work as the longest number is.
            try evaluation.spend(64)
            text +=
                clause == "f"
                ? FixedText.text(of: number, digits: precision)
                : FixedText.scientific(number, digits: precision)
        case ("b", .int(let number)): text += String(number, radix: 2)
        case ("b", .bool(let flag)): text += flag ? "1" : "0"
        case ("o", .int(let number)): text += String(number, radix: 8)
        case ("x", .int(let number)): text += String(number, radix: 16)
        case ("X", .int(let number)): text += String(number, radix: 16, uppercase: true)
        case ("x", .string(let content)), ("X", .string(let content)):
            try evaluation.produce(2 * content.utf8.count)
            for byte in content.utf8 {
                text += (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: clause == "X")
            }
        case ("d", _), ("f", _), ("e", _), ("b", _), ("o", _), ("x", _), ("X", _):
            throw .failed("format can't write \(value.kind) as %\(clause)")
        default: throw .failed("%\(clause) is no clause of format; write %s, %d, %f, %e, %b, %o, %x or %X")
        }
    }

    /// A value as `%s` shows it; maps in the order of their keys.
    private static func append(
        _ value: JSON, to text: inout String, _ evaluation: inout Evaluation
    ) throws(EvaluationFailure) {
        switch value {
        case .null: text += "null"
        case .array(let elements):
            text += "["
            for (index, element) in elements.enumerated() {
                try evaluation.spend()
                if index > 0 { text += ", " }
                try append(element, to: &text, &evaluation)
            }
            text += "]"
        case .object(let object):
            text += "{"
            for (index, member) in object.members.enumerated() {
                try evaluation.spend()
                if index > 0 { text += ", " }
                try evaluation.produce(member.key.utf8.count)
                text += member.key + ": "
                try append(member.value, to: &text, &evaluation)
            }
            text += "}"
        default: try evaluation.append(number: value, to: &text)
        }
    }
}

/// Doubles with a number of digits behind the point, exactly: a tie goes to the even digit.
enum FixedText {
    /// Decimal digits nine by nine, from the lowest up.
    private struct Digits {
        private var limbs: [UInt64] = []

        init(_ number: UInt64) {
            var number = number
            while number > 0 {
                limbs.append(number % 1_000_000_000)
                number /= 1_000_000_000
            }
        }

        /// Multiplies by a power of a small number.
        mutating func multiply(by base: UInt64, _ count: Int) {
            var left = count
            while left > 0 {
                // The largest power whose products fit.
                let step = min(left, 12)
                var (factor, carry): (UInt64, UInt64) = (1, 0)
                for _ in 0..<step { factor *= base }
                for index in limbs.indices {
                    let product = limbs[index] * factor + carry
                    limbs[index] = product % 1_000_000_000
                    carry = product / 1_000_000_000
                }
                if carry > 0 { limbs.append(carry) }
                left -= step
            }
        }

        /// One by one, from the lowest up, without zeros at the end.
        var each: [UInt8] {
            var digits: [UInt8] = []
            for limb in limbs {
                var limb = limb
                for _ in 0..<9 {
                    digits.append(UInt8(limb % 10))
                    limb /= 10
                }
            }
            while digits.last == 0 { digits.removeLast() }
            return digits
        }
    }

    /// All decimal digits of a finite double, from the lowest up, and how many of them stand behind the point.
    private static func exact(_ magnitude: Double) -> (digits: [UInt8], scale: Int) {
        var significand = magnitude.significandBitPattern
        var exponent = -1074
        if magnitude.exponentBitPattern > 0 {
            significand |= 1 << 52
            exponent = Int(magnitude.exponentBitPattern) - 1075
        }
        var digits = Digits(significand)
        // Half of a number is five times it, with one more digit behind the point.
        digits.multiply(by: exponent < 0 ? 5 : 2, abs(exponent))
        return (digits.each, max(0, -exponent))
    }

    /// Leaves out the lowest digits, and rounds.
    private static func rounded(_ digits: [UInt8], leavingOut count: Int) -> [UInt8] {
        guard count > 0 else { return Array(repeating: 0, count: -count) + digits }
        let dropped = digits.prefix(count)
        var kept = Array(digits.dropFirst(count))
        let half = count <= digits.count ? dropped.last ?? 0 : 0
        let hasMore = dropped.dropLast().contains { $0 > 0 }
        let isUp = half > 5 || half == 5 && (hasMore || (kept.first ?? 0) % 2 == 1)
        guard isUp else { return kept }
        for index in kept.indices {
            if kept[index] < 9 {
                kept[index] += 1
                return kept
            }
            kept[index] = 0
        }
        return kept + [1]
    }

    private static func written(_ digits: [UInt8]) -> String {
        String(decoding: digits.reversed().map { $0 + 48 }, as: UTF8.self)
    }

    /// `%.2f`.
    static func text(of number: Double, digits count: Int) -> String {
        let (digits, scale) = exact(number.magnitude)
        var kept = rounded(digits, leavingOut: scale - count)
        while kept.count <= count { kept.append(0) }
        let sign = number.sign == .minus ? "-" : ""
        let whole = sign + written(Array(kept.dropFirst(count)))
        return count == 0 ? whole : whole + "." + written(Array(kept.prefix(count)))
    }

    /// `%.2e`.
    static func scientific(_ number: Double, digits count: Int) -> String {
        let (digits, scale) = exact(number.magnitude)
        var kept = rounded(digits, leavingOut: digits.count - 1 - count)
        var exponent = digits.isEmpty ? 0 : digits.count - 1 - scale
        // 9.99 became 10.0.
        if kept.count > count + 1 {
            kept.removeFirst()
            exponent += 1
        }
        while kept.count < count + 1 { kept.append(0) }
        let sign = number.sign == .minus ? "-" : ""
        let fraction = count == 0 ? "" : "." + written(Array(kept.prefix(count)))
        let power = String(abs(exponent))
        return sign + written([kept[count]]) + fraction + "e" + (exponent < 0 ? "-" : "+")
            + (power.count < 2 ? "0" : "") + power
    }
}
