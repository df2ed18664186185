#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Reads JSON in place from a run of bytes, strictly by RFC 8259, and stricter where the RFC leaves doubt:
/// duplicate keys, lone surrogates, bad UTF-8, and integers outside 64 bits are refused.
///
/// Nothing is allocated but what the values themselves need. Nesting is bounded by `depthLimit`, so the
/// reader's recursion is too.
public struct JSONReader {
    @usableFromInline let start: UnsafePointer<UInt8>
    @usableFromInline var cursor: UnsafePointer<UInt8>
    @usableFromInline let end: UnsafePointer<UInt8>

    /// How many levels of arrays and objects may still be opened.
    @usableFromInline var levelsLeft: Int

    /// Reads `bytes`, which must outlive the reader.
    @inlinable
    public init(_ bytes: UnsafeRawBufferPointer, depthLimit: Int = 64) {
        let base = bytes.baseAddress ?? UnsafeRawPointer(Self.nothing)
        start = base.assumingMemoryBound(to: UInt8.self)
        cursor = start
        end = start + bytes.count
        levelsLeft = depthLimit
    }

    /// What an empty buffer points at.
    @usableFromInline nonisolated(unsafe) static let nothing = UnsafeMutablePointer<UInt8>.allocate(
        capacity: 1)

    /// Where the reader stands, in bytes from the start.
    @inlinable public var offset: Int { cursor - start }
    @inlinable public var isAtEnd: Bool { cursor == end }

    /// The bytes between two offsets.
    @inlinable
    public func bytes(from lower: Int, to upper: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: start + lower, count: upper - lower)
    }

    @usableFromInline
    func failure(_ reason: JSONError.Reason) -> JSONError { JSONError(reason, at: offset) }

    /// Skips white space and gives the next byte without taking it; nil at the end.
    @inlinable @inline(__always)
    public mutating func peek() -> UInt8? {
        if cursor < end, cursor.pointee > 0x20 { return cursor.pointee }
        return peekBehindSpace()
    }

    @usableFromInline
    mutating func peekBehindSpace() -> UInt8? {
        while cursor < end {
            let byte = cursor.pointee
            guard byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 else { return byte }
            cursor += 1
        }
        return nil
    }

    /// Skips white space and takes `byte` if it comes next.
    @inlinable @inline(__always)
    public mutating func take(_ byte: UInt8) -> Bool {
        guard peek() == byte else { return false }
        cursor += 1
        return true
    }

    /// Takes `byte`, which must come next.
    @inlinable @inline(__always)
    public mutating func expect(_ byte: UInt8) throws(JSONError) {
        guard peek() == byte else { throw failure(isAtEnd ? .unexpectedEnd : .unexpectedByte) }
        cursor += 1
    }

    /// Takes bytes that have been looked at.
    @inlinable @inline(__always)
    public mutating func skip(_ count: Int) {
        precondition(count <= end - cursor, "A reader can't skip what is not there.")
        cursor += count
    }

    /// Goes back to where the reader stood before, by that offset.
    @inlinable @inline(__always)
    public mutating func goBack(to offset: Int) {
        precondition(offset >= 0 && offset <= self.offset, "A reader goes back to where it was.")
        cursor = start + offset
    }

    /// Takes these bytes if they come next, as they are; false leaves the reader as it was.
    @inlinable @inline(__always)
    public mutating func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard end - cursor >= bytes.count, let first = bytes.baseAddress,
            memcmp(cursor, first, bytes.count) == 0
        else { return false }
        cursor += bytes.count
        return true
    }

    /// Makes sure that nothing but white space follows.
    public mutating func expectEnd() throws(JSONError) {
        if peek() != nil { throw failure(.trailingBytes) }
    }

    /// Opens a level of nesting; `leave` closes it.
    @inlinable
    public mutating func enter() throws(JSONError) {
        guard levelsLeft > 0 else { throw failure(.tooDeep) }
        levelsLeft -= 1
    }

    @inlinable public mutating func leave() { levelsLeft += 1 }

    /// How many levels may still be opened.
    @inlinable public var depthLeft: Int { levelsLeft }

    /// Closes several levels of nesting; opens them where the number is negative.
    @inlinable @inline(__always)
    public mutating func leave(by levels: Int) { levelsLeft += levels }

    /// Reads one value of any kind.
    public mutating func value() throws(JSONError) -> JSON {
        guard let byte = peek() else { throw failure(.unexpectedEnd) }
        switch byte {
        case UInt8(ascii: "{"): return .object(try object())
        case UInt8(ascii: "["): return .array(try array())
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            if let integer = takeShortInteger() { return .int(integer) }
            return try number()
        case UInt8(ascii: "t"):
            try literal("true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try literal("false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try literal("null")
            return .null
        default:
            throw failure(.unexpectedByte)
        }
    }

    /// Reads one object.
    public mutating func object() throws(JSONError) -> JSONObject {
        try open(UInt8(ascii: "{"))
        defer { levelsLeft += 1 }
        if take(UInt8(ascii: "}")) { return JSONObject() }
        let result = withUnsafeTemporaryAllocation(of: JSONObject.Member.self, capacity: MemberList.fewest) {
            var members = MemberList($0)
            return readMembers(into: &members)
        }
        return try result.get()
    }

    /// Reads one object in the place of another: where both have the same members in the same order, only values are
    /// replaced, and nothing is allocated. After an error `object` holds anything.
    public mutating func object(replacing object: inout JSONObject) throws(JSONError) {
        let first = cursor
        if try !updateMembers(of: &object) {
            cursor = first
            object = try self.object()
        }
    }

    /// Reads values into the members of `object` as long as the same keys come; false if others or fewer do.
    private mutating func updateMembers(of object: inout JSONObject) throws(JSONError) -> Bool {
        let count = object.storage.count
        guard count > 0, levelsLeft > 0, take(UInt8(ascii: "{")) else { return false }
        levelsLeft -= 1
        defer { levelsLeft += 1 }
        var index = 0
        while true {
            guard peek() == UInt8(ascii: "\""), takeKey(like: object.storage[index].key) else { return false }
            try expect(UInt8(ascii: ":"))
            _ = peek()
            if let integer = takeShortInteger() {
                object.storage[index].value = .int(integer)
            } else {
                object.storage[index].value = try value()
            }
            index += 1
            if index == count { return take(UInt8(ascii: "}")) }
            guard take(UInt8(ascii: ",")) else { return false }
        }
    }

    /// Takes a string if it is `key`, and `key` a short one without escapes.
    @inline(__always)
    private mutating func takeKey(like key: String) -> Bool {
        guard let wanted = SmallText(key) else { return false }
        let count = wanted.count
        guard end - cursor >= count + 2 else { return false }
        // The closing quote must be the first byte that can't stand in a string as it is: then there is no escape.
        if count < 8 {
            let word = word(at: cursor + 1)
            guard ByteScan.firstMarked(ByteScan.specials(word)) == count,
                ByteScan.keep(word, count) == wanted.low
            else { return false }
        } else {
            let (low, high) = (word(at: cursor + 1), word(at: cursor + 9))
            guard ByteScan.specials(low) == 0, low == wanted.low,
                ByteScan.firstMarked(ByteScan.specials(high)) == count - 8,
                ByteScan.keep(high, count - 8) == wanted.rest
            else { return false }
        }
        guard cursor[count + 1] == UInt8(ascii: "\"") else { return false }
        cursor += count + 2
        return true
    }

    /// The eight bytes from a place on, the first of them lowest; zeros stand for those behind the end. Where there are
    /// not eight bytes in all, it gives 0.
    @inline(__always)
    private func word(at place: UnsafePointer<UInt8>) -> UInt64 {
        let missing = 8 - (end - place)
        if missing <= 0 { return UnsafeRawPointer(place).loadUnaligned(as: UInt64.self) }
        guard end - start >= 8 else { return 0 }
        return UnsafeRawPointer(end - 8).loadUnaligned(as: UInt64.self) >> UInt64(8 * missing)
    }

    private mutating func readMembers(into members: inout MemberList) -> Result<JSONObject, JSONError> {
        do throws(JSONError) {
            repeat {
                guard let quote = peek() else { throw failure(.unexpectedEnd) }
                guard quote == UInt8(ascii: "\"") else { throw failure(.unexpectedByte) }
                let place = offset
                let key = try string()
                try expect(UInt8(ascii: ":"))
                guard members.add(key, try value()) else { throw JSONError(.duplicateKey, at: place) }
            } while take(UInt8(ascii: ","))
            let closing = offset
            try expect(UInt8(ascii: "}"))
            guard let object = members.finish() else { throw JSONError(.duplicateKey, at: closing) }
            return .success(object)
        } catch {
            members.discard()
            return .failure(error)
        }
    }

    /// Reads one array.
    public mutating func array() throws(JSONError) -> [JSON] {
        try open(UInt8(ascii: "["))
        defer { levelsLeft += 1 }
        if take(UInt8(ascii: "]")) { return [] }
        let result = withUnsafeTemporaryAllocation(of: JSON.self, capacity: ElementList.fewest) {
            var elements = ElementList($0)
            return readElements(into: &elements)
        }
        return try result.get()
    }

    private mutating func readElements(into elements: inout ElementList) -> Result<[JSON], JSONError> {
        do throws(JSONError) {
            repeat { elements.add(try value()) } while take(UInt8(ascii: ","))
            try expect(UInt8(ascii: "]"))
            return .success(elements.finish())
        } catch {
            elements.discard()
            return .failure(error)
        }
    }

    /// Takes the bracket that opens a level of nesting.
    private mutating func open(_ bracket: UInt8) throws(JSONError) {
        try expect(bracket)
        guard levelsLeft > 0 else { throw JSONError(.tooDeep, at: offset - 1) }
        levelsLeft -= 1
    }

    mutating func literal(_ word: StaticString) throws(JSONError) {
        let length = word.utf8CodeUnitCount
        guard end - cursor >= length else { throw failure(.unexpectedEnd) }
        for index in 0..<length where cursor[index] != word.utf8Start[index] {
            throw failure(.invalidLiteral)
        }
        cursor += length
    }
}
