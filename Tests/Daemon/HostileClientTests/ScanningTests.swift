import BusJSON
import BusProtocol
import TestSupport
import Testing

/// What looks at many bytes at once sees what looking at each would see.
struct ScanningTests {
    /// Bytes as they stand in lines, the rare ones often.
    private static let alphabet = Array(#"[]{}",\ab 0é"#.utf8) + [0x01, 0x1f, 0x5b, 0x7b, 0xff]

    private static func bytes(_ count: Int, _ random: inout SeededGenerator) -> [UInt8] {
        let rare = Bool.random(using: &random)
        return (0..<count).map { _ in
            rare && Int.random(in: 0..<20, using: &random) > 0
                ? UInt8(ascii: "x") : alphabet.randomElement(using: &random)!
        }
    }

    /// How much a buffer says that it holds is what it would hand over, whatever has come and gone.
    @Test func heldBytesAreWhatIsHeld() {
        var random = SeededGenerator(seed: 3)
        for _ in 0..<200 {
            var buffer = LineBuffer(longest: 40, deepest: 3)
            for _ in 0..<40 {
                var bytes = Self.bytes(Int.random(in: 0..<60, using: &random), &random)
                for place in bytes.indices where random.oneIn(12) { bytes[place] = 10 }
                switch Int.random(in: 0..<8, using: &random) {
                case 0: buffer.clear()
                case 1: bytes.withUnsafeBytes { buffer.takeOver($0, isSkipping: random.oneIn(2)) }
                case 2, 3: bytes.withUnsafeBytes { buffer.hold($0) }
                case 4: buffer.resume { _ in !random.oneIn(2) }
                default: bytes.withUnsafeBytes { buffer.feed($0) { _ in !random.oneIn(3) } }
                }
                #expect(buffer.heldBytes == buffer.rest.bytes.count)
            }
        }
    }

    @Test func weightCountsWhatOpensAndSeparates() {
        var random = SeededGenerator(seed: 1)
        for count in Array(0..<70) + [2040, 2048, 4100, 5000] {
            for _ in 0..<20 {
                let line = Self.bytes(count, &random)
                let weight = line.withUnsafeBytes { LineWeight($0) }
                #expect(
                    weight.containers
                        == line.count { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "{") })
                #expect(weight.commas == line.count { $0 == UInt8(ascii: ",") })
            }
        }
        // All that can be in a line, as often as it can be.
        let full = [UInt8](repeating: UInt8(ascii: "{"), count: 1 << 20)
        #expect(full.withUnsafeBytes { LineWeight($0).containers } == 1 << 20)
    }

    @Test func whatStandsInTextsOpensNothing() {
        var random = SeededGenerator(seed: 4)
        for _ in 0..<3000 {
            let line = Self.bytes(Int.random(in: 0..<200, using: &random), &random)
            let opening = Self.withoutTexts(line).count { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "{") }
            #expect(line.withUnsafeBytes { LineWeight.containers(in: $0) } == opening, "\(line)")
        }
    }

    /// How deep a line is nested: its texts are taken out first, and of what is left a running sum tells.
    private static func depth(_ line: [UInt8]) -> Int {
        let steps = withoutTexts(line).map { byte in
            Array("[{".utf8).contains(byte) ? 1 : Array("]}".utf8).contains(byte) ? -1 : 0
        }
        return steps.indices.map { steps[...$0].reduce(0, +) }.max().map { max(0, $0) } ?? 0
    }

    /// A text ends at the first quotation mark behind an even number of backslashes.
    private static func withoutTexts(_ line: [UInt8]) -> [UInt8] {
        let mark = UInt8(ascii: "\"")
        guard let start = line.firstIndex(of: mark) else { return line }
        let inside = Array(line[(start + 1)...])
        let end = inside.indices.first { place in
            inside[place] == mark
                && inside[..<place].reversed().prefix { $0 == UInt8(ascii: "\\") }.count.isMultiple(of: 2)
        }
        let rest = end.map { withoutTexts(Array(inside[($0 + 1)...])) } ?? []
        return line[..<start] + rest
    }

    @Test func unfinishedLinesAreRefusedWhereTheyAreTooDeep() {
        var random = SeededGenerator(seed: 2)
        for _ in 0..<3000 {
            let line = Self.bytes(Int.random(in: 0..<200, using: &random), &random)
            let deepest = Int.random(in: 1..<12, using: &random)
            var buffer = LineBuffer(longest: 1000, deepest: deepest)
            var isRefused = false
            // In pieces of any size, and without an end.
            var place = 0
            while place < line.count {
                let end = min(line.count, place + Int.random(in: 1..<40, using: &random))
                line[place..<end].withUnsafeBytes { piece in
                    buffer.feed(piece) {
                        if case .tooDeep = $0 { isRefused = true }
                        return true
                    }
                }
                place = end
            }
            #expect(isRefused == (Self.depth(line) > deepest), "\(line) at \(deepest)")
        }
    }

    @Test func textsAreMeasuredAsTheyAreWritten() throws {
        var random = SeededGenerator(seed: 3)
        for count in 0..<200 {
            for place in [0, count / 2, count - 1, count] {
                var text = String(repeating: "x", count: count)
                if let special = ["\"", "\\", "\n", "é", "\u{7f}", "🎈", nil].randomElement(using: &random)! {
                    let index = text.index(text.startIndex, offsetBy: max(0, min(place, count)))
                    text.insert(contentsOf: special, at: index)
                }
                let value = JSON.string(text)
                #expect(value.encodedSize == value.encoded.utf8.count)
                #expect(try JSON(parsing: value.encoded) == value)
            }
        }
    }
}
