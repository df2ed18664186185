import Foundation
import Testing

/// Entries as a real journald keeps them.
@Suite(.harness, .timeLimit(.minutes(10))) struct JournalTests {
    @Test func entriesAreFoundByTheirFields() throws {
        let harness = try Harness.shared()
        let probe = try ProbeService(harness, "journal")
        let connection = try probe.start()
        // The service's standard error is the journal, so native entries are in place.
        #expect(try connection.order("journal it works") == "ok native")
        try harness.check("journalctl", "--sync")

        let text = try harness.check(
            "journalctl", "PROBE_STORE=counter/kitchen", "-u", probe.unit, "-p", "warning", "-o", "json",
            "--all")
        let entry = try #require(
            JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        #expect(entry["MESSAGE"] as? String == "it works")
        #expect(entry["PRIORITY"] as? String == "4")
        #expect(entry["MESSAGE_ID"] as? String == "5c1d3a7e0b8f4c6e9a2d1f4b7c8e6a90")
        #expect(entry["SYSLOG_IDENTIFIER"] as? String == "systemd-probe")
        #expect(entry["PROBE_LINES"] as? String == "first\nsecond")
        #expect((entry["PROBE_LARGE"] as? String)?.utf8.count == 1 << 20)
        #expect(entry["_SYSTEMD_UNIT"] as? String == probe.unit)
        // What libsystemd would say of where in the code it was called.
        #expect(entry["CODE_FILE"] == nil)
    }
}
