import BusJSON

/// Reads strict JSON, as the wire does, into values that know their places.
package struct LocatedJSONReader {
    private let source: SourceText
    private var reader: JSONReader

    package static func document(_ source: SourceText, depthLimit: Int) throws(SourceError) -> LocatedValue {
        let result: Result<LocatedValue, SourceError> = source.bytes.withUnsafeBytes { bytes in
            do throws(SourceError) {
                var located = LocatedJSONReader(
                    source: source, reader: JSONReader(bytes, depthLimit: depthLimit))
                let value = try located.value(levelsLeft: depthLimit)
                try located.check { (reader: inout JSONReader) throws(JSONError) in try reader.expectEnd() }
                return .success(value)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private mutating func value(levelsLeft: Int) throws(SourceError) -> LocatedValue {
        let next = reader.peek()
        let place = source.place(of: reader.offset)
        guard next == UInt8(ascii: "{") || next == UInt8(ascii: "[") else {
            do throws(JSONError) {
                return LocatedValue(.scalar(try reader.value()), at: place)
            } catch {
                // What is wrong with a number is wrong with the whole of it.
                let isNumber = [.invalidNumber, .integerOutOfRange, .numberOutOfRange].contains(error.reason)
                throw failure(error, at: isNumber ? place : source.place(of: error.offset))
            }
        }
        guard levelsLeft > 0 else { throw SourceError(LocatedValue.tooDeep, at: place) }
        if next == UInt8(ascii: "[") {
            return LocatedValue(.array(try array(levelsLeft: levelsLeft - 1)), at: place)
        }
        return LocatedValue(.object(try object(at: place, levelsLeft: levelsLeft - 1)), at: place)
    }

    private mutating func array(levelsLeft: Int) throws(SourceError) -> [LocatedValue] {
        try expect(UInt8(ascii: "["))
        var elements: [LocatedValue] = []
        if reader.take(UInt8(ascii: "]")) { return elements }
        repeat { elements.append(try value(levelsLeft: levelsLeft)) } while reader.take(UInt8(ascii: ","))
        try expect(UInt8(ascii: "]"))
        return elements
    }

    private mutating func object(at place: Place, levelsLeft: Int) throws(SourceError) -> LocatedObject {
        try expect(UInt8(ascii: "{"))
        var members: [LocatedObject.Member] = []
        if reader.take(UInt8(ascii: "}")) { return try LocatedObject(members, at: place) }
        repeat {
            _ = reader.peek()
            let keyPlace = source.place(of: reader.offset)
            let key = try check { (reader: inout JSONReader) throws(JSONError) in try reader.string() }
            try expect(UInt8(ascii: ":"))
            members.append(.init(key: key, place: keyPlace, value: try value(levelsLeft: levelsLeft)))
        } while reader.take(UInt8(ascii: ","))
        try expect(UInt8(ascii: "}"))
        return try LocatedObject(members, at: place)
    }

    private mutating func expect(_ byte: UInt8) throws(SourceError) {
        try check { (reader: inout JSONReader) throws(JSONError) in try reader.expect(byte) }
    }

    /// Lets the strict reader take a step and gives its complaint a place.
    private mutating func check<Value>(
        _ step: (inout JSONReader) throws(JSONError) -> Value
    ) throws(SourceError) -> Value {
        do throws(JSONError) {
            return try step(&reader)
        } catch {
            throw failure(error, at: source.place(of: error.offset))
        }
    }

    private func failure(_ error: JSONError, at place: Place) -> SourceError {
        SourceError("This is not JSON: \(error.what).", at: place)
    }
}

extension JSONError {
    /// The description without the byte, which the line and column stand for.
    fileprivate var what: String {
        guard let end = description.firstRange(of: " (byte ") else { return description }
        return String(description[..<end.lowerBound])
    }
}
