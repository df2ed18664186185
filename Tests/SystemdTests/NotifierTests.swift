import CSystemd
import Glibc
import Systemd
import Testing

/// Notifications as they go over the wire, read by a stand-in for the manager.
@Suite struct NotifierTests {
    private let manager = StandInManager()

    private func notifier(_ manager: StandInManager? = nil) throws -> Notifier {
        let name = (manager ?? self.manager).name
        return try Notifier(ServiceEnvironment(variables: ["NOTIFY_SOCKET": name]))
    }

    @Test func severalMessagesAreOneNotification() throws {
        try notifier().send(.ready, .status("3 clients"))
        #expect(manager.next()?.text == "READY=1\nSTATUS=3 clients")
        #expect(manager.next() == nil)
    }

    @Test func everyMessageIsWrittenAsSystemdReadsIt() throws {
        let expected: [(Notifier.Message, String)] = [
            (.ready, "READY=1"), (.stopping, "STOPPING=1"), (.watchdog, "WATCHDOG=1"),
            (.watchdogTrigger, "WATCHDOG=trigger"),
            (.extendTimeout(.milliseconds(1500)), "EXTEND_TIMEOUT_USEC=1500000"),
            (.watchdogInterval(.seconds(30)), "WATCHDOG_USEC=30000000"), (.mainProcess(17), "MAINPID=17"),
            (.errorNumber(ENOENT), "ERRNO=2"), (.exitStatus(78), "EXIT_STATUS=78"),
        ]
        let notifier = try notifier()
        for (message, line) in expected {
            try notifier.send(message)
            #expect(manager.next()?.text == line)
        }
    }

    @Test func reloadTellsItsTimeInTheSameNotification() throws {
        try notifier().reloading(at: .seconds(12) + .microseconds(34))
        #expect(manager.next()?.text == "RELOADING=1\nMONOTONIC_USEC=12000034")
    }

    @Test func statusCanNotSmuggleMessagesIn() throws {
        try notifier().send(.status("a\nREADY=1\r\u{0}b"))
        #expect(manager.next()?.text == "STATUS=a READY=1  b")
    }

    @Test func abstractNamesWork() throws {
        let manager = StandInManager(isAbstract: true)
        try notifier(manager).send(.ready)
        #expect(manager.next()?.text == "READY=1")
    }

    @Test func nobodyListeningIsToldAndNoManagerIsFine() throws {
        let silent = try Notifier(ServiceEnvironment(variables: [:]))
        #expect(!silent.isHeard)
        try silent.send(.ready)
        try silent.settle(within: .seconds(60))

        let gone = try Notifier(ServiceEnvironment(variables: ["NOTIFY_SOCKET": "/nonexistent/notify"]))
        #expect(throws: SystemdError.self) { try gone.send(.ready) }
    }

    @Test(arguments: ["relative", "@", "/", "vsock:2:1", "/" + String(repeating: "x", count: 107)])
    func impossibleAddressesAreRefused(_ name: String) {
        let error = #expect(throws: SystemdError.self) {
            try Notifier(ServiceEnvironment(variables: ["NOTIFY_SOCKET": name]))
        }
        #expect(error?.code == .name)
    }

    @Test func tooLongNotificationIsRefusedNotCut() throws {
        let error = #expect(throws: SystemdError.self) {
            try notifier().send(.ready, .status(String(repeating: "x", count: 4096)))
        }
        #expect(error?.code == .tooLarge)
        #expect(manager.next() == nil)
    }

    @Test func fullQueueIsBusyForThoseWhoDoNotWait() throws {
        let notifier = try notifier()
        var failure: SystemdError?
        for _ in 0..<100_000 where failure == nil {
            do throws(SystemdError) { try notifier.send(.watchdog, waiting: false) } catch { failure = error }
        }
        #expect(failure?.code == .busy)
    }

    @Test func descriptorsGoWithTheirName() throws {
        let file = try StoredState.write([1, 2, 3], name: "test")
        defer { close(file) }
        try notifier().store([file], name: "state")
        let datagram = try #require(manager.next())
        #expect(datagram.text == "FDSTORE=1\nFDNAME=state")
        let received = try #require(datagram.descriptors.first)
        defer { close(received) }
        #expect(datagram.descriptors.count == 1)
        #expect(try StoredState.read(received, limit: 10) == [1, 2, 3])

        try notifier().store([file], name: "state", droppingDead: false)
        let other = try #require(manager.next())
        #expect(other.text == "FDSTORE=1\nFDNAME=state\nFDPOLL=0")
        other.descriptors.forEach { close($0) }

        try notifier().removeStored(named: "state")
        #expect(manager.next()?.text == "FDSTOREREMOVE=1\nFDNAME=state")
    }

    @Test func manyDescriptorsGoInSeveralNotifications() throws {
        let file = try StoredState.write([], name: "test")
        defer { close(file) }
        try notifier().store(Array(repeating: file, count: 300), name: "many")
        var counts: [Int] = []
        while let datagram = manager.next() {
            counts.append(datagram.descriptors.count)
            datagram.descriptors.forEach { close($0) }
        }
        #expect(counts == [253, 47])
    }

    @Test(arguments: ["", "a:b", "a b", "ä", String(repeating: "x", count: 256)])
    func impossibleNamesOfDescriptorsAreRefused(_ name: String) throws {
        let notifier = try notifier()
        let error = #expect(throws: SystemdError.self) { try notifier.store([0], name: name) }
        #expect(error?.code == .name)
    }

    @Test func settlingEndsWhenTheManagerGotThere() throws {
        let notifier = try notifier()
        // Nobody reads: the time runs out.
        let error = #expect(throws: SystemdError.self) { try notifier.settle(within: .milliseconds(5)) }
        #expect(error?.code == .timeout)
        manager.next()?.descriptors.forEach { close($0) }
        // Reading the message closes what it carries. A second thread stands in for the manager.
        nonisolated(unsafe) let manager = manager
        let thread = BackgroundThread {
            manager.next(waiting: true)?.descriptors.forEach { close($0) }
        }
        try notifier.settle(within: .seconds(30))
        thread.join()
    }
}
