import CLinux
import Glibc

/// Starts threads that nobody joins: each ends when its body returns.
package enum SystemThread {
    private final class Start: Sendable {
        let name: String
        let niceness: Int32
        let body: @Sendable () -> Void

        init(_ name: String, _ niceness: Int32, _ body: @escaping @Sendable () -> Void) {
            (self.name, self.niceness, self.body) = (name, niceness, body)
        }

        func run() {
            linux_name_thread(name)
            // On Linux this affects the calling thread only.
            let which = __priority_which_t(PRIO_PROCESS.rawValue)
            if niceness > 0 { setpriority(which, 0, getpriority(which, 0) + niceness) }
            body()
        }
    }

    /// Fails where the system has no room for a thread.
    ///
    /// - Parameters:
    ///   - name: What tools show of it: its first 15 bytes.
    ///   - niceness: How much nicer than others it is.
    package static func start(
        named name: String, niceness: Int32 = 0, _ body: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        let start = Unmanaged.passRetained(Start(name, niceness, body))
        var thread = pthread_t()
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        let failure = pthread_create(
            &thread, &attributes,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, start.toOpaque())
        guard failure == 0 else {
            start.release()
            throw SystemError("pthread_create", code: failure)
        }
    }

    /// Starts one without which a service can't be; later none of these is started. Where the system has no room for it, the
    /// process says so on standard error and exits with status 71 (`EX_OSERR`).
    package static func startNecessary(
        named name: String, niceness: Int32 = 0, _ body: @escaping @Sendable () -> Void
    ) {
        do throws(SystemError) {
            try start(named: name, niceness: niceness, body)
        } catch {
            let program = CommandLine.arguments.first?.split(separator: "/").last ?? "fluxbus"
            let message =
                "\(program): The system has no room for a thread; allow the service more of them (TasksMax=, ulimit -u).\n"
            _ = message.withCString { write(STDERR_FILENO, $0, strlen($0)) }
            // Other threads may be at work: nothing is cleaned up, as after a kill.
            _exit(EX_OSERR)
        }
    }
}
