/// Decodes a body whose length its sender does not know (RFC 9112, 7.1): chunks, each behind its size, and trailers.
///
/// Strict: what two readers could understand differently is refused. Extensions and trailers are checked, counted and dropped.
///
/// Pure. It holds what is decoded, and at most one line.
package struct ChunkedBody {
    private enum Part: Equatable {
        case size
        case data(left: Int)
        /// The line end behind a chunk.
        case dataEnd
        case trailers
        case complete
    }

    /// Bytes of a line: a size with its extensions, or a trailer.
    package static let longestLine = 1024
    /// As many as a size of 64 bits has.
    private static let mostDigits = 16

    private let limit: Int
    private let mostExtras: Int
    private var part = Part.size
    private var line: [UInt8] = []
    private var lineIsEnding = false
    /// Bytes of extensions and trailers so far.
    private var extras = 0
    package private(set) var content: [UInt8] = []

    /// - Parameters:
    ///   - limit: Bytes that the content may have.
    ///   - mostExtras: Bytes that all extensions and trailers may have.
    package init(atMost limit: Int, extras mostExtras: Int) {
        (self.limit, self.mostExtras) = (limit, mostExtras)
    }

    package var isComplete: Bool { part == .complete }

    /// For those who only look for its end.
    mutating func forgetContent() { content = [] }

    /// Takes bytes up to the end of the body.
    /// - Returns: How many it took; fewer than there are only if the body is complete.
    package mutating func take(_ bytes: ArraySlice<UInt8>) throws(RequestHead.Refusal) -> Int {
        var rest = bytes
        while let byte = rest.first, part != .complete {
            if case .data(let left) = part {
                let data = rest.prefix(left)
                content += data
                rest = rest.dropFirst(data.count)
                part = data.count == left ? .dataEnd : .data(left: left - data.count)
                continue
            }
            rest = rest.dropFirst()
            if lineIsEnding {
                guard byte == 0x0a else { throw .malformed }
                try takeLine()
                lineIsEnding = false
                line.removeAll(keepingCapacity: true)
            } else if byte == 0x0d {
                lineIsEnding = true
            } else {
                guard RequestHead.isTextByte(byte), line.count < (part == .dataEnd ? 0 : Self.longestLine)
                else { throw .malformed }
                line.append(byte)
            }
        }
        return bytes.count - rest.count
    }

    private mutating func takeLine() throws(RequestHead.Refusal) {
        switch part {
        case .size:
            let size = try takeSize()
            part = size > 0 ? .data(left: size) : .trailers
        case .dataEnd: part = .size
        case .trailers where line.isEmpty: part = .complete
        case .trailers:
            _ = try RequestHead.field(line)
            try count(line.count)
        case .data, .complete: preconditionFailure("Only lines end.")
        }
    }

    private mutating func takeSize() throws(RequestHead.Refusal) -> Int {
        let digits = line.prefix { $0 != UInt8(ascii: ";") }
        let size = digits.reduce(0 as UInt64?) { size, digit in
            size.flatMap { size in
                Character(Unicode.Scalar(digit)).hexDigitValue.map { size << 4 | UInt64($0) }
            }
        }
        guard let size, 1...Self.mostDigits ~= digits.count else { throw .malformed }
        try count(line.count - digits.count)
        guard size <= UInt64(limit - content.count) else { throw .bodyTooLarge(limit) }
        return Int(size)
    }

    private mutating func count(_ bytes: Int) throws(RequestHead.Refusal) {
        extras += bytes
        guard extras <= mostExtras else {
            throw .init(
                status: 413,
                reason: "The extensions and trailers of a chunked body have at most \(mostExtras) bytes.")
        }
    }
}
