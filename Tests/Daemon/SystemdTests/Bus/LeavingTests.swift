import BusServer
import Glibc
import TestServer
import Testing

/// Handing over to a manager that does not take what it is given. Each test is a process of its own, whose environment names
/// the stand-in for the manager.
@Suite(.timeLimit(.minutes(10))) struct LeavingTests {
    /// The next daemon must find nothing of one that ended as usual in the end.
    @Test func whatTheManagerDoesNotTakeInTimeIsTakenBack() async {
        await #expect(processExitsWith: .success) {
            try StandInManager.stand { manager in
                let bus = try PulseBus(manager, patience: .seconds(1))
                let server = try bus.start(WedgingType())
                let client = try bus.client()
                #expect(try client.order(#"{"op":"ping"}"#) == #"{"ok":true}"#)
                bus.service.finishTelling()
                while manager.next() != nil {}
                server.announceRestart()
                server.stop()
                // The client is told, as if nothing had been tried.
                #expect(try client.line()?.contains("The bus restarts; connect again.") == true)
                server.waitUntilStopped()

                var told: [String] = []
                while let datagram = manager.next() {
                    datagram.descriptors.forEach { close($0) }
                    told.append(datagram.text)
                }
                let names = ["fluxbus-state", "fluxbus-connections", "fluxbus-listeners"]
                let stored = names.map { "FDSTORE=1\nFDNAME=\($0)\nFDPOLL=0" }
                let removed = names.map { "FDSTOREREMOVE=1\nFDNAME=\($0)" }
                #expect(told.filter { $0.hasPrefix("FD") } == stored + removed)
            }
        }
    }
}
