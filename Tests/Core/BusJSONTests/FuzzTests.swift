import BusJSON
import Foundation
import TestSupport
import Testing

/// Random and broken lines through the reader. It never crashes or reads beyond the line, and what it takes
/// means the same after being written and read again.
@Suite("Fuzzing the reader")
struct FuzzTests {
    // An address checker slows each line down, so that debug builds read fewer.
    #if DEBUG || SANITIZE
        static let linesForEachSeed = 2000
    #else
        static let linesForEachSeed = 20_000
    #endif

    @Test(arguments: 0..<16)
    func noLineBreaksTheReader(seed: UInt64) {
        var generator = SeededGenerator(seed: 0xf022 + seed)
        var taken = 0
        for _ in 0..<Self.linesForEachSeed {
            let line = randomLine(using: &generator)
            guard case .success(let value) = readExactly(line) else { continue }
            taken += 1
            let encoded = Array(value.encoded.utf8)
            guard readExactly(encoded) == .success(value), value.encodedSize == encoded.count else {
                Issue.record("seed \(seed): \(line) changed when it was written and read again")
                return
            }
        }
        // Neither nearly all nor nearly none are taken: the lines test both ways.
        #expect(taken > Self.linesForEachSeed / 20 && taken < Self.linesForEachSeed * 19 / 20)
    }

    /// In a process of its own: in this one other tests take memory meanwhile.
    @Test func refusedLinesLeaveNothingBehind() async {
        await #expect(processExitsWith: .success) {
            let text = String(repeating: "x", count: 4096)
            let lines = [
                "{\"a\":\"\(text)\",\"b\":[\"\(text)\",", "[\"\(text)\",{\"\(text)\":1,\"\(text)\":2}]",
            ].map { Array($0.utf8) }
            let before = try FuzzTests.residentPages()
            for _ in 0..<10_000 {
                for line in lines { _ = readExactly(line) }
            }
            // Kept, they would be 150 MiB.
            let grown = try FuzzTests.residentPages() - before
            #expect(grown * Int(getpagesize()) < 64 << 20)
        }
    }

    private static func residentPages() throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        return try #require(Int(text.split(separator: " ")[1]))
    }

    @Test func halvesOfLinesAreReadWithoutReadingOn() {
        var generator = SeededGenerator(seed: 11)
        for _ in 0..<200 {
            let line = disguised(.object(randomJSONObject(using: &generator, depth: 2)), using: &generator)
            for length in 0..<min(line.count, 200) { _ = readExactly(Array(line[..<length])) }
        }
    }
}

/// Gives a line as a client might send it: sound, broken, or noise.
func randomLine(using generator: inout SeededGenerator) -> [UInt8] {
    switch Int.random(in: 0..<10, using: &generator) {
    case 0: return randomSoup(using: &generator)
    case 1:
        return (0..<Int.random(in: 0...30, using: &generator)).map { _ in
            UInt8.random(in: 0...255, using: &generator)
        }
    case 2, 3: return disguised(randomJSON(using: &generator, depth: 3), using: &generator)
    default:
        return mutated(
            disguised(randomJSON(using: &generator, depth: 3), using: &generator), using: &generator)
    }
}
