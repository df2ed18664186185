import Glibc
import Systemd
import Testing

/// What the manager says through the environment, as libsystemd reads it: a process of its own for each test, with the
/// variables that a manager would have set, or would never have.
@Suite(.timeLimit(.minutes(10))) struct EnvironmentTests {
    @Test func descriptorsComeByNameAndChildrenGetNothingOfIt() throws {
        let probe = try PassedProbe(
            [PassedProbe.listener(AF_UNIX), PassedProbe.listener(AF_INET)],
            "LISTEN_PID=$$ LISTEN_FDS=2 LISTEN_FDNAMES=bus:other WATCHDOG_PID=$$ WATCHDOG_USEC=30000000")
        #expect(
            probe.lines == [
                "3 bus unix closed on exec", "4 other tcp closed on exec", "watchdog 30.0 seconds",
                "no variables",
            ])
        #expect(probe.status == 0)
    }

    @Test func unnamedDescriptorsAreUnknown() throws {
        let probe = try PassedProbe([PassedProbe.listener(AF_UNIX)], "LISTEN_PID=$$ LISTEN_FDS=1")
        #expect(probe.lines == ["3 unknown unix closed on exec", "no watchdog", "no variables"])
    }

    @Test(arguments: ["", "LISTEN_PID=1 LISTEN_FDS=2 LISTEN_FDNAMES=a:b", "LISTEN_FDS=2 LISTEN_FDNAMES=a:b"])
    func descriptorsForSomebodyElseAreLeftAlone(_ variables: String) throws {
        let probe = try PassedProbe(
            [PassedProbe.listener(AF_UNIX), PassedProbe.listener(AF_UNIX)], variables)
        #expect(probe.lines == ["no watchdog", "no variables"])
    }

    @Test(arguments: [
        "LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=a:b", "LISTEN_PID=$$ LISTEN_FDS=2 LISTEN_FDNAMES=a",
        "LISTEN_PID=$$ LISTEN_FDS=many", "LISTEN_PID=-1 LISTEN_FDS=1", "LISTEN_PID=$$ LISTEN_FDS=99999999999",
    ])
    func whatNoManagerWritesIsRefused(_ variables: String) throws {
        let probe = try PassedProbe(
            [PassedProbe.listener(AF_UNIX), PassedProbe.listener(AF_UNIX)], variables)
        #expect(probe.status == 1)
        // The shell has put its number in the place of $$.
        let said = variables.split(separator: "$$").map(String.init)
        let line = try #require(probe.lines.first)
        #expect(
            line.contains("The service manager can't have said ") && said.allSatisfy(line.contains), "\(line)"
        )
    }

    @Test func descriptorsThatArePromisedButNotThereAreTold() throws {
        let probe = try PassedProbe([], "LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=a")
        #expect(probe.status == 1)
        let line = try #require(probe.lines.first)
        #expect(line.contains("Bad file descriptor. LISTEN_FDS promises it; start the service by its unit."))
    }

    @Test func watchdogBeatsTwicePerInterval() async {
        await #expect(processExitsWith: .success) {
            func watchdog(_ interval: String?, process: String? = nil) throws -> Watchdog? {
                for (name, value) in [("WATCHDOG_USEC", interval), ("WATCHDOG_PID", process)] {
                    if let value { setenv(name, value, 1) } else { unsetenv(name) }
                }
                return try Watchdog()
            }
            let own = try watchdog("30000000", process: String(getpid()))
            #expect(own?.interval == .seconds(30))
            #expect(try watchdog("30000000")?.beat == .seconds(15))
            // The manager said it once, and children do not take it for theirs.
            #expect(getenv("WATCHDOG_USEC") == nil)
            #expect(try Watchdog() == nil)
            #expect(try watchdog(nil) == nil)
            #expect(try watchdog("1", process: "1") == nil)
            for text in ["0", "soon", "-5", ""] {
                let error = #expect(throws: SystemdError.self) { _ = try watchdog(text) }
                #expect(error?.code == .environment)
            }
        }
    }
}
