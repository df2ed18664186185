import BusLog
import Testing

/// The file as a person finds it, with nothing but SQL.
@Suite struct ReadableTests {
    private static let entries = """
        {"revision":1,"time":1795219985.072,"by":{"uid":1000,"pid":7},"actions":[{"type":"counter","action":"increment",\
        "payload":{"by":1}}],"key":"it's"}
        {"revision":2,"times":17,"time":1795219986,"by":{"daemon":true},"actions":[],"created":["counter/a"]}
        """

    @Test func viewOfCommitsShowsOneRowPerEntry() throws {
        let directory = Scratch()
        try directory.write { try $0.append(Self.entries, first: 1, last: 18, time: 5) }
        #expect(
            try directory.query("SELECT revision, times, time, seconds, by, actions, key, other FROM commits")
                == """
                1|1|2026-11-21 00:13:05.072|1795219985.072|{"uid":1000,"pid":7}|[{"type":"counter","action":"increment",\
                "payload":{"by":1}}]|it's|{}
                2|17|2026-11-21 00:13:06.000|1795219986|{"daemon":true}|[]||{"created":["counter/a"]}

                """)
    }

    @Test func oneCommitIsFoundByItsRevision() throws {
        let directory = Scratch()
        try directory.write {
            try $0.append(Self.entries, first: 1, last: 18, time: 5)
            try $0.append("{\"revision\":19}", first: 19, last: 19, time: 5)
            try $0.append("", first: 20, last: 19, time: 5)
        }
        #expect(
            try directory.query("SELECT revision FROM commits WHERE first <= 19 AND last >= 19") == "19\n")
        #expect(try directory.query("SELECT count(*) FROM commits") == "3\n")
    }

    /// Whoever asks for the schema is told what the columns mean.
    @Test func schemaExplainsItself() throws {
        let directory = Scratch()
        try directory.write { _ in }
        let schema = try directory.query(
            "SELECT sql FROM sqlite_schema WHERE name IN ('groups', 'snapshots')")
        for comment in [
            "-- one JSON object per line", "-- milliseconds since 1970, UTC", "-- of the parts, in order",
        ] {
            #expect(schema.contains(comment))
        }
    }

    @Test func sizesAddUp() throws {
        let directory = Scratch()
        try directory.write {
            try $0.append("{\"ä\":1}", first: 1, last: 1, time: 5)
            try $0.beginSnapshot(revision: 1, time: 5)
            try $0.addPart("12345")
            try $0.endSnapshot()
        }
        let sizes = try directory.query("SELECT part, count, bytes FROM sizes").split(separator: "\n")
        #expect(sizes.prefix(2) == ["groups|1|8", "snapshots|1|5"])
        #expect(sizes.dropFirst(2).map { $0.prefix { $0 != "|" } } == ["file", "free"])
    }

    @Test func metaTellsHowTheLastRunEnded() throws {
        let directory = Scratch()
        do {
            let file = try directory.open(.interval)
            try file.begin(epoch: "it's one")
            #expect(
                try directory.query(
                    "SELECT value FROM meta WHERE name IN ('clean', 'epoch', 'sync') ORDER BY name")
                    == "0\nit's one\ninterval\n")
            try file.close()
        }
        #expect(try directory.query("SELECT value FROM meta WHERE name = 'clean'") == "1\n")
        #expect(try directory.open().epoch == "it's one")
        #expect(directory.names == ["bus.sqlite", "bus.sqlite-lock"])
    }

    @Test(arguments: [(SyncMode.always, false), (.interval, true), (.never, true)])
    func onlyARebootDuringAnUnsyncedRunMayLose(_ mode: SyncMode, _ lost: Bool) throws {
        let directory = Scratch()
        do {
            let file = try directory.open(mode, boot: "one")
            try file.begin(epoch: "e")
        }
        #expect(try !directory.open(boot: "one").mayHaveLost)
        #expect(try directory.open(boot: "two").mayHaveLost == lost)
        do {
            let file = try directory.open(mode, boot: "two")
            try file.begin(epoch: "f")
            try file.close()
        }
        #expect(try !directory.open(boot: "three").mayHaveLost)
    }
}
