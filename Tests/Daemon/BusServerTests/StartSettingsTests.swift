import BusServer
import Logging
import TestCertificates
import TestFiles
import TestServer
import Testing

/// What a reload puts in force, and what it leaves to a restart, setting by setting.
@Suite(.timeLimit(.minutes(10))) struct StartSettingsTests {
    private let directory = TemporaryDirectory()

    private func load(_ members: [String: String]) throws -> ServerSetup {
        let file = try directory.write(
            "fluxbusd.yaml", members.map { "\($0.key): \($0.value)\n" }.joined())
        return try ServerSetup.load(
            flags: ConfigurationOverrides(config: file), environment: ConfigurationOverrides(environment: [:])
        )
    }

    /// Two values of what a setting belongs to, at the top of the file, that differ in the setting alone.
    private func values(
        _ setting: String, _ one: TestAuthority.Issued, _ two: TestAuthority.Issued
    ) throws -> (String, String) {
        let member = setting.split(separator: ".").last.map(String.init) ?? setting
        switch setting {
        case "listen": return ("[{ unix: s }]", "[{ unix: t }]")
        case "listen.mode": return ("[{ unix: s }]", #"[{ unix: s, mode: "0600" }]"#)
        case "listen.group": return ("[{ unix: s }]", "[{ unix: s, group: root }]")
        case "listen.certificate", "listen.key", "listen.clients", "listen.require":
            func address(
                _ issued: TestAuthority.Issued, clients: TestAuthority.Issued, _ more: String = ""
            ) -> String {
                "[{ tls: '127.0.0.1:1', certificate: \(issued.certificate), key: \(issued.key), "
                    + "clients: \(clients.certificate)\(more) }]"
            }
            let next =
                switch setting {
                case "listen.clients": address(one, clients: two)
                case "listen.require": address(one, clients: one, ", require: true")
                // One fits only the other.
                default: address(two, clients: one)
                }
            return (address(one, clients: one), next)
        case "tokens":
            return (
                try directory.write("tokens", "phone s3cret-of-the-phone\n"),
                try directory.write("tokens-2", "phone s3cret-of-the-other\n")
            )
        case "types":
            try directory.write("others/lamp.yaml", "type: lamp\ninitial: { on: false }\n")
            return ("types", "others")
        case "stores": return ("[]", "[counter/main]")
        case "access":
            return ("", "{ roles: { admin: [{ user: root }] }, rules: [{ role: admin, may: all }] }")
        case "log.path": return ("{ path: a }", "{ path: b }")
        case "log.sync": return ("{ path: a }", "{ path: a, sync: never }")
        case "log.retain.age": return ("{ path: a }", "{ path: a, retain: { age: 1d } }")
        case "log.retain.bytes", "log.retain.commits":
            return ("{ path: a }", "{ path: a, retain: { \(member): 5000000 } }")
        default: break
        }
        if setting.hasPrefix("limits.user.") { return ("{}", "{ user: { \(member): 5 } }") }
        if setting.hasPrefix("limits.") {
            let value = ["depth": 100, "memory": 20 << 20][member] ?? 5000
            return ("{}", "{ \(member): \(value) }")
        }
        return try clusters(member, one, two)
    }

    private func clusters(
        _ member: String, _ one: TestAuthority.Issued, _ two: TestAuthority.Issued
    ) throws -> (String, String) {
        try directory.write("p", "secret\n")
        try directory.write("q", "secret\n")
        var members = [
            "bus": "home", "etcd": "['https://e:1']", "ca": one.certificate, "certificate": one.certificate,
            "key": one.key, "user": "me", "password-file": "p", "member": "m", "advertise": "'tls:e:1'",
            "from": "'tls:e:3'", "lease": "10s",
        ]
        func text() -> String { "{ \(members.map { "\($0.key): \($0.value)" }.joined(separator: ", ")) }" }
        let before = text()
        let others = [
            "bus": "hall", "etcd": "['https://e:2']", "ca": two.certificate, "certificate": two.certificate,
            "user": "you", "password-file": "q", "member": "n", "advertise": "'tls:e:2'",
            "from": "'tls:e:4'", "lease": "11s",
        ]
        if member == "certificate" || member == "key" {
            (members["certificate"], members["key"]) = (two.certificate, two.key)
        } else {
            members[member] = others[member]
        }
        return (before, text())
    }

    /// What the page about operating says that a setting takes: its own word counts, else that of what it belongs to.
    private func taken(_ setting: String) throws -> String {
        let rows = try MarkdownPage("Sources/Daemon/BusServer/BusServer.docc/Operating.md").rows
            .filter { ["a reload", "a restart"].contains($0.last) }
        try #require(rows.count == 2)
        for name in [setting, String(setting.prefix { $0 != "." })] {
            let found = rows.filter { $0[0].contains("`\(name)`") }
            if found.count == 1 { return found[0][1] }
            #expect(found.isEmpty, "\(name) stands in both rows")
        }
        throw LineClient.Failure("\(setting) stands in no row.")
    }

    @Test func theSettingsThatTakeARestartAreNamed() throws {
        let authority = try TestAuthority()
        let (one, two) = (try authority.server("one"), try authority.server("two"))
        try directory.writeCounter()
        #expect(ServerConfiguration.settings.count > 40)
        for setting in ServerConfiguration.settings {
            let top = String(setting.prefix { $0 != "." })
            var members = ["listen": "[{ unix: s }]", "types": "types", "log": "{ path: a }"]
            let (value, next) = try values(setting, one, two)
            members[top] = value
            let now = try load(members)
            let started = StartSettings(now)
            #expect(started.differences(in: StartSettings(try now.reloaded())) == [], "\(setting)")
            members[top] = next
            let named = started.differences(in: StartSettings(try load(members)))
            let expected: [String] =
                switch (try taken(setting), top) {
                // It has no effect at all.
                case (_, "log") where setting == "log.retain.commits": []
                case ("a reload", _): []
                case (_, "listen"): ["listen"]
                // One fits only the other.
                case _ where ["cluster.certificate", "cluster.key"].contains(setting):
                    ["cluster.certificate", "cluster.key"]
                default: [setting]
                }
            #expect(named == expected, "\(setting)")
        }
    }

    /// What is there at all takes a restart, too, and so does another password in the same file.
    @Test func sectionsThatComeOrGoAreNamedAsAWhole() throws {
        var members = ["listen": "[{ unix: s }]"]
        let without = StartSettings(try load(members))
        members["log"] = "{ path: a }"
        let logged = StartSettings(try load(members))
        #expect(without.differences(in: logged) == ["log"] && logged.differences(in: without) == ["log"])
        try directory.write("p", "one\n")
        members["cluster"] =
            "{ bus: home, etcd: ['http://e:1'], member: m, user: me, password-file: p }"
        let shared = StartSettings(try load(members))
        #expect(logged.differences(in: shared) == ["cluster"])
        try directory.write("p", "two\n")
        #expect(shared.differences(in: StartSettings(try load(members))) == ["cluster.password-file"])
    }

    /// The reply and the journal name them as long as they differ from the start; the rest is in force.
    @Test func aReloadPutsTheRestInForceAndSaysSoEachTime() throws {
        let log = NoteLog()
        var setup = LiveBus.Setup()
        setup.secured = ["{ unix: second }"]
        setup.hasLog = true
        setup.logger = Logger(label: "test") { _ in log.handler }
        let bus = try LiveBus(setup)
        let client = try bus.client()
        let first = "listen: [{ unix: '\(bus.path("s"))' }, { unix: second }]\nlimits: { batch: 7 }\n"
        let dryRun = try client.ask(#"{"op":"reload","dryRun":true}"#)
        #expect(!dryRun.contains("restart"), "\(dryRun)")
        try bus.directory.write(
            "fluxbusd.yaml",
            "listen: [{ unix: '\(bus.path("s"))' }]\nlog: { path: x, sync: never }\n"
                + "limits: { batch: 7 }\n")
        let named = #""restart":["listen","log.sync"]"#
        #expect(try client.ask(#"{"op":"reload","dryRun":true}"#).contains(named))
        #expect(!log.notes.contains { $0.message.contains("restart") })
        // As the signal does it. When the second one is done, it is, too.
        bus.server.reload()
        for _ in 0..<2 { #expect(try client.ask(#"{"op":"reload"}"#).contains(named)) }
        #expect(try client.ask(#"{"op":"hello"}"#).contains(#""batch":7"#))
        try bus.directory.write("fluxbusd.yaml", first)
        let restored = try client.ask(#"{"op":"reload"}"#)
        #expect(restored.contains(#""ok":true"#) && !restored.contains("restart"), "\(restored)")
        let told = log.notes.filter { $0.message.contains("restart") }
        #expect(told.count == 3)
        #expect(told.allSatisfy { $0.message.hasPrefix("listen, log.sync: ") })
    }
}
