import Foundation
import Testing

/// New definitions and limits without losing a connection.
extension BusTests {
    private func write(door: String) throws {
        try host.harness.write("/etc/fluxbus/types/gate.yaml", "type: gate\n" + door)
    }

    @Test func reloadBringsNewDefinitionsAndLimitsToClientsThatStay() throws {
        try write(door: "initial: { open: false }\nactions: { open: { set: { open: true } } }\n")
        try host.systemctl("reload")
        let client = try host.connect()
        _ = try client.ask(#"{"op":"create","store":"gate/front"}"#)
        _ = try client.ask(#"{"op":"dispatch","store":"gate/front","action":"open"}"#)
        #expect(
            try client.ask(#"{"op":"dispatch","store":"gate/front","action":"close"}"#).contains(
                "unknown_action"))

        try write(
            door:
                "initial: { open: false, times: 0 }\nactions: { open: {}, close: { set: { open: false } } }\n"
        )
        let configuration = "/etc/fluxbus/fluxbusd.yaml"
        let before = try String(contentsOfFile: host.harness.path(configuration), encoding: .utf8)
        defer { try? host.harness.write(configuration, before) }
        try host.harness.write(configuration, before + "\nlimits: { batch: 7 }\n")
        try host.systemctl("reload")
        #expect(try host.property("ActiveState") == "active")
        let state = try client.ask(#"{"op":"get","store":"gate/front"}"#)
        #expect(state.contains(#""open":true"#) && state.contains(#""times":0"#), "\(state)")
        #expect(
            try client.ask(#"{"op":"dispatch","store":"gate/front","action":"close"}"#).contains(
                #""changed":1"#))
        #expect(try client.ask(#"{"op":"hello"}"#).contains(#""batch":7"#))
        #expect(
            try host.journal("MESSAGE_ID=f240b3a15a704affa44eabf8c31f444d").last?["FLUXBUS_REVISION"] != nil)
    }

    @Test(arguments: ["type", "misfit"]) func reloadThatIsRefusedChangesNothingAndSaysWhy(kind: String) throws
    {
        try write(door: "initial: { open: false, times: 0 }\nactions: { open: {} }\n")
        try host.systemctl("reload")
        let client = try host.connect()
        _ = try client.ask(#"{"op":"create","store":"gate/\#(kind)","ifMissing":true}"#)
        let process = try host.property("MainPID")
        let (wrong, reason) =
            kind == "type"
            ? ("initial: { open: false, times: 0 }\nactions: { open: { sett: {} } }\n", "gate.yaml:3:")
            : ("initial: { open: false }\nactions: { open: {} }\n", "gate/\(kind)")
        try write(door: wrong)
        let outcome = try host.harness.run("systemctl", "reload", BusHost.service)
        #expect(outcome.status != 0)
        #expect(try host.property("ActiveState") == "active")
        let status = try host.property("StatusText")
        #expect(status.contains(reason), "\(status)")
        let entry = try host.journal("MESSAGE_ID=88eb3b0d9ac445f1ba6ee6b5c3a3056f").last
        #expect((entry?["MESSAGE"] as? String)?.contains(reason) == true)
        #expect(entry?["PRIORITY"] as? String == "3")
        #expect(
            try client.ask(#"{"op":"dispatch","store":"gate/\#(kind)","action":"open"}"#).contains(
                #""ok":true"#))

        // By signal, too; and what is right again is told.
        try write(door: "initial: { open: false, times: 0 }\nactions: { open: {} }\n")
        try host.systemctl("kill", "--signal=HUP", "--kill-whom=main")
        let isRight = try host.comesTrue { try !host.property("StatusText").contains(reason) }
        #expect(isRight)
        #expect(try host.property("MainPID") == process)
        #expect(try client.ask(#"{"op":"drop","store":"gate/\#(kind)"}"#).contains(#""ok":true"#))
    }
}
