import CSystemd
import Glibc
import Systemd
import TestServer
import Testing

/// Notifications as libsystemd sends them, read by a stand-in for the manager. Each test is a process of its own, whose
/// environment names the stand-in.
@Suite(.timeLimit(.minutes(10))) struct NotifierTests {
    @Test func severalMessagesAreOneNotification() async {
        await #expect(processExitsWith: .success) {
            try StandInManager.stand { manager in
                try Notifier().send(.ready, .status("3 clients"))
                #expect(manager.next()?.text == "READY=1\nSTATUS=3 clients")
                #expect(manager.next() == nil)
            }
        }
    }

    @Test func everyMessageIsWrittenAsSystemdReadsIt() async {
        await #expect(processExitsWith: .success) {
            let expected: [(Notifier.Message, String)] = [
                (.ready, "READY=1"), (.stopping, "STOPPING=1"), (.watchdog, "WATCHDOG=1"),
                (.watchdogTrigger, "WATCHDOG=trigger"),
                (.extendTimeout(.milliseconds(1500)), "EXTEND_TIMEOUT_USEC=1500000"),
                (.watchdogInterval(.seconds(30)), "WATCHDOG_USEC=30000000"), (.mainProcess(17), "MAINPID=17"),
                (.errorNumber(ENOENT), "ERRNO=2"), (.exitStatus(78), "EXIT_STATUS=78"),
            ]
            try StandInManager.stand { manager in
                let notifier = Notifier()
                for (message, line) in expected {
                    try notifier.send(message)
                    #expect(manager.next()?.text == line)
                }
            }
        }
    }

    @Test func reloadTellsItsTimeInTheSameNotification() async {
        await #expect(processExitsWith: .success) {
            try StandInManager.stand { manager in
                try Notifier().reloading(at: .seconds(12) + .microseconds(34))
                #expect(manager.next()?.text == "RELOADING=1\nMONOTONIC_USEC=12000034")
            }
        }
    }

    @Test func statusCanNotSmuggleMessagesIn() async {
        await #expect(processExitsWith: .success) {
            try StandInManager.stand { manager in
                try Notifier().send(.status("a\nREADY=1\r\u{0}b"))
                #expect(manager.next()?.text == "STATUS=a READY=1  b")
            }
        }
    }

    @Test func abstractNamesWork() async {
        await #expect(processExitsWith: .success) {
            try StandInManager.stand(isAbstract: true) { manager in
                try Notifier().send(.ready)
                #expect(manager.next()?.text == "READY=1")
            }
        }
    }

    @Test func nobodyListeningIsToldAndNoManagerIsFine() async {
        await #expect(processExitsWith: .success) {
            for nothing in [nil, ""] {
                if let nothing { setenv("NOTIFY_SOCKET", nothing, 1) } else { unsetenv("NOTIFY_SOCKET") }
                let silent = Notifier()
                #expect(!silent.isHeard)
                try silent.send(.ready)
                try silent.settle(within: .seconds(60))
            }
            setenv("NOTIFY_SOCKET", "/nonexistent/notify", 1)
            let gone = Notifier()
            #expect(gone.isHeard)
            let error = #expect(throws: SystemdError.self) { try gone.send(.ready) }
            #expect(error?.systemCode == ENOENT)
        }
    }

    @Test func aNotifierThatIsSilentIsSoWhateverTheEnvironmentSays() async {
        await #expect(processExitsWith: .success) {
            try StandInManager.stand { manager in
                #expect(!Notifier.silent.isHeard)
                try Notifier.silent.send(.ready)
                #expect(manager.next() == nil)
            }
        }
    }

    @Test func impossibleAddressesAreRefused() async {
        await #expect(processExitsWith: .success) {
            for name in ["relative", "@", "/", "/" + String(repeating: "x", count: 107)] {
                setenv("NOTIFY_SOCKET", name, 1)
                let error = #expect(throws: SystemdError.self) { try Notifier().send(.ready) }
                #expect(error?.code == .name)
                #expect(error?.message.contains("`\(name)`") == true)
            }
        }
    }

    @Test func tooLongNotificationIsRefusedNotCut() async {
        await #expect(processExitsWith: .success) {
            StandInManager.stand { manager in
                let error = #expect(throws: SystemdError.self) {
                    try Notifier().send(.ready, .status(String(repeating: "x", count: 4096)))
                }
                #expect(error?.code == .tooLarge)
                #expect(manager.next() == nil)
            }
        }
    }

    @Test func descriptorsGoWithTheirName() async {
        await #expect(processExitsWith: .success) {
            try StandInManager.stand { manager in
                let file = try StoredState.write([1, 2, 3], name: "test")
                try Notifier().store([file], name: "state")
                let datagram = try #require(manager.next())
                #expect(datagram.text == "FDSTORE=1\nFDNAME=state")
                let received = try #require(datagram.descriptors.first)
                #expect(datagram.descriptors.count == 1)
                #expect(received != file)
                #expect(try StoredState.read(received, limit: 10) == [1, 2, 3])

                try Notifier().store([file], name: "state", droppingDead: false)
                let other = try #require(manager.next())
                #expect(other.text == "FDSTORE=1\nFDNAME=state\nFDPOLL=0")

                try Notifier().removeStored(named: "state")
                #expect(manager.next()?.text == "FDSTOREREMOVE=1\nFDNAME=state")
            }
        }
    }

    @Test func manyDescriptorsGoInSeveralNotifications() async {
        await #expect(processExitsWith: .success) {
            try StandInManager.stand { manager in
                let file = try StoredState.write([], name: "test")
                try Notifier().store(Array(repeating: file, count: 300), name: "many")
                var counts: [Int] = []
                while let datagram = manager.next() {
                    counts.append(datagram.descriptors.count)
                    datagram.descriptors.forEach { close($0) }
                }
                #expect(counts == [253, 47])
            }
        }
    }

    @Test func impossibleNamesOfDescriptorsAreRefused() async {
        await #expect(processExitsWith: .success) {
            StandInManager.stand { manager in
                for name in ["", "a:b", "a b", "ä", String(repeating: "x", count: 256)] {
                    let error = #expect(throws: SystemdError.self) { try Notifier().store([0], name: name) }
                    #expect(error?.code == .name)
                    let other = #expect(throws: SystemdError.self) {
                        try Notifier().removeStored(named: name)
                    }
                    #expect(other?.code == .name)
                }
                #expect(manager.next() == nil)
            }
        }
    }

    @Test func settlingEndsWhenTheManagerGotThere() async {
        await #expect(processExitsWith: .success) {
            try StandInManager.stand { manager in
                let notifier = Notifier()
                // Nobody reads: the time runs out.
                let error = #expect(throws: SystemdError.self) {
                    try notifier.settle(within: .milliseconds(5))
                }
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
    }
}
