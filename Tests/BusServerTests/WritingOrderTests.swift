import BusServer
import Testing

/// Who is written to first.
struct WritingOrderTests {
    /// Everybody who is due, in the order of writing, where those that are sent much are known.
    private func all(_ order: inout WritingOrder, heavy: Set<Int>) -> [Int] {
        var ids: [Int] = []
        while let id = order.takeFirst(unless: heavy.contains) { ids.append(id) }
        while let id = order.takeLater() { ids.append(id) }
        return ids
    }

    @Test func whoIsSentLittleComesFirst() {
        var order = WritingOrder()
        for id in [3, 1, 7, 2, 5] { order.add(id) }
        #expect(all(&order, heavy: [3, 7]) == [1, 2, 5, 3, 7])
        #expect(order.isEmpty)
    }

    @Test func whoWasNotReachedKeepsItsPlace() {
        var order = WritingOrder()
        for id in [4, 8, 6] { order.add(id) }
        #expect(order.takeFirst(unless: { $0 == 4 }) == 8)
        // The turn ends here; in the next one others come, and 4 is sent little by now.
        order.add(9)
        #expect(!order.isEmpty)
        #expect(order.takeFirst(unless: { _ in false }) == 6)
        #expect(order.takeFirst(unless: { _ in false }) == 9)
        #expect(order.takeFirst(unless: { _ in false }) == nil)
        #expect(order.takeLater() == 4)
        #expect(order.takeLater() == nil)
    }

    @Test func nobodyIsPutOffTwice() {
        var order = WritingOrder()
        for id in [2, 2, 1, 2] { order.add(id) }
        #expect(all(&order, heavy: [2]) == [1, 2])
        // It has had its turn and may be put off again.
        order.add(2)
        #expect(all(&order, heavy: [2]) == [2])
    }

    @Test func manyKeepTheirOrder() {
        var order = WritingOrder()
        var taken: [Int] = []
        for round in 0..<50 {
            for id in 0..<100 { order.add(round * 100 + id) }
            // Fewer are reached than come.
            for _ in 0..<60 { taken.append(order.takeFirst(unless: { _ in false })!) }
        }
        #expect(taken == Array(0..<3000))
        #expect(all(&order, heavy: []) == Array(3000..<5000))
    }
}
