import BusEngine
import BusJSON
import TestSupport
import Testing

/// Histograms against the values themselves.
@Suite struct HistogramTests {
    private func values(_ seed: UInt64, count: Int) -> [Int] {
        var random = SeededGenerator(seed: seed)
        return (0..<count).map { _ in
            let bits = Int.random(in: 0...40, using: &random)
            return Int.random(in: 0...(1 << bits), using: &random)
        }
    }

    @Test(arguments: [UInt64(1), 2, 3]) func percentilesAreAtMostAQuarterTooHigh(_ seed: UInt64) throws {
        let histogram = Histogram()
        let values = values(seed, count: 5000)
        for value in values { histogram.record(value) }
        let sorted = values.sorted()
        #expect(histogram.count == values.count)
        #expect(histogram.sum == values.reduce(0, +))
        #expect(histogram.most == sorted.last)
        for wanted in [1, 1000, 50_000, 90_000, 99_000, 99_900, 100_000] {
            let rank = max(1, (values.count * wanted + 99_999) / 100_000)
            let right = sorted[rank - 1]
            #expect((right...(right + right / 4)).contains(histogram.percentile(wanted)), "\(wanted)")
        }
    }

    @Test func bucketsHoldWhatIsAtMostTheirBound() throws {
        let histogram = Histogram()
        let values = values(7, count: 2000) + [0, 1, 2, 3, 4, 5, 7, 8, .max]
        for value in values { histogram.record(value) }
        let buckets = try #require(histogram.json(unit: 1)["buckets"]?.array)
        var seen = 0
        for bucket in buckets {
            let bound = try #require(bucket[0]?.int)
            seen += try #require(bucket[1]?.int)
            #expect(seen == values.count { $0 <= bound }, "\(bound)")
        }
        #expect(seen == values.count)
    }

    @Test func nothingAndWhatIsBelowNothing() {
        let histogram = Histogram()
        #expect(histogram.percentile(50_000) == 0)
        histogram.record(-5, times: 3)
        #expect(histogram.count == 3)
        #expect(histogram.sum == 0)
        #expect(histogram.json(unit: 1)["buckets"] == [[0, 3]])
    }
}
