import BusHistory
import BusMachine
import BusServer
import Testing

/// Who reads the past takes turns with others who do.
@Suite struct PastTurnsTests {
    private static func query(_ connection: Int, user: Int, number: Int = 0) -> LogQuery {
        LogQuery(
            connection: connection, user: user, number: number,
            subject: .history(
                HistoryRange(since: nil, until: .revision(1)), limit: 1, HistoryWish(), view: nil),
            peer: .unix(uid: 1, pid: 1), needed: 0, room: 1000)
    }

    /// Beside fifty connections whose queries take a hundred slices each, one that takes a single slice waits for one other.
    @Test(arguments: [1, 2]) func shortQueryWaitsForOneSlice(_ user: Int) {
        var turns = PastTurns()
        for connection in 0..<50 { turns.add(Self.query(connection, user: 1)) }
        for _ in 0..<1000 {
            guard let one = turns.takeNext() else { return }
            turns.charge(2_000_000, to: one.query)
            turns.putBack(one)
        }
        for round in 0..<20 {
            turns.add(Self.query(99, user: user, number: round))
            var slices = 0
            while let one = turns.takeNext(), one.query.connection != 99 {
                slices += 1
                turns.charge(2_000_000, to: one.query)
                turns.putBack(one)
            }
            turns.charge(50_000, to: Self.query(99, user: user))
            #expect(slices <= 1, "round \(round)")
        }
    }

    /// All of them come on equally fast.
    @Test func longQueriesShareTheTime() {
        var turns = PastTurns()
        for connection in 0..<10 { turns.add(Self.query(connection, user: connection % 2)) }
        var slices = [Int](repeating: 0, count: 10)
        for _ in 0..<200 {
            guard let one = turns.takeNext() else { return }
            slices[one.query.connection] += 1
            turns.charge(1000, to: one.query)
            turns.putBack(one)
        }
        #expect(slices == [Int](repeating: 20, count: 10))
    }

    @Test func closedConnectionsAreForgotten() {
        var turns = PastTurns()
        turns.add(Self.query(1, user: 1))
        turns.add(Self.query(2, user: 1))
        turns.forget(1)
        #expect(turns.takeNext()?.query.connection == 2)
        #expect(turns.isEmpty)
    }
}
