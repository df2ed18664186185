import Dispatch
import FluxBus
import Glibc
import Synchronization

/// A `fluxbusd` that this program starts for a run and ends with it: on a socket and, if wanted, a log of its own.
final class OwnDaemon {
    /// When its log is synced.
    enum Sync: String {
        case always, interval
    }

    let pid: Int32
    let address: BusAddress
    /// From starting the program to its answer to a ping.
    private(set) var startNanoseconds: UInt64 = 0
    private let messages: Int32
    private var isRunning = true

    /// Enough for a start that replays a log of a million commits, on a slow machine.
    private static let patience = Duration.seconds(300)
    /// Below this are the descriptors with which a program is started.
    private static let firstDescriptors: Int32 = 256
    private static let listening = Array("listening on".utf8)

    /// Starts one, with these limits and variables (`NAME=VALUE`), and returns when it answers. Throws `unreachable`
    /// with its last output when it does not.
    init(
        program: String, in place: DaemonPlace, sync: Sync? = nil, limits: String = DaemonPlace.limits,
        variables: [String] = []
    ) throws {
        try place.write(sync: sync, limits: limits)
        let start = nanoseconds()
        (pid, messages) = try Self.spawn(program, ["--config", place.configuration], variables)
        Leftovers.add(daemon: pid)
        address = .unix(path: place.socket)
        do {
            try awaitWords()
            let connection = try connect()
            try connection.request(BusRequest("ping"), until: Deadline(after: Self.patience))
        } catch {
            stop()
            throw error
        }
        startNanoseconds = nanoseconds() - start
        Self.drain(messages)
    }

    deinit { stop() }

    func connect() throws(BusError) -> BusConnection {
        try BusConnection(to: address, client: "fluxbus-bench", until: Deadline(after: Self.patience))
    }

    /// Ends it as a service manager does, and waits until it has exited. Close its connections before.
    func stop() { end(SIGTERM) }

    /// Ends it at once, whatever it does.
    func stopAtOnce() { end(SIGKILL) }

    /// Whether it has ended by itself. Its number stays taken until it is stopped.
    var hasEnded: Bool {
        var info = siginfo_t()
        let result = waitid(P_PID, id_t(pid), &info, WEXITED | WNOHANG | WNOWAIT)
        return !isRunning || result != 0 || info.si_signo == SIGCHLD
    }

    private func end(_ signal: Int32) {
        guard isRunning else { return }
        isRunning = false
        kill(pid, signal)
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        Leftovers.remove(daemon: pid)
    }

    /// Waits until it prints its addresses.
    private func awaitWords() throws {
        let deadline = Deadline(after: Self.patience)
        var said: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while !said.contains(Self.listening) {
            var entry = pollfd(fd: messages, events: Int16(POLLIN), revents: 0)
            let ready = poll(&entry, 1, deadline.pollTimeout)
            if ready < 0 { continue }
            let count = ready == 0 ? 0 : read(messages, &buffer, buffer.count)
            guard count > 0 else {
                close(messages)
                let words = String(decoding: said, as: UTF8.self)
                throw BusError(.unreachable, "The daemon did not start; see what it said. \(words)")
            }
            said += buffer[..<count]
        }
    }

    /// Keeps reading its output, so that it never waits for a reader, and closes the pipe at its end.
    private static func drain(_ descriptor: Int32) {
        DispatchQueue.global().async {
            var buffer = [UInt8](repeating: 0, count: 4096)
            while read(descriptor, &buffer, buffer.count) > 0 {}
            close(descriptor)
        }
    }

    private static func spawn(
        _ program: String, _ arguments: [String], _ more: [String]
    ) throws(BusError) -> (Int32, Int32) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw BusError(.internal, "There is no descriptor left; end other programs first.")
        }
        // The daemon must not hold open descriptors that others wait to see closed: neither this pipe nor
        // those inherited by this program.
        for descriptor in STDERR_FILENO + 1..<firstDescriptors { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[1]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO)
        var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        // Of the environment only the path of libraries: FLUXBUS_… would change what is measured.
        let libraries = getenv("LD_LIBRARY_PATH").map { "LD_LIBRARY_PATH=" + String(cString: $0) }
        var variables: [UnsafeMutablePointer<CChar>?] =
            ((libraries.map { [$0] } ?? []) + more).map { strdup($0) } + [nil]
        defer { for word in words + variables { free(word) } }
        var pid: Int32 = 0
        let code = posix_spawn(&pid, program, &actions, nil, &words, &variables)
        guard code == 0 else {
            close(ends[0])
            throw BusError(
                .unreachable,
                "\(program) can't be started (\(String(cString: strerror(code)))); say with --daemon where it is."
            )
        }
        return (pid, ends[0])
    }
}

extension BusConnection {
    /// How many requests are in flight at once: enough that waiting costs nothing.
    private static let requestsPerPiece = 1024

    /// Sends that many requests, pipelined, and takes their replies. Throws the first error among them.
    func exchange(_ count: Int, patience: Duration, _ request: (Int) -> BusRequest) throws(BusError) {
        for start in stride(from: 0, to: count, by: Self.requestsPerPiece) {
            let piece = start..<min(start + Self.requestsPerPiece, count)
            for number in piece { queue(request(number)) }
            let deadline = Deadline(after: patience)
            try flush(until: deadline)
            var replies = 0
            while replies < piece.count {
                guard case .reply(let reply) = try BusMessage(parsing: receiveLine(until: deadline)) else {
                    continue
                }
                guard reply["ok"] == true else { throw BusError(reply: reply["error"]) }
                replies += 1
            }
        }
    }
}

/// What has to be removed when this program is interrupted: its own daemons and directories.
enum Leftovers {
    private struct Lists {
        var daemons: Set<Int32> = []
        var places: Set<String> = []
    }

    private static let lists = Mutex(Lists())
    /// Watched from the first use on, and never released.
    // Never changed after it was made.
    private nonisolated(unsafe) static let watches: [any DispatchSourceSignal] = [SIGINT, SIGTERM, SIGHUP].map
    { number in
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
        source.setEventHandler { clearUp(after: number) }
        source.activate()
        return source
    }

    /// Also makes interruptions wait for `clearUp`, from here on.
    static func add(place: String) {
        _ = watches.count
        lists.withLock { _ = $0.places.insert(place) }
    }

    static func remove(place: String) { lists.withLock { _ = $0.places.remove(place) } }
    static func add(daemon: Int32) { lists.withLock { _ = $0.daemons.insert(daemon) } }
    static func remove(daemon: Int32) { lists.withLock { _ = $0.daemons.remove(daemon) } }

    private static func clearUp(after number: Int32) {
        // The lists stay locked: the main thread, which sees the daemon go, must not end the program first.
        lists.withLock { left in
            for daemon in left.daemons {
                kill(daemon, SIGKILL)
                var status: Int32 = 0
                waitpid(daemon, &status, 0)
            }
            for place in left.places { DaemonPlace.clear(place) }
            _exit(128 + number)
        }
    }
}
