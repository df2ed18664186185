import Foundation
import TestFiles
import TestServer
import Testing

/// Units that follow from what happens on the bus: those of the page, as they are printed.
extension BusTests {
    @Test func unitsOfThePageFollowWhatHappens() throws {
        let harness = host.harness
        for block in try MarkdownPage("Sources/Daemon/BusServer/BusServer.docc/Automate.md").blocks("ini") {
            let name = try #require(block.text.firstMatch(of: /^# \/etc\/systemd\/system\/(.+)\n/)?.1)
            try harness.write("/run/systemd/system/\(name)", block.text)
        }
        try harness.check("systemctl", "daemon-reload")
        let client = try host.connect()
        for store in [
            "door/front", "thermostat/living", "counter/alarms", "counter/warm-ups", "counter/visitors",
            "counter/nights",
            "value/warm-up",
        ] { _ = try client.ask(#"{"op":"create","store":"\#(store)","ifMissing":true}"#) }
        func dispatch(_ store: String, _ action: String, _ payload: String = "{}") throws {
            let reply = try client.ask(
                #"{"op":"dispatch","store":"\#(store)","action":"\#(action)","payload":\#(payload)}"#)
            #expect(reply.contains(#""ok":true"#), "\(reply)")
        }
        func has(_ member: String, _ store: String) throws -> Bool {
            try client.ask(#"{"op":"get","store":"\#(store)"}"#).contains(member)
        }

        // One that runs, and starts others.
        try harness.check("systemctl", "start", "doorbell.service")
        #expect(
            try host.comesTrue { try client.ask(#"{"op":"clients"}"#).contains(#""watches":["door/*"]"#) })
        for count in 1...2 {
            try dispatch("door/front", "rang")
            #expect(try host.comesTrue { try has("\"count\":\(count),", "counter/alarms") })
        }
        #expect(try harness.property("Result", of: "alarm@front.service") == "success")
        try harness.check("systemctl", "stop", "doorbell.service")
        #expect(try harness.property("Result", of: "doorbell.service") == "success")

        // One that is skipped; then it waits for a door, and says how it ended.
        try harness.check("systemctl", "start", "warm-up.service")
        #expect(
            try has("\"value\":\"exec-condition\"", "value/warm-up")
                && has("\"count\":0,", "counter/warm-ups"))
        try dispatch("thermostat/living", "measured", #"{"celsius":15}"#)
        try dispatch("door/front", "open")
        try harness.check("systemctl", "start", "--no-block", "warm-up.service")
        #expect(try host.comesTrue { try harness.property("SubState", of: "warm-up.service") == "start-pre" })
        #expect(try has("\"count\":0,", "counter/warm-ups"))
        try dispatch("door/front", "close")
        #expect(try host.comesTrue { try has("\"value\":\"success\"", "value/warm-up") })
        #expect(try has("\"count\":1,", "counter/warm-ups"))

        // One that an event begins.
        try harness.check("systemctl", "start", "--no-block", "visitor.service")
        #expect(
            try host.comesTrue { try client.ask(#"{"op":"clients"}"#).contains(#""watches":["door/front"]"#) }
        )
        #expect(try has("\"count\":0,", "counter/visitors"))
        try dispatch("door/front", "rang")
        #expect(try host.comesTrue { try has("\"count\":1,", "counter/visitors") })

        // One that runs where nobody else runs it.
        try harness.check("systemctl", "start", "nightly.service")
        #expect(try has("\"count\":1,", "counter/nights"))
        _ = try client.ask(#"{"op":"create","store":"lease/nightly","state":{"holder":"another"}}"#)
        try harness.check("systemctl", "start", "nightly.service")
        #expect(try has("\"count\":1,", "counter/nights"))
        _ = try client.ask(#"{"op":"drop","store":"lease/nightly"}"#)
    }
}
