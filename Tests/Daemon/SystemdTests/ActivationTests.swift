import TestServer
import Testing

/// Sockets that a real systemd listens on, and passes to the service that the first connection starts.
@Suite(.harness, .timeLimit(.minutes(10))) struct ActivationTests {
    private let harness: Harness
    init() throws { harness = try Harness.shared() }

    @Test func firstConnectionStartsTheServiceAndIsServed() throws {
        let probe = try ProbeService(harness, "first")
        #expect(try probe.property("ActiveState") == "inactive")
        let connection = try probe.connect()
        try connection.order("ready")
        try probe.settle()
        #expect(try probe.property("ActiveState") == "active")
    }

    @Test func socketsComeByNameUnixAndTCP() throws {
        let probe = try ProbeService(
            harness, "named",
            sockets: [
                "named-bus": [
                    "ListenStream=/run/named-bus.sock", "ListenStream=127.0.0.1:7511",
                    "ListenStream=[::1]:7511", "FileDescriptorName=bus",
                ]
            ])
        let connection = try probe.start()
        let passed = try connection.order("passed").split(separator: ",").sorted()
        #expect(passed == ["bus:tcp", "bus:tcp", "bus:unix", "control:unix"])
        // And they are the sockets that they should be: both are answered.
        let process = try connection.order("process")
        #expect(try LineClient(service: harness.path("/run/named-bus.sock")).order("process") == process)
        for host in ["127.0.0.1", "::1"] {
            let answer = try harness.check(
                "bash", "-c", "exec 3<>/dev/tcp/\(host)/7511; echo process >&3; head -n 1 <&3")
            #expect(answer == process)
        }
    }

    @Test func serviceThatCanNotServeTurnsItsClientsAwayAndDoesNotLoop() throws {
        let probe = try ProbeService(harness, "away", mode: "refuse")
        let clients = try (0..<3).map { _ in try probe.connect() }
        for client in clients { #expect(try client.line() == nil) }
        // They see their end before the process has ended, which stopping would cut short. Asking takes its time itself.
        var attempts = 0
        while try probe.property("ExecMainStatus") != "78", attempts < 2000 { attempts += 1 }
        // Stopping the socket ends whatever would still be tried.
        try harness.check("systemctl", "stop", "away.socket")
        let messages = try probe.messages()
        // One start for each client at most; if they waited on, the manager would try until it gives the socket up.
        #expect((1...3).contains(messages.components(separatedBy: "turned away").count - 1), "\(messages)")
        #expect(try probe.property("ExecMainStatus") == "78")
    }
}
