import Testing

/// What a real systemd makes of a service that uses the library.
@Suite(.harness, .timeLimit(.minutes(10))) struct ServiceTests {
    private let harness: Harness
    init() throws { harness = try Harness.shared() }

    @Test func systemBoots() throws {
        #expect(try harness.check("systemctl", "is-active", "harness.target") == "active")
        #expect(try harness.check("systemctl", "is-active", "systemd-journald.service") == "active")
    }

    @Test func serviceIsActiveOnlyOnceItIsReady() throws {
        let probe = try ProbeService(harness, "ready")
        try probe.begin()
        let connection = try probe.connect()
        // An answer means that it runs; the barrier, that the manager has read all it was told.
        try connection.order("status warming up")
        try connection.order("store x")
        #expect(try probe.property("ActiveState") == "activating")
        #expect(try probe.property("StatusText") == "warming up")

        try connection.send("ready")
        try probe.settle()
        #expect(try probe.property("ActiveState") == "active")
    }

    @Test func statusIsWhatPeopleSee() throws {
        let probe = try ProbeService(harness, "status")
        let connection = try probe.start()
        try connection.order("status 12 stores, 3 clients")
        try connection.order("forget")
        #expect(try probe.property("StatusText") == "12 stores, 3 clients")
        #expect(try harness.check("systemctl", "status", probe.unit).contains("\"12 stores, 3 clients\""))
    }

    @Test func reloadEndsWithReady() throws {
        let probe = try ProbeService(harness, "reload")
        let connection = try probe.start()
        try connection.order("reloading")
        try connection.order("forget")
        #expect(try probe.property("ActiveState") == "reloading")
        try connection.order("ready")
        try connection.order("forget")
        #expect(try probe.property("ActiveState") == "active")
    }

    @Test func watchdogEndsServiceThatIsNotAlive() throws {
        let probe = try ProbeService(harness, "watchdog", service: ["WatchdogSec=4s"])
        try probe.begin()
        let connection = try probe.connect()
        // The time runs from here on, also while the manager is asked for something.
        try connection.order("ready")
        #expect(try connection.order("watchdog") == "4.0 seconds")
        // Three beats take longer than the interval: it answers because it is fed.
        try connection.order("beat 3")
        // Nothing feeds it any more: the next thing this connection sees is its end.
        #expect(try connection.line() == nil)
        #expect(try probe.messages().contains("Watchdog timeout"))
    }

    @Test func serviceCanReportItselfBroken() throws {
        let probe = try ProbeService(harness, "trigger", service: ["WatchdogSec=10min"])
        let connection = try probe.start()
        try connection.send("trigger")
        while try connection.line() != nil {}
        #expect(try probe.messages().contains("Watchdog request"))
    }

    @Test func badConfigurationFailsOnceAndDoesNotLoop() throws {
        let probe = try ProbeService(
            harness, "config", service: ["Restart=always", "RestartSec=0", "RestartPreventExitStatus=78"])
        let connection = try probe.start()
        try connection.send("exit 78")
        #expect(try connection.line() == nil)
        // The socket would start it again with the next connection; what counts is that the manager did not.
        _ = try harness.run("systemctl", "stop", "config.socket")
        #expect(try probe.property("ExecMainStatus") == "78")
        #expect(try probe.property("NRestarts") == "0")
    }

    @Test func childrenDoNotInheritWhatIsMeantForTheService() throws {
        let probe = try ProbeService(harness, "children", service: ["WatchdogSec=10min"])
        #expect(try probe.start().order("variables") == "no variables")
    }

    /// They inherit NOTIFY_SOCKET, which libsystemd needs each time; whom the manager believes is what the unit says.
    @Test func childrenCanNotSpeakForTheService() throws {
        for (access, told) in [("main", "mine"), ("all", "the child")] {
            let probe = try ProbeService(harness, "child-\(access)", service: ["NotifyAccess=\(access)"])
            let connection = try probe.start()
            try connection.order("status mine")
            try connection.order("child the child")
            #expect(try probe.property("StatusText") == told)
        }
    }

    @Test func peerIsKnownByItsUnit() throws {
        let probe = try ProbeService(harness, "peer", service: ["DynamicUser=yes"])
        _ = try probe.start()
        try harness.write(
            "/run/systemd/system/asker.service",
            """
            [Service]
            Type=oneshot
            ExecStart=\(Harness.executablesInside)/systemd-probe ask /run/peer.sock unit
            StandardOutput=file:/run/asker.txt
            """)
        try harness.check("systemctl", "daemon-reload")
        try harness.check("systemctl", "start", "asker.service")
        #expect(try harness.check("cat", "/run/asker.txt") == "asker.service of asker.service")
        // One that runs outside of all units.
        #expect(
            try harness.check("\(Harness.executablesInside)/systemd-probe", "ask", "/run/peer.sock", "unit")
                == "none of none")
    }
}
