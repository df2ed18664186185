extension JSONReader {
    /// Takes an integer of at most 18 digits if one comes next, as most numbers are; nil leaves the reader as it was.
    /// Other numbers, and what is none, are for `number`.
    @inlinable @inline(__always)
    public mutating func takeShortInteger() -> Int? {
        var place = cursor
        let isNegative = place < end && place.pointee == UInt8(ascii: "-")
        if isNegative { place += 1 }
        let digits = place
        var magnitude = 0
        while place < end, place.pointee &- 48 < 10 {
            magnitude = magnitude &* 10 &+ Int(place.pointee &- 48)
            place += 1
        }
        let count = place - digits
        guard count > 0, count <= 18, count == 1 || digits.pointee != UInt8(ascii: "0") else { return nil }
        if place < end, place.pointee == UInt8(ascii: ".") || place.pointee | 0x20 == UInt8(ascii: "e") {
            return nil
        }
        cursor = place
        return isNegative ? 0 &- magnitude : magnitude
    }

    /// Takes one to seven digits that are an integer, without a look at which; false leaves the reader as it was.
    @inlinable @inline(__always)
    public mutating func takeDigits() -> Bool {
        let count = Self.digitCount(at: cursor, before: end)
        cursor += count
        return count > 0
    }

    /// How many bytes a whole number of one to seven digits has that stands at a place; 0 where another value does, and close
    /// to the end.
    @inlinable @inline(__always)
    static func digitCount(at place: UnsafePointer<UInt8>, before end: UnsafePointer<UInt8>) -> Int {
        guard end - place >= 8 else { return 0 }
        let marks = ByteScan.nonDigits(UnsafeRawPointer(place).loadUnaligned(as: UInt64.self))
        let count = ByteScan.firstMarked(marks)
        guard marks != 0, count > 0 else { return 0 }
        if count > 1, place.pointee == UInt8(ascii: "0") { return 0 }
        let next = place[count]
        return next == UInt8(ascii: ".") || next | 0x20 == UInt8(ascii: "e") ? 0 : count
    }

    /// Reads one number: an exact integer if the literal has neither fraction nor exponent, else a double.
    public mutating func number() throws(JSONError) -> JSON {
        _ = peek()
        let first = cursor
        var place = cursor
        let negative = place < end && place.pointee == UInt8(ascii: "-")
        if negative { place += 1 }
        let digits = place
        var magnitude: UInt = 0
        while place < end, place.pointee &- 48 < 10 {
            magnitude = magnitude &* 10 &+ UInt(place.pointee &- 48)
            place += 1
        }
        cursor = place
        let count = place - digits
        guard count > 0 else { throw failure(place < end ? .invalidNumber : .unexpectedEnd) }
        if count > 1 && digits.pointee == UInt8(ascii: "0") { throw failure(.invalidNumber) }
        if place < end, place.pointee == UInt8(ascii: ".") || place.pointee | 0x20 == UInt8(ascii: "e") {
            return .double(try double(from: first, magnitude, digits: count, negative: negative))
        }
        // Nineteen digits fit a magnitude of 64 bits whatever they are. A minus zero is the integer 0.
        guard count <= 19, magnitude <= Int.max.magnitude + (negative ? 1 : 0) else {
            throw failure(.integerOutOfRange)
        }
        return .int(Int(truncatingIfNeeded: negative ? 0 &- magnitude : magnitude))
    }

    /// Reads the fraction and the exponent of a number whose integer digits have been taken.
    private mutating func double(
        from first: UnsafePointer<UInt8>, _ integer: UInt, digits: Int, negative: Bool
    ) throws(JSONError) -> Double {
        var magnitude = integer
        var digits = digits
        var exponent = 0
        if cursor.pointee == UInt8(ascii: ".") {
            cursor += 1
            let fraction = cursor
            while cursor < end, cursor.pointee &- 48 < 10 {
                magnitude = magnitude &* 10 &+ UInt(cursor.pointee &- 48)
                cursor += 1
            }
            let count = cursor - fraction
            guard count > 0 else { throw failure(cursor < end ? .invalidNumber : .unexpectedEnd) }
            digits += count
            exponent = -count
        }
        if cursor < end, cursor.pointee | 0x20 == UInt8(ascii: "e") {
            exponent += try exponentPart()
        }
        // A whole number of 53 bits, times or divided by a power of ten that is a double, rounds once: exact.
        if digits <= 19, magnitude <= 1 << 53, abs(exponent) <= 22 {
            let power = PowersOfTen.upTo22[abs(exponent)]
            let value = exponent < 0 ? Double(magnitude) / power : Double(magnitude) * power
            return negative ? -value : value
        }
        let text = UnsafeRawBufferPointer(start: first, count: cursor - first)
        guard let value = Double(Self.text(ascii: text)), value.isFinite else {
            throw failure(.numberOutOfRange)
        }
        return value
    }

    /// Reads an exponent with its `e`; one beyond all doubles is given as a large one.
    private mutating func exponentPart() throws(JSONError) -> Int {
        cursor += 1
        var negative = false
        if cursor < end, cursor.pointee == UInt8(ascii: "+") || cursor.pointee == UInt8(ascii: "-") {
            negative = cursor.pointee == UInt8(ascii: "-")
            cursor += 1
        }
        let first = cursor
        var value = 0
        while cursor < end, cursor.pointee &- 48 < 10 {
            value = min(value &* 10 &+ Int(cursor.pointee &- 48), 100_000_000)
            cursor += 1
        }
        guard cursor > first else { throw failure(cursor < end ? .invalidNumber : .unexpectedEnd) }
        return negative ? -value : value
    }
}

/// The powers of ten that are doubles exactly.
enum PowersOfTen {
    static let upTo22: InlineArray<23, Double> = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
        1e18,
        1e19, 1e20, 1e21, 1e22,
    ]
}
