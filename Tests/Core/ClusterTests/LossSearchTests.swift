import BusCluster
import Testing

@Suite struct LossSearchTests {
    /// A member goes on asking, each second or so, for as long as the log has nothing of what it has.
    @Test func asksWithoutEnd() {
        var search = LossSearch()
        for place in (0..<1000).reversed() + Array(repeating: 0, count: 100) {
            let lack = search.goBack(behind: place)
            #expect(lack.most == place && (0...place).contains(lack.wanted ?? -1))
        }
    }
}
