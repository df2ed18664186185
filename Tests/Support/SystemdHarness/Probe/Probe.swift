import Glibc
import Systemd

/// A service that does what it is told, so that tests can see what a real systemd makes of it.
///
///     systemd-probe serve            answers lines on every socket it was passed, and on stored connections
///     systemd-probe serve --ready    the same, and is ready at once
///     systemd-probe refuse           turns waiting clients away and ends like a daemon with a wrong configuration
///     systemd-probe passed           prints what it was passed, and the variables that are left
///     systemd-probe tell TEXT        tells the manager this status, and waits until it was read
///     systemd-probe ask PATH LINE    sends one line to a Unix socket and prints the answer
///     systemd-probe --generate-completion-script SHELL    stands in for a program that is packaged
///
/// It tells the manager nothing unless a line asks for it: being ready is what the tests want to decide.
@main
struct Probe {
    static func main() {
        // What announces a restart. Writing is one of the few things that a handler may do. The SIGTERM that follows waits for
        // it: one that came before the handler ran would end the process without it.
        var announcement = sigaction()
        announcement.__sigaction_handler.sa_handler = { _ in
            _ = write(STDERR_FILENO, "restart is announced\n", 21)
        }
        sigaddset(&announcement.sa_mask, SIGTERM)
        sigaction(SIGUSR1, &announcement, nil)
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            switch arguments.first {
            case "serve" where arguments.count == 1 || arguments == ["serve", "--ready"]:
                var server = try ProbeServer()
                if arguments.count == 2 { try server.orders.notifier.send(.ready) }
                try server.run()
            case "refuse" where arguments.count == 1:
                let count = try ListenDescriptors().turnAwayWaiting()
                fail("turned away \(count)", status: 78)
            case "passed" where arguments.count == 1:
                for passed in try ListenDescriptors().remaining {
                    let isClosedOnExec = fcntl(passed.descriptor, F_GETFD) & FD_CLOEXEC != 0
                    let kind = try ProbeServer.kind(passed.descriptor)
                    print(
                        passed.descriptor, passed.name, kind, isClosedOnExec ? "closed on exec" : "inherited")
                }
                print(try Watchdog().map { "watchdog \($0.interval)" } ?? "no watchdog")
                print(ProbeOrders.variablesLeft)
            case "tell" where arguments.count == 2:
                let notifier = Notifier()
                try notifier.send(.status(arguments[1]))
                try notifier.settle(within: .seconds(10))
            case "ask" where arguments.count == 3:
                let line = try ProbeClient.ask(arguments[1], arguments[2])
                print(line)
            case "--generate-completion-script" where arguments.count == 2:
                print("# completions for \(arguments[1])")
            case "schema" where arguments.count == 2: print("{}")
            default:
                fail(
                    "usage: systemd-probe serve [--ready] | refuse | passed | tell TEXT | ask PATH LINE",
                    status: 64)
            }
        } catch {
            fail("systemd-probe: \(error)", status: 1)
        }
    }

    static func fail(_ message: String, status: Int32) -> Never {
        let line = Array((message + "\n").utf8)
        _ = write(STDERR_FILENO, line, line.count)
        exit(status)
    }
}
