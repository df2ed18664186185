import BusJSON
import Foundation
import TestSupport
import Testing

/// Foundation's parser as an independent judge of the same bytes.
@Suite("Against an independent parser")
struct OracleTests {
    // A debug build takes its time, the more so under an address checker.
    #if DEBUG || SANITIZE
        static let linesForEachSeed = 1000
    #else
        static let linesForEachSeed = 8000
    #endif

    @Test(arguments: 0..<8)
    func whatIsTakenIsJSONAndMeansTheSame(seed: UInt64) throws {
        var generator = SeededGenerator(seed: 0x0ac1e + seed)
        for _ in 0..<Self.linesForEachSeed {
            let line = randomLine(using: &generator)
            let theirs = judged(line)
            let text = String(decoding: line, as: UTF8.self)
            switch readExactly(line) {
            case .success(let value):
                let meaning = try #require(theirs, "seed \(seed), taken against the judge: \(text)")
                #expect(agrees(value, meaning), "seed \(seed), another meaning: \(text)")
            case .failure(let error):
                guard theirs != nil else { continue }
                #expect(isStricter(error, line), "seed \(seed), refused against the judge: \(error) \(text)")
            }
        }
    }

    @Test(arguments: [
        "{\"a\":1,\"a\":2}", "{\"a\":1,\"\\u0061\":2}", "9223372036854775808",
        "1234567890123456789012345678900",
        String(repeating: "[", count: 65) + String(repeating: "]", count: 65), "\u{feff}1", "[1,]",
        "{\"a\":1 , }",
        "1\u{0}", "\u{0}1",
    ])
    func weAreStricterByIntention(text: String) throws {
        let line = Array(text.utf8)
        guard case .failure(let error) = readExactly(line) else {
            Issue.record("taken: \(text)")
            return
        }
        #expect(judged(line) != nil && isStricter(error, line))
    }

    private func judged(_ line: [UInt8]) -> Any? {
        try? JSONSerialization.jsonObject(with: Data(line), options: .fragmentsAllowed)
    }

    /// Whether we refused for a reason that the judge does not have.
    private func isStricter(_ error: JSONError, _ line: [UInt8]) -> Bool {
        switch error.reason {
        // It takes the last of several members, integers of any length as decimals, and 512 levels.
        case .duplicateKey, .integerOutOfRange, .tooDeep: return true
        default: break
        }
        // It takes UTF-16 and UTF-32, which it tells by zeros, and a byte order mark.
        if line.prefix(4).contains(0) || line.starts(with: [0xef, 0xbb, 0xbf]) { return true }
        // It takes a comma behind the last element.
        let spaces: Set<UInt8> = [0x20, 0x09, 0x0a, 0x0d]
        let isClosing =
            error.offset < line.count && [UInt8(ascii: "]"), UInt8(ascii: "}")].contains(line[error.offset])
        return error.reason == .unexpectedByte && isClosing
            && line[..<error.offset].last { !spaces.contains($0) } == UInt8(ascii: ",")
    }

    /// Whether both mean the same, as far as the judge can say it: it drops byte order marks within strings, and
    /// its dictionaries hold one of several keys that are equal by Unicode equivalence.
    private func agrees(_ ours: JSON, _ theirs: Any) -> Bool {
        switch (ours, theirs) {
        case (.null, is NSNull): true
        case (.string(let a), let b as String): withoutMarks(a).elementsEqual(withoutMarks(b))
        case (.array(let a), let b as [Any]): a.count == b.count && zip(a, b).allSatisfy { agrees($0, $1) }
        case (.object(let a), let b as [String: Any]):
            Set(a.keys.map { String(withoutMarks($0)) }).count < a.count
                || a.allSatisfy { member in
                    b[String(withoutMarks(member.key))].map { agrees(member.value, $0) } ?? false
                }
        case (.bool(let a), let b as NSNumber): a == b.boolValue
        case (.int(let a), let b as NSNumber): String(a) == b.stringValue
        case (.double(let a), let b as NSNumber): a == Double(b.stringValue)
        default: false
        }
    }

    private func withoutMarks(_ text: String) -> String.UnicodeScalarView {
        text.unicodeScalars.filter { $0 != "\u{feff}" }
    }
}
