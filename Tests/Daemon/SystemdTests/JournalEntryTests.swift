import CSystemd
import Glibc
import Systemd
import TestServer
import Testing

/// Journal entries as they go over the wire, read by a stand-in for journald.
@Suite struct JournalEntryTests {
    private let daemon = StandInManager()

    @Test func fieldsAreLinesAndLineEndsAreCounted() throws {
        var entry = JournalEntry("up", priority: .notice, messageID: "0123456789abcdef0123456789abcdef")
        entry.set("FLUXBUS_STORE", "counter/kitchen")
        entry.set("TWO_LINES", "a\nb")
        [UInt8]([0, 255]).withUnsafeBytes { entry.set("BINARY", bytes: $0) }
        try NonblockingJournal(path: daemon.name, identifier: "test").send(entry)
        let expected =
            "SYSLOG_IDENTIFIER=test\nMESSAGE=up\nPRIORITY=5\nMESSAGE_ID=0123456789abcdef0123456789abcdef\n"
            + "FLUXBUS_STORE=counter/kitchen\nTWO_LINES\n\u{3}\0\0\0\0\0\0\0a\nb\nBINARY=\0\u{fffd}\n"
        #expect(daemon.next()?.text == expected)
    }

    @Test func largeEntriesGoInSealedFiles() throws {
        var entry = JournalEntry("large")
        entry.set("LARGE", String(repeating: "x", count: 20 << 20))
        try NonblockingJournal(path: daemon.name, identifier: "test").send(entry)
        let datagram = try #require(daemon.next())
        #expect(datagram.text == "")
        let file = try #require(datagram.descriptors.first)
        defer { close(file) }
        let bytes = try StoredState.read(file, limit: 30 << 20)
        #expect(
            bytes.count == "SYSLOG_IDENTIFIER=test\nMESSAGE=large\nPRIORITY=6\nLARGE=\n".utf8.count
                + (20 << 20))
    }

    @Test func fullJournalIsBusyForThoseWhoDoNotWait() throws {
        let journal = try NonblockingJournal(path: daemon.name, identifier: "test")
        var failure: SystemdError?
        for _ in 0..<100_000 where failure == nil {
            do throws(SystemdError) {
                try journal.send(JournalEntry("again"))
            } catch { failure = error }
        }
        #expect(failure?.code == .busy)
    }

    @Test func journalThatIsNotThereIsToldAndNotFatal() throws {
        let journal = try NonblockingJournal(path: "/nonexistent/journal", identifier: "test")
        let error = #expect(throws: SystemdError.self) { try journal.send(JournalEntry("lost")) }
        #expect(error?.systemCode == ENOENT)
    }

    @Test func onlyNamesThatTheJournalKeepsCanBeMade() {
        for name in ["A", "FLUXBUS_STORE", "A1_", String(repeating: "A", count: 64)] {
            #expect(JournalField(name)?.description == name)
        }
        for name in ["", "_A", "1A", "a", "A-B", "A=", "Ä", String(repeating: "A", count: 65)] {
            #expect(JournalField(name) == nil)
        }
        for text in ["", "0123", "0123456789ABCDEF0123456789abcdef", "0123456789abcdef0123456789abcdeg"] {
            #expect(MessageID(text) == nil)
        }
    }

    @Test func standardErrorIsTheJournalOnlyIfItIsTheSame() async {
        await #expect(processExitsWith: .success) {
            var ends: [Int32] = [-1, -1]
            pipe(&ends)
            var status = stat()
            fstat(ends[1], &status)
            setenv("JOURNAL_STREAM", "\(status.st_dev):\(status.st_ino)", 1)
            #expect(Journal.isStandardError(descriptor: ends[1]))
            setenv("JOURNAL_STREAM", "\(status.st_dev):\(status.st_ino + 1)", 1)
            #expect(!Journal.isStandardError(descriptor: ends[1]))
            for text in ["", "1", "1:2:3", "a:b"] {
                setenv("JOURNAL_STREAM", text, 1)
                #expect(!Journal.isStandardError(descriptor: ends[1]))
            }
            unsetenv("JOURNAL_STREAM")
            #expect(!Journal.isStandardError(descriptor: ends[1]))
        }
    }
}
