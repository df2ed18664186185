import Foundation
import TestServer
import Testing

/// The service of effects on the installed bus: an action starts a unit, and one that fails is shown.
extension BusTests {
    private static let effects = "fluxbus-effects.service"

    @Test func anActionStartsATemplateUnit() throws {
        let harness = host.harness
        try harness.write(
            "/etc/fluxbus/effects/bell.yaml",
            """
            effect: bell
            on: { action: rang, of: door/* }
            do: { start: "alarm@{store.name}.service" }
            retry: { times: 1, first: 50ms }
            """)
        try harness.write(
            "/run/systemd/system/alarm@.service",
            """
            [Unit]
            StartLimitIntervalSec=0
            [Service]
            Type=oneshot
            ExecStart=/bin/sh -c 'echo %i >>/run/alarms; test %i != back'
            """)
        // No message bus runs here, so it asks the manager as root does; else the unit is as it is installed.
        try host.dropIn(
            "root", ["User=root", "Group=root", "ExecPaths=\(try BusHost.runtimeFolder())"],
            unit: Self.effects)
        defer {
            _ = try? harness.run("systemctl", "stop", Self.effects)
            _ = try? harness.run(
                "rm", "-r", "/etc/fluxbus/effects/bell.yaml", "/run/systemd/system/\(Self.effects).d")
            _ = try? harness.run("systemctl", "daemon-reload")
        }
        for name in ["front", "back"] {
            try harness.check("fluxbus", "create", "door/\(name)", "--if-missing")
        }
        let start = try harness.run("systemctl", "start", Self.effects)
        let journal = try harness.run("journalctl", "-u", Self.effects, "-o", "cat").output
        #expect(start.status == 0, "\(start.errors) \(journal)")
        try harness.check("fluxbus", "dispatch", "door/front", "rang")
        try harness.check("fluxbus", "dispatch", "door/back", "rang")
        let wait = try harness.run(
            "fluxbus", "wait", "effect/bell", "succeeded == 1 && failures == 1", "--timeout", "30s")
        let state = try harness.run("fluxbus", "get", "effect/bell").output
        #expect(wait.status == 0, "\(state)")
        #expect(
            try harness.check("cat", "/run/alarms").split(separator: "\n").sorted() == [
                "back", "back", "front",
            ])
        let failures = try harness.check("fluxbus", "effects", "list", "bell", "--human")
        #expect(failures.contains("the job of alarm@back.service ended as failed"), "\(failures)")
        // It ends within its time, and says where it stands.
        try harness.check("systemctl", "stop", Self.effects)
        #expect(try harness.property("Result", of: Self.effects) == "success")
        try harness.check("fluxbus", "wait", "effect/bell", "isClean", "--timeout", "5s")
    }
}
