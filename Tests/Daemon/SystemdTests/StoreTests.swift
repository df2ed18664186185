import TestServer
import Testing

/// Descriptors that outlive a process, by a real systemd.
@Suite(.harness, .timeLimit(.minutes(10))) struct StoreTests {
    private let harness: Harness
    init() throws { harness = try Harness.shared() }

    private func probe(_ name: String, _ service: [String] = []) throws -> ProbeService {
        try ProbeService(harness, name, service: ["FileDescriptorStoreMax=8"] + service)
    }

    @Test func storedStateComesBackByName() throws {
        let probe = try probe("store")
        let first = try probe.start()
        let process = try first.order("process")
        try first.order("store the answer is 42")
        #expect(try probe.property("NFileDescriptorStore") == "1")

        let second = try restartAfterEnd(probe, first)
        #expect(try second.order("process") != process)
        #expect(try second.order("states") == "the answer is 42")
        #expect(try second.order("passed") == "control:unix,state:other")
    }

    @Test func stateComesBackAfterCrash() throws {
        let probe = try probe("crash", ["Restart=always", "RestartSec=0"])
        let first = try probe.start()
        try first.order("store kept")
        try harness.check("systemctl", "kill", "--signal=KILL", "--kill-whom=main", probe.unit)
        #expect(try first.line() == nil)
        let second = try probe.connect()
        try second.order("ready")
        #expect(try second.order("states") == "kept")
    }

    @Test func removedStateDoesNotComeBack() throws {
        let probe = try probe("remove")
        let first = try probe.start()
        try first.order("store gone")
        try first.order("forget")
        #expect(try probe.property("NFileDescriptorStore") == "0")
        #expect(try restartAfterEnd(probe, first).order("states") == "")
    }

    @Test func connectionsSurviveRestart() throws {
        let probe = try probe("keep")
        let first = try probe.start()
        let others = try (0..<300).map { _ in try probe.connect() }
        // The last one's answer says that all were accepted, in order.
        for other in others { #expect(try other.order("watchdog") == "none") }
        let process = try first.order("process")
        try first.order("keep")
        // However many: the manager keeps one descriptor for all of them.
        #expect(try probe.property("NFileDescriptorStore") == "1")

        // This one came too late to be kept, so its end tells that the old process is gone.
        let late = try probe.connect()
        try late.order("forget")
        try harness.check("systemctl", "restart", "--no-block", probe.unit)
        #expect(try late.line() == nil)
        try first.order("ready")
        try probe.settle()
        // The same connections, answered by another process: nobody saw an end of file.
        let successor = try first.order("process")
        #expect(successor != process)
        for other in others { #expect(try other.order("process") == successor) }
        #expect(try probe.property("NFileDescriptorStore") == "0")
    }

    /// The old process answers connections until it ends; so wait for that before a new one is made.
    private func restartAfterEnd(_ probe: ProbeService, _ old: LineClient) throws -> LineClient {
        try harness.check("systemctl", "restart", "--no-block", probe.unit)
        #expect(try old.line() == nil)
        let connection = try probe.connect()
        try connection.order("ready")
        try probe.settle()
        return connection
    }
}
