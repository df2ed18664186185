import BusSystem
import CSystemd
import Dispatch
import Glibc
import Synchronization

/// A program that was started for an event: no shell, in a process group of its own, with the event on its standard input.
///
/// It inherits no other descriptor, as all of this process are closed on exec. Its output and its messages go where the service's go. The input is a file in memory, so a program that does not read
/// it holds nobody up.
final class ChildProcess: Sendable {
    /// How long one that was told to end may take, before it is killed.
    static let grace = Duration.seconds(5)

    private let pid: pid_t
    private let hasEnded = Mutex(false)

    /// Starts it. `onEnd` is called on another thread: with nil after success, else with why not, as a clause.
    init(
        _ path: String, _ arguments: [String], environment: [String], input: [UInt8],
        onEnd: @escaping @Sendable (String?) -> Void
    ) throws(SystemError) {
        let file = systemd_memory_file("event")
        guard file >= 0 else { throw SystemError("memfd_create") }
        defer { close(file) }
        try Self.write(input, to: file)
        pid = try Self.spawn(path, [path] + arguments, environment, input: file)
        try SystemThread.start(named: "effect run") { [self] in onEnd(wait()) }
    }

    private static func write(_ bytes: [UInt8], to file: Int32) throws(SystemError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw SystemError("write") }
            rest = rest.dropFirst(count)
        }
        lseek(file, 0, SEEK_SET)
    }

    private static func spawn(
        _ path: String, _ arguments: [String], _ environment: [String], input: Int32
    ) throws(SystemError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var (none, all) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
        var words = arguments.map { strdup($0) } + [nil]
        var variables = environment.map { strdup($0) } + [nil]
        defer { for text in words + variables { free(text) } }
        var pid = pid_t()
        let failure = posix_spawn(&pid, path, &actions, &attributes, &words, &variables)
        guard failure == 0 else { throw SystemError("\(path) can't be started", code: failure) }
        return pid
    }

    /// Ends it with its group, which is killed if it takes longer than `grace` has it.
    func end() {
        signal(SIGTERM)
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.grace.seconds) { [self] in signal(SIGKILL) }
    }

    private func signal(_ number: Int32) {
        // Until it is reaped its number is nobody else's.
        hasEnded.withLock { if !$0 { kill(-pid, number) } }
    }

    private func wait() -> String? {
        var information = siginfo_t()
        while waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        return hasEnded.withLock { hasEnded in
            hasEnded = true
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0, errno == EINTR {}
            let signal = status & 0x7f
            if signal != 0 { return "it was ended by signal \(signal)" }
            let code = (status >> 8) & 0xff
            return code == 0 ? nil : "it ended with status \(code)"
        }
    }
}
