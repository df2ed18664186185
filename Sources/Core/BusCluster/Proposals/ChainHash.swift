/// A link of a chain of hashes: equal only where everything that went into the chain is. Half of a SHA-256.
package struct ChainHash: Hashable, Sendable {
    package let first: UInt64
    package let second: UInt64

    package init(first: UInt64, second: UInt64) {
        self.first = first
        self.second = second
    }

    /// Where a chain begins.
    package static let zero = ChainHash(first: 0, second: 0)

    /// The next link of the chain, which covers this one and whatever `fill` adds.
    package func next(_ fill: (inout SHA256) -> Void) -> ChainHash {
        var digest = SHA256()
        digest.add(Int(bitPattern: UInt(first)))
        digest.add(Int(bitPattern: UInt(second)))
        fill(&digest)
        let bytes = digest.finish()
        return bytes.withUnsafeBytes { bytes in
            ChainHash(
                first: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                second: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        }
    }

    /// A UUID (version 8) that follows from the link, so that all who have it choose the same.
    package var uuid: String {
        let digits = text
        func part(_ range: Range<Int>) -> Substring {
            digits[
                digits.index(
                    digits.startIndex, offsetBy: range.lowerBound)..<digits.index(
                        digits.startIndex, offsetBy: range.upperBound)]
        }
        return "\(part(0..<8))-\(part(8..<12))-8\(part(13..<16))-a\(part(17..<20))-\(part(20..<32))"
    }

    /// 32 hexadecimal digits.
    package var text: String {
        [first, second].map { half in
            let digits = String(half, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}

/// A place in the shared log with what a replica had made of everything up to there.
package struct ChainLink: Equatable, Sendable {
    package let place: Int
    /// Of what went in: it differs where the log had something else.
    package let input: ChainHash
    /// Of what came out: it differs where the same was carried out in another way.
    package let output: ChainHash

    package init(place: Int, input: ChainHash, output: ChainHash) {
        self.place = place
        self.input = input
        self.output = output
    }

    /// Before the first entry.
    package static let beginning = ChainLink(place: 0, input: .zero, output: .zero)
}
