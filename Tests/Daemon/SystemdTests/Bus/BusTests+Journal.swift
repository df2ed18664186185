import Foundation
import Testing

/// What the journal knows, and who a client is.
extension BusTests {
    private func refusedWill(_ store: String) throws {
        let client = try host.connect()
        _ = try client.ask(
            #"{"op":"will","actions":[{"store":"\#(store)","action":"setTarget","payload":{"celsius":99}}]}"#)
        // Closing it does not end it while another test starts a program, which has all descriptors for a moment.
        client.finishSending()
        #expect(try client.rest() == [])
    }

    @Test func entriesAboutAStoreAreFoundByIt() throws {
        // What others have done as this user counts towards what it may have in the journal.
        try host.systemctl("restart")
        let client = try host.connect()
        _ = try client.ask(#"{"op":"create","store":"thermostat/journal"}"#)
        try refusedWill("thermostat/journal")
        _ = try client.ask(#"{"op":"drop","store":"thermostat/journal"}"#)
        let entries = try host.journal("FLUXBUS_STORE=thermostat/journal")
        #expect(
            entries.compactMap { $0["MESSAGE_ID"] as? String } == [
                "7ba2a3ccd47c4b73b63c568db62ed803", "34d4287b7dcb44398239e96bf2b2e68d",
                "4bcb5470fecb4ea5b1790f980484d3fc",
            ])
        let will = try #require(entries.dropFirst().first)
        #expect(will["PRIORITY"] as? String == "4")
        #expect(will["FLUXBUS_TYPE"] as? String == "thermostat")
        #expect(will["FLUXBUS_ACTION"] as? String == "setTarget")
        #expect(will["FLUXBUS_UID"] as? String == "0")
        #expect(will["FLUXBUS_PID"] != nil)
        #expect(will["_SYSTEMD_UNIT"] as? String == BusHost.service)
        #expect((will["MESSAGE"] as? String)?.contains("celsius must be within 5...30") == true)
        #expect(entries.first?["FLUXBUS_REVISION"] != nil)
    }

    @Test func everyKindOfEntryIsInTheCatalog() throws {
        let text = try String(
            contentsOf: Harness.package.appendingPathComponent(
                "Sources/Daemon/BusServer/Logging/ClientLog.swift"),
            encoding: .utf8)
        let numbers = text.matches(of: /= "([0-9a-f]{32})"/).map { String($0.output.1) }
        #expect(numbers.count >= 14)
        for number in numbers {
            let entry = try host.harness.run("journalctl", "--dump-catalog", number).output
            #expect(entry.contains("Defined-By: FluxBus"), "\(number)")
        }
    }

    @Test func oneClientCanNotFillTheJournal() throws {
        try host.systemctl("restart")
        let client = try host.connect()
        _ = try client.ask(#"{"op":"create","store":"thermostat/flood"}"#)
        for _ in 0..<40 { try refusedWill("thermostat/flood") }
        try host.systemctl("restart")
        let wills = try host.journal(
            "FLUXBUS_STORE=thermostat/flood", "MESSAGE_ID=34d4287b7dcb44398239e96bf2b2e68d")
        #expect(wills.count == 10)
        let leftOut = try host.journal("MESSAGE_ID=8cf547c1093649bc81cd41899e1a7db8").last
        #expect(leftOut?["FLUXBUS_SUPPRESSED"] as? String == "30")
        _ = try client.ask(#"{"op":"drop","store":"thermostat/flood"}"#)
    }

    @Test func clientIsKnownByUserProcessAndUnit() throws {
        try host.harness.check("useradd", "--no-create-home", "--groups", "fluxbus", "ringer")
        defer { _ = try? host.harness.run("userdel", "ringer") }
        let watcher = try host.connect()
        _ = try watcher.ask(#"{"op":"create","store":"door/known","ifMissing":true}"#)
        _ = try watcher.ask(#"{"op":"subscribe","store":"door/known","actions":true}"#)
        try host.harness.write(
            "/run/systemd/system/ringer.service",
            """
            [Service]
            Type=oneshot
            RemainAfterExit=yes
            User=ringer
            Group=fluxbus
            ExecStart=/usr/bin/fluxbus dispatch door/known close
            """)
        try host.harness.check("systemctl", "daemon-reload")
        try host.harness.check("systemctl", "start", "ringer.service")
        let event = try #require(try watcher.line())
        let user = try host.harness.check("id", "-u", "ringer")
        let process = try host.harness.property("ExecMainPID", of: "ringer.service")
        for member in [#""uid":\#(user)"#, #""pid":\#(process)"#, #""unit":"ringer.service""#] {
            #expect(event.contains(member), "\(event)")
        }
    }
}
