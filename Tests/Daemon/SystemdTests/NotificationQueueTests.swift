import Dispatch
import Glibc
import Synchronization
import Systemd
import TestServer
import Testing

/// Telling a manager that does not read, without waiting for it. Each test is a process of its own, whose environment
/// names the stand-in for the manager.
@Suite(.timeLimit(.minutes(10))) struct NotificationQueueTests {
    @Test func whatIsToldComesInOrderEachAsOneNotification() async {
        await #expect(processExitsWith: .success) {
            StandInManager.stand { manager in
                let notifications = NotificationQueue(Notifier())
                notifications.tell(.ready, .status("a"))
                notifications.tell(.watchdog)
                notifications.tell(.stopping)
                notifications.flush(within: .seconds(60))
                #expect(manager.next()?.text == "READY=1\nSTATUS=a")
                #expect(manager.next()?.text == "WATCHDOG=1")
                #expect(manager.next()?.text == "STOPPING=1")
                #expect(manager.next() == nil)
            }
        }
    }

    /// Sending to a full queue waits: whoever tells something would stand still here for good.
    @Test func aFullManagerStopsNobodyAndHearsInTheEndWhatCounts() async {
        await #expect(processExitsWith: .success) {
            StandInManager.stand { manager in
                let count = manager.fill()
                let notifications = NotificationQueue(Notifier())
                notifications.tell(.ready)
                for beat in 0..<1000 {
                    notifications.tell(.watchdog)
                    notifications.tell(.status("\(beat)"))
                    notifications.tell(.status("\(beat) of the log"), .extendTimeout(.seconds(beat)))
                }
                notifications.tell(.watchdogTrigger)
                notifications.tell(.watchdog)
                notifications.tell(.stopping)
                for _ in 0..<count { #expect(manager.next()?.text == "") }
                // The trigger is no beat that a later one makes worthless.
                let heard = (0..<6).map { _ in manager.next(waiting: true)?.text }
                let expected = [
                    "READY=1", "WATCHDOG=1", "STATUS=999",
                    "STATUS=999 of the log\nEXTEND_TIMEOUT_USEC=999000000", "WATCHDOG=trigger", "STOPPING=1",
                ]
                #expect(heard == expected)
                notifications.flush(within: .seconds(60))
                #expect(manager.next() == nil)
            }
        }
    }

    @Test func ofWhatCanNotBeReplacedTheNewestAreKept() async {
        await #expect(processExitsWith: .success) {
            StandInManager.stand { manager in
                let count = manager.fill()
                let notifications = NotificationQueue(Notifier())
                let most = Int32(NotificationQueue.mostWaiting)
                for number in 1...(2 * most) { notifications.tell(.mainProcess(number)) }
                for _ in 0..<count { _ = manager.next() }
                var heard: [String] = []
                while heard.last != "MAINPID=\(2 * most)", let datagram = manager.next(waiting: true) {
                    heard.append(datagram.text)
                }
                // One more was on its way into the kernel's queue, and waited there.
                #expect(heard.count <= most + 1)
                #expect(heard.suffix(Int(most)) == ((most + 1)...(2 * most)).map { "MAINPID=\($0)" })
            }
        }
    }

    @Test func workThatWaitsForAFullManagerTakesNoLongerThanItMay() async {
        await #expect(processExitsWith: .success) {
            StandInManager.stand { manager in
                let count = manager.fill()
                let notifications = NotificationQueue(Notifier())
                let error = #expect(throws: SystemdError.self) {
                    try notifications.perform(within: .milliseconds(5)) { notifier throws(SystemdError) in
                        try notifier.removeStored(named: "state")
                    }
                }
                #expect(error?.code == .timeout)
                notifications.flush(within: .milliseconds(5))
                // It is done all the same, before what is told afterwards.
                notifications.tell(.stopping)
                for _ in 0..<count { _ = manager.next() }
                #expect(manager.next(waiting: true)?.text == "FDSTOREREMOVE=1\nFDNAME=state")
                #expect(manager.next(waiting: true)?.text == "STOPPING=1")
                // What the work itself throws is thrown.
                let failure = #expect(throws: SystemdError.self) {
                    try notifications.perform(within: .seconds(60)) { notifier throws(SystemdError) in
                        try notifier.removeStored(named: "a:b")
                    }
                }
                #expect(failure?.code == .name)
            }
        }
    }

    @Test func aManagerThatDoesNotHearIsReportedOnceUntilItHears() async {
        await #expect(processExitsWith: .success) {
            final class Reports: Sendable { let codes = Mutex<[Int32]>([]) }
            let reports = Reports()
            StandInManager.stand { manager in
                let notifications = NotificationQueue(Notifier())
                notifications.reportFailures { error in reports.codes.withLock { $0.append(error.systemCode) }
                }
                for turn in 1...2 {
                    setenv("NOTIFY_SOCKET", "/nonexistent/notify", 1)
                    for _ in 0..<3 { notifications.tell(.ready) }
                    notifications.flush(within: .seconds(60))
                    #expect(reports.codes.withLock { $0 } == Array(repeating: ENOENT, count: turn))
                    setenv("NOTIFY_SOCKET", manager.name, 1)
                    notifications.tell(.stopping)
                    notifications.flush(within: .seconds(60))
                    #expect(manager.next()?.text == "STOPPING=1")
                }
            }
        }
    }

    @Test func withoutAManagerNothingHappens() async {
        await #expect(processExitsWith: .success) {
            unsetenv("NOTIFY_SOCKET")
            let notifications = NotificationQueue(Notifier())
            notifications.reportFailures { _ in exit(EXIT_FAILURE) }
            notifications.tell(.ready)
            notifications.flush(within: .seconds(60))
            try notifications.perform(within: .seconds(60)) { notifier throws(SystemdError) in
                try notifier.send(.stopping)
            }
        }
    }
}
