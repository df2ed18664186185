import BusLog
import Testing

/// A log that is a member's copy of a bus over several machines, as its owner uses it.
@Suite struct SharedCopyTests {
    private static let ownTables = "commits\ngroups\nindex_blocks\nmeta\nsizes\nsnapshot_parts\nsnapshots\n"

    private static func tables(_ directory: Scratch) throws -> String {
        try directory.query("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name")
    }

    @Test func localBusHasNothingOfIt() throws {
        let directory = Scratch()
        try directory.write { file in
            #expect(file.copyOf == nil)
            try file.append("{}", first: 1, last: 1, time: 1)
            let text = Array("{\"two\":2}".utf8)
            try text.withUnsafeBytes { try file.append($0, first: 2, last: 2, time: 1, shared: nil) }
            while try file.trim(Retention(age: 0, bytes: 0), now: 1, budget: 10) {}
            #expect(file.sharedPlace() == 0)
            for fact in CopyFact.allCases { #expect(try file.recall(fact) == nil) }
        }
        #expect(try Self.tables(directory) == Self.ownTables)
        #expect(try directory.query("SELECT name FROM meta WHERE name IN ('bus', 'member')") == "")
        let reader = try directory.reader()
        #expect(try reader.groups().count == 2)
        #expect(try reader.replicas().isEmpty)
        #expect(try reader.batches().isEmpty)
        #expect(throws: LogFailure.self) { try reader.replica(1) }
    }

    @Test func whatWasWrittenIsThereAfterReopening() throws {
        let directory = Scratch()
        let batches = [Batch(3, "one"), Batch(7, [0, 255, 0]), Batch(8, []), Batch(1000, "four")]
        do {
            let file = try directory.openCopy()
            try file.append(batches[0], with: "{\"revision\":1}")
            try file.append(batches[1])
            try file.append(batches[2], with: "{\"revision\":2}")
            try file.replica(8)
            try file.append(batches[3])
            #expect(file.sharedPlace() == 1000)
            try file.remember(.proof, "00ff")
            try file.remember(.cluster, "it's\0one")
            try file.close()
        }
        let file = try directory.open()
        #expect(file.copyOf?.bus == "home")
        #expect(file.copyOf?.member == "kitchen")
        #expect(file.sharedPlace() == 1000)
        #expect(file.lastRevision == 2)
        #expect(file.notices.isEmpty)
        #expect(try file.recall(.proof) == "00ff")
        #expect(try file.recall(.cluster) == "it's\0one")
        #expect(try file.recall(.discard) == nil)
        let reader = try directory.reader()
        #expect(try reader.batches() == batches)
        #expect(try reader.batches(behind: 8) == [batches[3]])
        #expect(try reader.replicas() == [8])
        #expect(try reader.replica(8) == (0..<3).flatMap { LogFile.part($0, of: 8) })
        // Entries without commits have no group.
        #expect(try reader.groups().map(\.time) == [3, 8])
        #expect(try directory.query("PRAGMA user_version") == "1\n")
    }

    @Test func logOfALocalBusBecomesACopy() throws {
        let directory = Scratch()
        try directory.write { try $0.append("{\"revision\":1}", first: 1, last: 1, time: 1) }
        do {
            let reader = try directory.reader()
            let file = try directory.openCopy()
            try file.replica(0)
            try file.append(Batch(5, "five"), with: "{\"revision\":2}")
            // Who reads already finds it too.
            #expect(try reader.batches() == [Batch(5, "five")])
            #expect(try reader.replicas() == [0])
        }
        let file = try directory.open()
        #expect(file.lastRevision == 2)
        #expect(file.sharedPlace() == 5)
        #expect(!file.mayHaveLost)
    }

    @Test func copyOfAnotherBusIsRefused() throws {
        let directory = Scratch()
        let file = try directory.openCopy()
        try file.append(Batch(5, "five"))
        try file.remember(.incarnation, "4")
        try file.remember(.proof, "00")
        let failure = #expect(throws: LogFailure.self) {
            try file.becomeCopy(ofBus: "office", member: "kitchen")
        }
        #expect(failure?.kind == .notALog)
        #expect(failure?.message.contains("home") == true)
        try file.becomeCopy(ofBus: "home", member: "kitchen")
        #expect(try file.recall(.incarnation) == "4")
        // The incarnation was another member's.
        try file.becomeCopy(ofBus: "home", member: "cellar")
        #expect(file.copyOf?.member == "cellar")
        #expect(try file.recall(.incarnation) == nil)
        #expect(try file.recall(.proof) == "00")
        #expect(file.sharedPlace() == 5)
        try file.append(Batch(6, "six"))
        #expect(try directory.reader().batches().map(\.place) == [5, 6])
    }

    @Test func factsAreForgottenAgain() throws {
        let directory = Scratch()
        let file = try directory.openCopy()
        for fact in CopyFact.allCases {
            try file.remember(fact, nil)
            try file.remember(fact, "one")
            try file.remember(fact, "two")
            #expect(try file.recall(fact) == "two")
            try file.remember(fact, nil)
            #expect(try file.recall(fact) == nil)
        }
    }

    /// A reader names places, and batches hold several.
    @Test func batchesThatMayHoldAnEntryAreGiven() throws {
        let directory = Scratch()
        let file = try directory.openCopy()
        for place in [10, 20, 30, 40] { try file.append(Batch(place, "\(place)")) }
        let reader = try directory.reader()
        for (behind, through, expected) in [
            (0, .max, [10, 20, 30, 40]), (10, .max, [20, 30, 40]), (15, .max, [20, 30, 40]),
            (9, 11, [10, 20]), (10, 20, [20]), (10, 21, [20, 30]), (10, 10, []), (30, 35, [40]),
            (40, .max, []), (100, .max, []), (0, 1, [10]),
        ] as [(Int, Int, [Int])] {
            #expect(
                try reader.batches(behind: behind, through: through).map(\.place) == expected,
                "\(behind) to \(through)")
        }
    }

    @Test func readerSeesBatchesThatAreWrittenMeanwhile() throws {
        let directory = Scratch()
        let file = try directory.openCopy()
        try file.append(Batch(1, "one"))
        var seen: [Int] = []
        try directory.reader().forEachSharedBatch(behind: 0, through: 5) { place, _ throws(LogFailure) in
            seen.append(place)
            try file.append(Batch(place + 1, "next"))
        }
        #expect(seen == [1, 2, 3, 4, 5])
        #expect(file.sharedPlace() == 6)
    }

    // MARK: - Replicas

    @Test func replicaIsThereOnlyOnceItHasEnded() throws {
        let directory = Scratch()
        let file = try directory.openCopy()
        try file.append(Batch(10, "ten"))
        try file.beginReplica(place: 10)
        try file.addReplicaPart([1, 2])
        try file.append(Batch(11, "eleven"), with: "{}")
        try file.addReplicaPart([])
        try file.addReplicaPart([3])
        let reader = try directory.reader()
        #expect(try reader.replicas().isEmpty)
        try file.endReplica()
        #expect(try reader.replicas() == [10])
        #expect(try reader.replica(10) == [1, 2, 3])
        // One of the same place is the same.
        try file.replica(10)
        #expect(try reader.replica(10) == [1, 2, 3])
    }

    /// A copy that another member's replica begins: nothing before it is there or asked for.
    @Test func copyBeginsWithAReplicaAtAnyPlace() throws {
        let directory = Scratch()
        do {
            let file = try directory.openCopy()
            try file.replica(5000)
            #expect(file.sharedPlace() == 5000)
            try file.append(Batch(5003, "next"))
        }
        let file = try directory.open()
        #expect(file.sharedPlace() == 5003)
        #expect(file.notices.isEmpty)
        let reader = try directory.reader()
        #expect(try reader.batches(behind: 5000) == [Batch(5003, "next")])
        let failure = #expect(throws: LogFailure.self) { try reader.batches(behind: 4999) }
        #expect(failure?.kind == .lost)
    }

    @Test func lastTwoReplicasAreKeptWithAllBehindTheOlder() throws {
        let directory = Scratch()
        let file = try directory.openCopy()
        for place in 1...50 {
            try file.append(Batch(place, "\(place)"))
            if place % 10 == 5 {
                try file.replica(place)
                while try file.trim(Retention(age: 0, bytes: 0), now: 0, budget: 7) {}
            }
            let reader = try directory.reader()
            let kept = Array(stride(from: 5, through: place, by: 10).reversed().prefix(2))
            #expect(try reader.replicas() == kept)
            let begin = kept.count == 2 ? kept[1] : 0
            #expect(try reader.batches(behind: begin).map(\.place) == Array(begin + 1..<place + 1))
            #expect(try directory.count("shared_entries") == place - begin)
            #expect(try directory.count("replicas") == kept.count * 3)
            for place in kept { #expect(try reader.replica(place).count == 3000) }
        }
        let failure = #expect(throws: LogFailure.self) { try directory.reader().batches(behind: 34) }
        #expect(failure?.kind == .lost)
        #expect(throws: LogFailure.self) { try directory.reader().replica(25) }
    }

    @Test func eachStepOfRemovingIsSmall() throws {
        let directory = Scratch()
        let file = try directory.openCopy()
        for place in 1...100 { try file.append(Batch(place, "x")) }
        for place in [90, 95, 100] { try file.replica(place, parts: 20) }
        func rows() throws -> Int {
            try (directory.count("shared_entries") ?? 0) + (directory.count("replicas") ?? 0)
        }
        #expect(try rows() == 160)
        var (steps, left) = (0, 160)
        var goesOn = true
        while goesOn {
            goesOn = try file.trimCopy(budget: 9)
            let now = try rows()
            #expect(left - now <= 9)
            (left, steps) = (now, steps + 1)
        }
        // Twenty parts and 95 batches.
        #expect(left == 45)
        #expect(steps == 115 / 9 + 1)
    }

    /// Parts without their end are those of a replica that was given up, or that a crash interrupted.
    @Test(arguments: [true, false])
    func partsWithoutAnEndGo(_ isCrash: Bool) throws {
        let directory = Scratch()
        do {
            let file = try directory.openCopy()
            for place in 1...10 { try file.append(Batch(place, "x")) }
            try file.beginReplica(place: 9)
            for part in 0..<5 { try file.addReplicaPart(LogFile.part(part, of: 9)) }
            if !isCrash {
                file.cancelReplica()
                try file.close()
            }
        }
        #expect(try directory.count("replicas") == 5)
        let file = try directory.open()
        try file.begin(epoch: "e")
        // One of the same place in fewer parts, and one of another.
        try file.replica(9, parts: 2)
        #expect(try directory.reader().replica(9).count == 2000)
        try file.beginReplica(place: 10)
        for part in 0..<3 { try file.addReplicaPart(LogFile.part(part, of: 10)) }
        while try file.trimCopy(budget: 2) {}
        #expect(try directory.count("replicas") == 5)
        file.cancelReplica()
        while try file.trimCopy(budget: 2) {}
        #expect(try directory.count("replicas") == 2)
        #expect(try directory.reader().batches().count == 10)
    }
}
