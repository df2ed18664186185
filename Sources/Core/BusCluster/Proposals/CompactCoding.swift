/// Writes numbers and bytes in few bytes.
struct CompactWriter {
    private(set) var bytes: [UInt8] = []

    mutating func add(byte: UInt8) { bytes.append(byte) }

    /// A number that is not negative.
    mutating func add(_ number: Int) {
        precondition(number >= 0, "Only numbers from 0 on are written.")
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    mutating func add(_ block: [UInt8]) {
        add(block.count)
        bytes += block
    }

    mutating func add(_ text: String) { add(Array(text.utf8)) }

    mutating func add(_ hash: ChainHash) {
        for half in [hash.first, hash.second] {
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: half >> UInt64(shift)))
            }
        }
    }

    mutating func add(_ link: ChainLink) {
        add(link.place)
        add(link.input)
        add(link.output)
    }
}

/// Reads what `CompactWriter` has written, or what somebody says that it has: nil where it can't have.
struct CompactReader {
    private let bytes: [UInt8]
    private var place = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { place == bytes.count }

    mutating func byte() -> UInt8? {
        guard place < bytes.count else { return nil }
        defer { place += 1 }
        return bytes[place]
    }

    mutating func number() -> Int? {
        var value = 0
        for shift in stride(from: 0, to: 63, by: 7) {
            guard let next = byte() else { return nil }
            value |= Int(next & 0x7f) << shift
            if next & 0x80 == 0 {
                // The shortest form only: equal numbers are equal bytes.
                return next == 0 && shift > 0 ? nil : value
            }
        }
        return nil
    }

    mutating func block(most: Int) -> [UInt8]? {
        guard let count = number(), count <= most, count <= bytes.count - place else { return nil }
        defer { place += count }
        return Array(bytes[place..<place + count])
    }

    /// Text that is well-formed.
    mutating func text(most: Int) -> String? {
        block(most: most).flatMap { String(validating: $0, as: UTF8.self) }
    }

    mutating func hash() -> ChainHash? {
        guard bytes.count - place >= 16 else { return nil }
        var halves: [UInt64] = [0, 0]
        for index in 0..<16 { halves[index / 8] = halves[index / 8] << 8 | UInt64(bytes[place + index]) }
        place += 16
        return ChainHash(first: halves[0], second: halves[1])
    }

    mutating func link() -> ChainLink? {
        guard let place = number(), let input = hash(), let output = hash() else { return nil }
        return ChainLink(place: place, input: input, output: output)
    }
}
