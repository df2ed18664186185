import BusHistory
import BusJSON
import TestModes
import TestSupport
import Testing

/// Behind which revision a type has so many commits, as `commits` under `log` asks.
@Suite(.inBothModes) struct CommitCountTests {
    @Test(arguments: [nil, 3, 7]) func commitsOfATypeAreCountedFromTheNewestOn(indexed: Int?) throws {
        let bus = try MemoryBus.logging("counter/a", "door/d")
        let client = bus.connect(uid: 7)
        for number in 0..<40 {
            let (type, action) = number % 3 == 0 ? ("door", "rang") : ("counter", "increment")
            let line = #"{"op":"dispatch","type":"\#(type)","action":"\#(action)"}"#
            // Equal ones in a row are one entry with a count.
            bus.disk = .isBusy
            for _ in 0...number % 4 { client.send(line) }
            bus.disk = .works
            _ = try client.all()
        }
        let (log, last) = (bus.written!, bus.engine.durableRevision)
        log.indexed = indexed
        var revisions: [Int] = []
        let commits = try client.reply(to: #"{"op":"history","type":"counter","limit":1000}"#)["commits"]
        revisions = (commits?.array ?? []).compactMap { $0["revision"]?.int }
        try #require(revisions.count > 40)
        for count in 1...revisions.count {
            #expect(
                try log.revision(before: count, of: "counter", after: 0, through: last)
                    == revisions[revisions.count - count] - 1)
        }
        #expect(
            try log.revision(before: revisions.count + 1, of: "counter", after: 0, through: last) == nil)
        // Not farther back than it is asked to look.
        #expect(try log.revision(before: 30, of: "counter", after: revisions.last! - 1, through: last) == nil)
    }
}
