import BusSystem
import Dispatch
import Glibc
import Synchronization

/// Something that was begun for an event, and can be ended.
protocol RunningDeed: AnyObject, Sendable {
    func end()
}

/// A program that was started for an event: no shell, in a process group of its own, with the event on its standard input.
///
/// It inherits no other descriptor, as all of this process are closed on exec. Its output and its messages go where the service's
/// go. The input is a file in memory, so a program that does not read it holds nobody up.
final class ChildProcess: RunningDeed {
    /// How long one that was told to end may take, before it is killed.
    static let grace = Duration.seconds(5)

    private enum Life { case running, toldToEnd, over }

    private let pid: pid_t
    private let life = Mutex(Life.running)

    /// Starts it. `onEnd` is called on another thread: with nil after success, else with why not, as a clause.
    init(
        _ path: String, _ arguments: [String], environment: [String], input: [UInt8],
        onEnd: @escaping @Sendable (String?) -> Void
    ) throws(SystemError) {
        let file = try input.span.withUnsafeBytes { (bytes) throws(SystemError) in
            try MemoryFile.write(bytes, name: "event")
        }
        defer { close(file) }
        lseek(file, 0, SEEK_SET)
        pid = try Spawning.start(
            [path] + arguments, variables: environment, streams: [STDIN_FILENO: .descriptor(file)],
            leadsGroup: true, hasDefaultSignals: true)
        do throws(SystemError) {
            try SystemThread.start(named: "effect run") { [self] in onEnd(wait()) }
        } catch {
            // Nobody would wait for it, and it is tried again.
            kill(-pid, SIGKILL)
            while waitpid(pid, nil, 0) < 0, errno == EINTR {}
            throw error
        }
    }

    /// Ends it with its group. What is left of that is killed once the program has ended, or if it takes longer than `grace`.
    func end() {
        signal(SIGTERM)
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.grace.seconds) { [self] in signal(SIGKILL) }
    }

    private func signal(_ number: Int32) {
        // Until it is reaped its number is nobody else's.
        life.withLock { life in
            guard life != .over else { return }
            life = .toldToEnd
            kill(-pid, number)
        }
    }

    private func wait() -> String? {
        var information = siginfo_t()
        while waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        return life.withLock { life in
            if life == .toldToEnd { kill(-pid, SIGKILL) }
            life = .over
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0, errno == EINTR {}
            let signal = status & 0x7f
            if signal != 0 { return "it was ended by signal \(signal)" }
            let code = (status >> 8) & 0xff
            return code == 0 ? nil : "it ended with status \(code)"
        }
    }
}
