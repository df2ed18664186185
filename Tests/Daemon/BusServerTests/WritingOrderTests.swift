import BusServer
import Testing

/// Who is written to first, and that nobody is forgotten.
struct WritingOrderTests {
    /// Sockets that are a list of who was written to.
    private final class Sockets: SocketWriter {
        var ready: [Int] = []
        var heavy: Set<Int> = []
        var room = Int.max
        var areOneUser = false
        /// Who hears of something when one is written to.
        var hearers: [Int: [Int]] = [:]
        private(set) var written: [Int] = []

        func takeReady(_ body: (Int) -> Void) {
            let all = ready
            ready = []
            all.forEach(body)
        }

        /// Users have a thousand connections each.
        func userNumber(of id: Int) -> Int { areOneUser ? 0 : id / 1000 }
        func comesLater(_ id: Int) -> Bool { heavy.contains(id) }
        var replies: Set<Int> = []
        func hasReply(_ id: Int) -> Bool { replies.contains(id) }
        var hasRoom: Bool { room > 0 }

        func write(_ id: Int, afterOthers: Bool) {
            #expect(afterOthers == heavy.contains(id))
            room -= 1
            written.append(id)
            ready += hearers.removeValue(forKey: id) ?? []
        }

        func writeGathered() {}

        /// Who was written to in one more turn.
        func turn(_ order: WritingOrder, room: Int = .max) -> [Int] {
            self.room = room
            written = []
            order.write(with: self)
            return written
        }
    }

    @Test func whoIsSentLittleComesFirst() {
        let (order, sockets) = (WritingOrder(), Sockets())
        sockets.heavy = [3, 7]
        sockets.ready = [3, 1, 7, 2]
        order.add(5, of: 0)
        #expect(sockets.turn(order) == [5, 1, 2, 3, 7])
        #expect(order.isEmpty)
    }

    @Test func whoWasNotReachedKeepsItsPlace() {
        let (order, sockets) = (WritingOrder(), Sockets())
        sockets.ready = [4, 8, 6]
        #expect(sockets.turn(order, room: 2) == [4, 8])
        #expect(!order.isEmpty)
        sockets.ready = [9]
        #expect(sockets.turn(order) == [6, 9])
        #expect(order.isEmpty)
    }

    /// However much there is for those who are sent little, one of the others has its turn in each.
    @Test func whoIsSentMuchIsNotForgotten() {
        let (order, sockets) = (WritingOrder(), Sockets())
        sockets.heavy = [20, 21]
        sockets.ready = [20, 21, 1, 2]
        #expect(sockets.turn(order, room: 2) == [1, 2, 20])
        sockets.ready = [3, 4, 5]
        #expect(sockets.turn(order, room: 2) == [3, 4, 21])
        #expect(sockets.turn(order) == [5])
        #expect(order.isEmpty)
    }

    @Test func nobodyIsPutOffTwice() {
        let (order, sockets) = (WritingOrder(), Sockets())
        sockets.heavy = [2]
        sockets.ready = [2, 2, 1, 2]
        #expect(sockets.turn(order) == [1, 2])
        // It has had its turn and may be put off again.
        sockets.ready = [2]
        #expect(sockets.turn(order) == [2])
    }

    /// Users take turns, however many connections one has.
    @Test func usersAreWrittenToInTurns() {
        let (order, sockets) = (WritingOrder(), Sockets())
        sockets.ready = [1, 2, 3, 4, 5, 1001, 1002, 2001]
        #expect(sockets.turn(order, room: 4) == [1, 1001, 2001, 2])
        sockets.ready = [2002]
        #expect(sockets.turn(order) == [1002, 3, 2002, 4, 5])
        #expect(order.isEmpty)
    }

    /// A reply does not wait until thousands of subscribers of its user are written to, nor do they wait for many replies.
    @Test func repliesDoNotWaitForSubscribers() {
        let (order, sockets) = (WritingOrder(), Sockets())
        sockets.areOneUser = true
        for round in 0..<50 {
            // Each of the subscribers is due again in each turn, and few are reached.
            sockets.ready = Array(0..<10_000)
            sockets.replies = [10_000 + round]
            sockets.ready.append(10_000 + round)
            #expect(sockets.turn(order, room: 8).prefix(2).contains(10_000 + round))
        }
        // Each of them is due once, however often that was said.
        sockets.ready = Array(0..<10_000)
        let left = sockets.turn(order)
        #expect(left.count == 10_000)
        #expect(Set(left).count == 10_000)
        sockets.replies = Set(20_000..<20_100)
        sockets.ready = Array(20_000..<20_100) + [1, 2]
        #expect(sockets.turn(order).prefix(4).contains(1))
    }

    /// Closing a connection carries out its will: who hears of that is written to in the same turn, or in the next at the
    /// latest, without anything else having to come.
    @Test func whatTheLastOneLeavesForOthersIsDue() {
        for room in 1...4 {
            let (order, sockets) = (WritingOrder(), Sockets())
            sockets.heavy = [1]
            sockets.hearers = [1: [5, 6]]
            sockets.ready = [1]
            var written = sockets.turn(order, room: room)
            while !order.isEmpty { written += sockets.turn(order, room: room) }
            #expect(written == [1, 5, 6])
        }
    }

    @Test func manyKeepTheirOrder() {
        let (order, sockets) = (WritingOrder(), Sockets())
        sockets.areOneUser = true
        var written: [Int] = []
        for round in 0..<50 {
            sockets.ready = (0..<100).map { round * 100 + $0 }
            // Fewer are reached than come.
            written += sockets.turn(order, room: 60)
        }
        #expect(written == Array(0..<3000))
        #expect(sockets.turn(order) == Array(3000..<5000))
    }
}
