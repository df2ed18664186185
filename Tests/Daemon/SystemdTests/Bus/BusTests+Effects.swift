import Foundation
import TestFiles
import TestServer
import Testing

/// The service of effects on the installed bus: its unit as it is installed, but for where the Swift runtime is.
extension BusTests {
    private static let effects = "fluxbus-effects.service"

    /// Writes files of effects, by their names without the name of the effect, starts the service, and takes all of it back.
    private func withEffects(
        _ effects: [String: String], _ lines: [String] = [], isClean: Bool = true,
        _ body: (Harness) throws -> Void
    ) throws {
        let harness = host.harness
        for (name, text) in effects {
            try harness.write("/etc/fluxbus/effects/\(name).yaml", "effect: \(name)\n\(text)\n")
        }
        try host.dropIn(
            "test", ["ExecPaths=\(try BusHost.runtimeFolder())"] + lines, unit: Self.effects)
        defer {
            _ = try? harness.run("systemctl", "stop", Self.effects)
            for name in effects.keys {
                _ = try? harness.run("rm", "/etc/fluxbus/effects/\(name).yaml")
                _ = try? harness.run("fluxbus", "drop", "effect/\(name)")
            }
            _ = try? harness.run("rm", "-r", "/run/systemd/system/\(Self.effects).d")
            _ = try? harness.run("systemctl", "daemon-reload")
        }
        let start = try harness.run("systemctl", "start", Self.effects)
        let journal = try harness.run("journalctl", "-u", Self.effects, "-o", "cat").output
        #expect(start.status == 0, "\(start.errors) \(journal)")
        try body(harness)
        // It ends within its time, says where it stands, and leaves nothing behind.
        try harness.check("systemctl", "stop", Self.effects)
        #expect(try harness.property("Result", of: Self.effects) == "success")
        for name in effects.keys {
            try harness.check(
                "fluxbus", "wait", "effect/\(name)", "isClean == \(isClean) && owner == \"\"", "--timeout",
                "50s")
        }
        #expect(try harness.run("pgrep", "--euid", "fluxbus-effects").status == 1)
    }

    private func wait(_ store: String, _ condition: String) throws {
        let wait = try host.fluxbus("wait", store, condition, "--timeout", "50s")
        let state = try host.fluxbus("get", store).output
        #expect(wait.status == 0, "\(condition): \(state)")
    }

    /// Waits until its unit has started the service so many times by itself, and it follows the bus.
    private func requireRestart(_ count: Int) throws {
        let isBack = try host.comesTrue {
            try host.harness.property("NRestarts", of: Self.effects) == "\(count)"
                && host.harness.property("ActiveState", of: Self.effects) == "active"
        }
        try #require(isBack)
    }

    /// No message bus runs here, so the service asks the manager as root does.
    private static let asRoot = ["User=root", "Group=root"]

    @Test func anActionStartsATemplateUnit() throws {
        try host.harness.write(
            "/run/systemd/system/alarm@.service",
            """
            [Unit]
            StartLimitIntervalSec=0
            [Service]
            Type=oneshot
            ExecStart=/bin/sh -c 'echo %i >>/run/alarms; test %i != back'
            """)
        let bell =
            "on: { action: rang, of: door/* }\ndo: { start: \"alarm@{store.name}.service\" }\nretry: { times: 1, first: 50ms }"
        for name in ["front", "back"] {
            try host.harness.check("fluxbus", "create", "door/\(name)", "--if-missing")
        }
        try withEffects(["bell": bell], Self.asRoot) { harness in
            try harness.check("fluxbus", "dispatch", "door/front", "rang")
            try harness.check("fluxbus", "dispatch", "door/back", "rang")
            try wait("effect/bell", "succeeded == 1 && failures == 1")
            #expect(
                try harness.check("cat", "/run/alarms").split(separator: "\n").sorted() == [
                    "back", "back", "front",
                ])
            let failures = try harness.check("fluxbus", "effects", "list", "bell", "--human")
            #expect(failures.contains("the job of alarm@back.service ended as failed"), "\(failures)")
        }
    }

    /// The sample, as it is: one backup for each time that the lease is taken.
    @Test func aLeaseGuardsABackup() throws {
        let sample = try Repository.text("config/effects/backup.yaml").split(separator: "\n")
            .filter { !$0.hasPrefix("effect:") }.joined(separator: "\n")
        try host.harness.write(
            "/run/systemd/system/backup.service",
            "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'echo made >>/run/backups'\n")
        try withEffects(["backup": sample], Self.asRoot) { harness in
            for count in 1...2 {
                try harness.check("fluxbus", "create", "lease/backup", "holder=nightly")
                for _ in 0..<3 {
                    try harness.check("fluxbus", "dispatch", "lease/backup", "renew", "holder=nightly")
                }
                try wait("effect/backup", "succeeded == \(count)")
                #expect(try harness.run("fluxbus", "create", "lease/backup", "holder=other").status != 0)
                try harness.check("fluxbus", "drop", "lease/backup")
            }
            #expect(try harness.check("cat", "/run/backups") == "made\nmade")
        }
    }

    /// Without the drop-in of the page there is no network and no secret, which is said; with it there are.
    @Test func aRequestIsPostedOnceTheUnitHasANetwork() throws {
        let harness = host.harness
        let server = try HookServer(
            through: ["/usr/bin/nsenter", "--target", "\(harness.process)", "--net", "--"])
        let on = "on: { action: rang, of: door/* }\nretry: { times: 0 }\ntimeout: 50s\n"
        let url = "http://127.0.0.1:\(server.port)/ok"
        let effects = [
            "plain": on + "do: { post: { url: '\(url)/{name}' } }",
            "secret": on
                + "do: { post: { url: \(url), headers: { Authorization: { prefix: 'Bearer ', file: webhook-token } } } }",
        ]
        try harness.write("/etc/fluxbus/webhook-token", "only root knows\n")
        try harness.check("chmod", "600", "/etc/fluxbus/webhook-token")
        try harness.check("fluxbus", "create", "door/front", "--if-missing")
        try withEffects(effects) { harness in
            try harness.check("fluxbus", "dispatch", "door/front", "rang")
            for (name, reason) in [
                ("plain", "the unit has no network"), ("secret", "the unit has no credential webhook-token"),
            ] {
                try wait("effect/\(name)", "failures == 1")
                let list = try harness.check("fluxbus", "effects", "list", name, "--human")
                #expect(list.contains(reason), "\(list)")
            }
            let page = try MarkdownPage("Sources/Daemon/BusServer/BusServer.docc/Effects.md")
            let dropIn = try #require(page.blocks("ini").first).text
            try harness.write("/run/systemd/system/\(Self.effects).d/network.conf", dropIn)
            try harness.check("systemctl", "daemon-reload")
            try harness.check("systemctl", "restart", Self.effects)
            // At most 1.2 of 10; the option counts in tenths.
            try harness.check("systemd-analyze", "security", "--threshold=12", Self.effects)
            for name in effects.keys {
                try harness.check("fluxbus", "effects", "retry", name)
                try wait("effect/\(name)", "succeeded == 1 && failed == {}")
            }
            #expect(Set(server.requests.map(\.path)) == ["/ok/front", "/ok"])
            let secrets = server.requests.compactMap { $0["Authorization"] }
            #expect(secrets == ["Bearer only root knows"])
        }
    }

    /// Killed again and again, and started by its unit, it loses nothing and does no dispatch twice.
    @Test func killsOfTheUnitLoseNothing() throws {
        let storm = EffectStorm()
        let harness = host.harness
        try harness.write("/etc/fluxbus/types/log.yaml", EffectStorm.type)
        try harness.check("sed", "-i", "s|counter/[*], |log/*, &|", "/etc/fluxbus/access.yaml")
        try harness.check("fluxbus", "reload")
        defer {
            _ = try? harness.run("rm", "/etc/fluxbus/types/log.yaml")
            _ = try? harness.run("sed", "-i", "s|log/[*], ||", "/etc/fluxbus/access.yaml")
            for name in ["main", "a", "b"] { _ = try? harness.run("fluxbus", "drop", "log/\(name)") }
            _ = try? harness.run("fluxbus", "reload")
        }
        for name in ["main", "a", "b"] { try harness.check("fluxbus", "create", "log/\(name)") }
        // Its limit of starts counts what happens by itself.
        try host.dropIn("limit", ["StartLimitIntervalSec=0"], unit: Self.effects, section: "Unit")
        try withEffects(storm.effects) { harness in
            var restarts = 0
            let last = try storm.blow(
                host.connect(),
                kill: {
                    try harness.check("systemctl", "kill", "--signal=KILL", "--kill-whom=main", Self.effects)
                    restarts += 1
                },
                awaitBack: { try requireRestart(restarts) })
            try wait("log/main", "size(notes) >= \(storm.actions)")
            try wait("effect/write", "waiting == 0 && running == 0 && done >= \(last)")
            let state = try harness.check("fluxbus", "get", "log/main")
            let notes = state.drop { $0 != "[" }.prefix { $0 != "]" }.split { !$0.isNumber }.compactMap {
                Int($0)
            }
            let problems = try storm.problems(notes: notes) { store in
                try harness.check("cat", "/var/lib/fluxbus-effects/\(store)").split(separator: "\n")
                    .map(String.init)
            }
            #expect(problems == [])
            #expect(try harness.property("NRestarts", of: Self.effects) == "\(storm.kills)")
        }
    }

    @Test func watchdogEndsAServiceThatHangsAndSparesABusyOne() throws {
        let hang =
            "on: { action: rang, of: door/* }\ndo: { run: [/bin/sleep, 1000] }\ntimeout: 500ms\nretry: { times: 1000, first: 10ms }"
        try host.harness.check("fluxbus", "create", "door/front", "--if-missing")
        try withEffects(["hang": hang], ["WatchdogSec=4s", "TimeoutAbortSec=1s"], isClean: false) {
            harness in
            let process = try harness.property("MainPID", of: Self.effects)
            try harness.check("fluxbus", "dispatch", "door/front", "rang")
            try wait("effect/hang", "running == 1")
            let end = ContinuousClock.now + .seconds(8)
            while ContinuousClock.now < end {
                try harness.check("fluxbus", "dispatch", "door/front", "rang")
            }
            #expect(try harness.property("MainPID", of: Self.effects) == process)
            try harness.check("systemctl", "kill", "--signal=STOP", "--kill-whom=main", Self.effects)
            try requireRestart(1)
            let messages = try harness.check("journalctl", "-u", Self.effects, "-o", "cat")
            #expect(messages.contains("Watchdog timeout"))
        }
    }
}
