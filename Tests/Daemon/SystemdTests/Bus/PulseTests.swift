import BusServer
import Foundation
import TestServer
import TestStorage
import Testing

/// What the manager hears of a bus. Each test is a process of its own, whose environment names the stand-in for the
/// manager.
@Suite(.timeLimit(.minutes(10))) struct PulseTests {
    @Test func aStuckCommitQueueFeedsNoWatchdog() async {
        await #expect(processExitsWith: .success) {
            try StandInManager.stand { manager in
                let bus = try PulseBus(manager, watchdog: "100000")
                let type = WedgingType()
                let server = try bus.start(type)
                // Beats come although nothing happens.
                for _ in 0..<3 { #expect(bus.next("WATCHDOG=1") != nil) }
                let client = try bus.client()
                try client.send(#"{"op":"dispatch","store":"wedge/a","action":"hang"}"#)
                type.entered.wait()
                // What was told before the queue got stuck.
                bus.service.finishTelling()
                while manager.next() != nil {}
                // Eight beats would have come: whatever else this process could do, it is broken.
                #expect(manager.isSilent(for: 400))
                type.released.signal()
                #expect(try client.line()?.contains(#""ok":true"#) == true)
                #expect(bus.next("WATCHDOG=1") != nil)
                try bus.stop(server)
            }
        }
    }

    /// A disk that hangs is no reason to end the daemon: it goes on when the disk does.
    @Test func aDiskThatHangsLeavesTheWatchdogFed() async {
        await #expect(processExitsWith: .success) {
            try StandInManager.stand { manager in
                let bus = try PulseBus(manager, watchdog: "100000")
                let type = WedgingType()
                let server = try bus.start(type, hasLog: true)
                let client = try bus.client()
                let disk = StalledDisk(bus.directory.path)
                type.released.signal()
                disk.stall()
                try client.send(#"{"op":"dispatch","store":"wedge/a","action":"hang"}"#)
                #expect(disk.holdsSomebody())
                bus.service.finishTelling()
                while manager.next() != nil {}
                for _ in 0..<4 { #expect(bus.next("WATCHDOG=1") != nil) }
                disk.remove()
                #expect(try client.line()?.contains(#""ok":true"#) == true)
                try bus.stop(server)
            }
        }
    }

    @Test func aLongReplayIsToldAndAsksForTime() async {
        await #expect(processExitsWith: .success) {
            try StandInManager.stand { manager in
                let bus = try PulseBus(manager)
                let type = WedgingType()
                let first = try bus.start(type, hasLog: true)
                let client = try bus.client()
                for revision in 2...4 {
                    try client.send(#"{"op":"dispatch","store":"wedge/a","action":"hang"}"#)
                    type.entered.wait()
                    type.released.signal()
                    #expect(try client.line()?.contains("\"revision\":\(revision)") == true)
                }
                client.close()
                try bus.endAsIfKilled(first)
                while manager.next() != nil {}

                // Each of the three commits is carried out again, and the first takes longer than anybody waits without a word.
                let second = try bus.make(type, hasLog: true)
                let isOpen = DispatchSemaphore(value: 0)
                Thread.detachNewThread {
                    _ = try? second.start()
                    isOpen.signal()
                }
                type.entered.wait()
                #expect(manager.isSilent(for: 600))
                type.released.signal()
                let text = manager.next(waiting: true)?.text.split(separator: "\n")
                #expect(text == ["STATUS=reading the log: revision 2 of 4", "EXTEND_TIMEOUT_USEC=30000000"])
                for _ in 0..<2 {
                    type.entered.wait()
                    type.released.signal()
                }
                isOpen.wait()
                // A machine that stands still for half a second meanwhile has more to tell of the log.
                #expect(bus.next("READY=1") == "READY=1")
                #expect(manager.next(waiting: true)?.text == "STATUS=1 stores, 0 clients, revision 4")
                try bus.stop(second)
            }
        }
    }

    @Test func readyComesOnceClientsAreServedAndTheStatusFollowsThem() async {
        await #expect(processExitsWith: .success) {
            try StandInManager.stand { manager in
                let bus = try PulseBus(manager)
                let type = WedgingType()
                let server = try bus.start(type)
                #expect(manager.next(waiting: true)?.text == "READY=1")
                #expect(manager.next(waiting: true)?.text == "STATUS=1 stores, 0 clients, revision 1")
                let client = try bus.client()
                #expect(try client.order(#"{"op":"ping"}"#) == #"{"ok":true}"#)
                #expect(bus.next("STATUS=") == "STATUS=1 stores, 1 clients, revision 1")
                // Also what happened within a second after the status was told is told, though nothing happens any more.
                client.close()
                #expect(bus.next("STATUS=") == "STATUS=1 stores, 0 clients, revision 1")
                try bus.stop(server)
                // It has been told when the server has stopped: the process may end.
                while let datagram = manager.next() {
                    if datagram.text == "STOPPING=1" { return }
                }
                Issue.record("The manager was not told.")
            }
        }
    }

    /// libsystemd waits for room in the manager's queue; commits do not.
    @Test func aManagerThatDoesNotReadHoldsNoCommitUp() async {
        await #expect(processExitsWith: .success) {
            try StandInManager.stand { manager in
                let bus = try PulseBus(manager, watchdog: "2000")
                let type = WedgingType()
                let count = manager.fill()
                let server = try bus.start(type)
                let client = try bus.client()
                for revision in 2...10 {
                    try client.send(#"{"op":"dispatch","store":"wedge/a","action":"hang"}"#)
                    type.entered.wait()
                    type.released.signal()
                    #expect(try client.line()?.contains("\"revision\":\(revision)") == true)
                }
                for _ in 0..<count { #expect(manager.next()?.text == "") }
                #expect(manager.next(waiting: true)?.text == "READY=1")
                #expect(bus.next("STATUS=1 stores") != nil)
                try bus.stop(server)
            }
        }
    }
}
