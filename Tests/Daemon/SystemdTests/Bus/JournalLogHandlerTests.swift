import BusServer
import Logging
import Systemd
import TestServer
import Testing

/// The daemon's log as entries of the journal.
@Suite(.timeLimit(.minutes(10))) struct JournalLogHandlerTests {
    private let journal = StandInManager()

    private func logger(_ level: Logger.Level = .info) throws -> Logger {
        let handler = try JournalLogHandler(level: level, identifier: "fluxbusd", path: journal.name)
        return Logger(label: "test") { _ in handler }
    }

    @Test func metadataBecomesFields() throws {
        let logger = try logger()
        logger.warning(
            "refused\nin two lines",
            metadata: [
                "store": "counter/kitchen", "uid": "1000",
                LogKind.key: .string(LogKind.willRejected.rawValue),
            ])
        let lines = try #require(journal.next()).text.split(separator: "\n").map(String.init)
        for line in [
            "SYSLOG_IDENTIFIER=fluxbusd", "PRIORITY=4", "FLUXBUS_STORE=counter/kitchen", "FLUXBUS_UID=1000",
            "MESSAGE_ID=34d4287b7dcb44398239e96bf2b2e68d", "in two lines",
        ] { #expect(lines.contains(line), "\(line)") }
        logger.debug("not at this level")
        #expect(journal.next() == nil)
    }

    @Test(arguments: [
        (Logger.Level.debug, 7), (.info, 6), (.notice, 5), (.warning, 4), (.error, 3), (.critical, 2),
    ]) func levelsBecomePriorities(level: Logger.Level, priority: Int) throws {
        try logger(.trace).log(level: level, "word")
        #expect(journal.next()?.text.contains("PRIORITY=\(priority)\n") == true)
    }

    @Test func whatTheJournalHasNoRoomForIsCounted() throws {
        let logger = try logger()
        // More than waits in any socket; nobody reads, and nobody waits.
        for index in 0..<5000 { logger.info("entry \(index)") }
        var arrived = 0
        while journal.next() != nil { arrived += 1 }
        #expect((1..<5000).contains(arrived))
        logger.info("one more")
        let told = try #require(journal.next()).text
        #expect(told.contains("FLUXBUS_SUPPRESSED=\(5000 - arrived)\n"))
        #expect(told.contains("MESSAGE_ID=8cf547c1093649bc81cd41899e1a7db8\n"))
        #expect(journal.next()?.text.contains("one more") == true)
    }
}
