#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

extension JSONReader {
    /// Reads one number: an exact integer if the literal has neither fraction nor exponent, else a double.
    public mutating func number() throws(JSONError) -> JSON {
        let first = cursor
        let negative = cursor < end && cursor.pointee == UInt8(ascii: "-")
        if negative { cursor += 1 }
        guard cursor < end else { throw failure(.unexpectedEnd) }
        guard isDigit(cursor.pointee) else { throw failure(.invalidNumber) }

        // Digits are gathered as a negative number, whose range is one larger.
        var value = 0
        var overflow = false
        let leadingZero = cursor.pointee == UInt8(ascii: "0")
        let digits = cursor
        while cursor < end, isDigit(cursor.pointee) {
            let (shifted, high) = value.multipliedReportingOverflow(by: 10)
            let (sum, low) = shifted.subtractingReportingOverflow(Int(cursor.pointee &- 48))
            overflow = overflow || high || low
            value = sum
            cursor += 1
        }
        if leadingZero && cursor - digits > 1 { throw failure(.invalidNumber) }
        if cursor < end {
            let byte = cursor.pointee
            if byte == UInt8(ascii: ".") || byte | 0x20 == UInt8(ascii: "e") {
                return .double(try double(from: first))
            }
        }
        // A minus zero without a fraction is the integer 0.
        guard !overflow, negative || value != Int.min else { throw failure(.integerOutOfRange) }
        return .int(negative ? value : -value)
    }

    private mutating func double(from first: UnsafePointer<UInt8>) throws(JSONError) -> Double {
        if cursor.pointee == UInt8(ascii: ".") {
            cursor += 1
            try digitRun()
        }
        if cursor < end, cursor.pointee | 0x20 == UInt8(ascii: "e") {
            cursor += 1
            if cursor < end, cursor.pointee == UInt8(ascii: "+") || cursor.pointee == UInt8(ascii: "-") {
                cursor += 1
            }
            try digitRun()
        }
        let text = UnsafeRawBufferPointer(start: first, count: cursor - first)
        guard let value = Double(String(decoding: text, as: UTF8.self)), value.isFinite else {
            throw failure(.numberOutOfRange)
        }
        return value
    }

    private mutating func digitRun() throws(JSONError) {
        guard cursor < end else { throw failure(.unexpectedEnd) }
        guard isDigit(cursor.pointee) else { throw failure(.invalidNumber) }
        while cursor < end, isDigit(cursor.pointee) { cursor += 1 }
    }

    private func isDigit(_ byte: UInt8) -> Bool { byte &- 48 < 10 }
}
