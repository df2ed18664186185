import Testing
import fluxbus_bench

@Suite("The load generator's parts")
struct BenchPartsTests {
    @Test func newlinesAreCountedAtEveryLengthAndPlace() {
        for length in 0..<600 {
            // Neighbours of the newline in every bit, and the newline itself at changing places.
            let bytes = (0..<length).map { index -> UInt8 in
                index % 7 == length % 7 ? 0x0a : [0x0b, 0x8a, 0x09, 0x00, 0xff, 0x1a][index % 6]
            }
            let wanted = bytes.count { $0 == 0x0a }
            #expect(bytes.withUnsafeBytes { newlineCount($0) } == wanted)
        }
        let all = [UInt8](repeating: 0x0a, count: 10_000)
        #expect(all.withUnsafeBytes { newlineCount($0) } == 10_000)
    }

    @Test func eventsInPartsCountAsTheCommitsTheyTellOf() {
        let lines = [
            (#"{"event":"change","sub":1,"from":1,"revision":2,"changes":{"counter/a":{"more":true}}}"#, 1),
            (#"{"event":"change","sub":1,"from":2,"revision":3,"changes":{"counter/a":{}},"more":true}"#, 0),
            (#"{"event":"change","sub":1,"revision":3,"changes":{},"more":true}"#, 0),
            (#"{"event":"change","sub":1,"revision":3,"changes":{}}"#, 1),
            (#"{"event":"change","sub":1,"from":3,"revision":45,"coalesced":42,"states":{}}"#, 42),
            ("{}", 1),
        ]
        let bytes = Array(lines.map { $0.0 + "\n" }.joined().utf8)
        for step in 1...bytes.count {
            var counter = EventCounter()
            let count = stride(from: 0, to: bytes.count, by: step).reduce(0) { sum, start in
                sum + bytes[start..<min(start + step, bytes.count)].withUnsafeBytes { counter.count($0) }
            }
            #expect(count == lines.map(\.1).reduce(0, +), "in pieces of \(step)")
        }
    }

    @Test func percentilesAreWithinOnePercent() {
        let histogram = Histogram()
        for value in 1...100_000 { histogram.add(UInt64(value) * 100, times: 1) }
        for (share, wanted) in [(0.5, 5000.0), (0.99, 9900.0), (0.999, 9990.0)] {
            let found = histogram.microseconds(atShare: share)
            #expect(abs(found - wanted) / wanted < 0.01)
        }
        #expect(histogram.count == 100_000)
        #expect(histogram.longest == 10_000_000)
        #expect(histogram.microseconds(atShare: 1) <= 10_000)
    }

    @Test func anEmptyHistogramHasNoPercentiles() {
        #expect(Histogram().microseconds(atShare: 0.5) == 0)
    }

    @Test func silenceCountsOnlyWhileSomethingIsDue() {
        var meter = SilenceMeter()
        // Nothing was due until 900, so nothing was silent before.
        meter.arrived(at: 1000, oldestDue: 900)
        #expect(meter.longest == 100)
        meter.arrived(at: 5000, oldestDue: 4950)
        #expect(meter.longest == 100)
        // Something was due all the time, but something else came in between.
        meter.arrived(at: 5090, oldestDue: 4000)
        #expect(meter.longest == 100)
        meter.arrived(at: 5400, oldestDue: 4000)
        #expect(meter.longest == 310)
    }

    @Test func figuresReadAsPeopleWriteThem() {
        #expect(Figure.decimal(1.2345, 2) == "1.23")
        #expect(Figure.decimal(0.005, 3) == "0.005")
        #expect(Figure.decimal(-1.5, 1) == "-1.5")
        #expect(Figure.decimal(12, 0) == "12")
        #expect(Figure.rate(1_234_567.4) == "1 234 567")
        #expect(Figure.rate(12) == "12")
        #expect(Figure.percent(0.981) == "98 %")
    }
}
