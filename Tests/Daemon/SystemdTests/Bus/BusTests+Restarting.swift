import Foundation
import TestServer
import Testing

/// Restarts that no client notices.
extension BusTests {
    @Test func clientsUnderLoadSurviveTenRestarts() throws {
        let setup = try host.connect()
        try Herd.makeStores(setup)
        let herd = try Herd(clients: 200, path: host.harness.path(BusHost.socket))
        var processes: Set<String> = [try host.property("MainPID")]
        for _ in 0..<10 {
            // Some commits between any two restarts, so that each happens under load.
            herd.waitForMore(acknowledged: 200)
            try host.systemctl("restart")
            processes.insert(try host.property("MainPID"))
        }
        herd.waitForMore(acknowledged: 200)
        let report = herd.finish()
        #expect(processes.count == 11)
        #expect(report.problems == [])
        #expect(report.broken == 0)
        // Every acknowledged dispatch is there, once, and nothing else.
        #expect(Set(report.revisions).count == report.acknowledged)
        #expect(report.counts.reduce(0, +) == report.acknowledged)
        for index in 0..<Herd.storeCount {
            let state = try setup.ask(#"{"op":"get","store":"counter/\#(Herd.store(index))"}"#)
            #expect(state.contains(#""count":\#(report.counts[index])"#), "\(state)")
        }
        #expect(try host.property("NRestarts") == "0")
    }

    @Test func sessionsGoOnWhereTheyWere() throws {
        let client = try host.connect()
        let other = try host.connect()
        for request in [
            #"{"op":"create","store":"counter/session"}"#,
            #"{"op":"create","store":"counter/passing","ephemeral":true}"#,
            #"{"op":"will","actions":[{"store":"counter/session","action":"increment","payload":{"by":100}}]}"#,
            #"{"op":"dispatch","store":"counter/session","action":"increment","key":"once"}"#,
        ] { #expect(try client.ask(request).contains(#""ok":true"#)) }
        _ = try other.reply(to: #"{"op":"subscribe","store":"counter/session"}"#)
        _ = try other.line()
        // Half a line.
        try client.send(bytes: #"{"op":"dispatch","store":"counter/ses"#)
        try host.systemctl("restart")
        try client.send(#"sion","action":"increment"}"#)
        #expect(try client.line()?.contains(#""changed":1"#) == true)
        #expect(try other.line()?.contains(#""count":2"#) == true)
        let again = try client.ask(
            #"{"op":"dispatch","store":"counter/session","action":"increment","key":"once"}"#)
        #expect(again.contains(#""duplicate":true"#))
        #expect(try other.reply(to: #"{"op":"get","store":"counter/passing"}"#).contains(#""count":0"#))

        // One that goes while nobody is there: its will and its ephemeral store are seen to before anybody else is served.
        client.close()
        try host.systemctl("restart")
        #expect(try other.reply(to: #"{"op":"get","store":"counter/passing"}"#).contains("unknown_store"))
        #expect(try other.reply(to: #"{"op":"get","store":"counter/session"}"#).contains(#""count":102"#))
        _ = try other.reply(to: #"{"op":"drop","store":"counter/session"}"#)
    }

    @Test func socketThatTheDaemonOpenedItselfSurvives() throws {
        try host.harness.write(
            "/run/systemd/system/lone.service",
            """
            [Service]
            Type=notify
            RuntimeDirectory=lone
            RuntimeDirectoryPreserve=restart
            Environment=FLUXBUS_LOG=/run/lone/bus.sqlite
            FileDescriptorStoreMax=4
            ExecStart=/usr/bin/fluxbusd --listen unix:/run/lone/bus.sock
            ExecStop=-/bin/kill -s USR1 $MAINPID
            """)
        try host.harness.check("systemctl", "daemon-reload")
        try host.harness.check("systemctl", "start", "lone.service")
        let path = host.harness.path("/run/lone/bus.sock")
        let client = try LineClient(service: path)
        let inode = try host.harness.check("stat", "-c", "%i", "/run/lone/bus.sock")
        try host.harness.check("systemctl", "restart", "--no-block", "lone.service")
        // Nobody is refused meanwhile, and it is the same socket afterwards.
        for _ in 0..<50 { #expect(try LineClient(service: path).ask(#"{"op":"ping"}"#) == #"{"ok":true}"#) }
        try host.harness.check("systemctl", "start", "lone.service")
        #expect(try client.ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
        #expect(try host.harness.check("stat", "-c", "%i", "/run/lone/bus.sock") == inode)
        try host.harness.check("systemctl", "stop", "lone.service")
    }
}
