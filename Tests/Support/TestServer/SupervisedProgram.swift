import BusSystem
import Foundation
import Synchronization

/// A program that is started again when it exits with certain codes, as a service manager does. What it says goes to a file.
/// It is killed when it is let go, and with the process at the latest.
package final class SupervisedProgram: Sendable {
    private let runs: Runs

    /// - Parameters:
    ///   - words: Its path and its arguments.
    ///   - messages: The file to whose end its messages go.
    ///   - again: Exit codes after which it is started again.
    ///   - variables: Its environment.
    ///   - store: Keeps descriptors for it from one run to the next.
    package init(
        _ words: [String], messages: String, again: Set<Int32>, variables: [String] = [],
        store: DescriptorStore? = nil
    ) {
        runs = Runs(words, messages, again, variables, store)
    }

    deinit { kill() }

    /// With what it has exited, in order; the number of the signal, negative, where one has ended it.
    package var exits: [Int32] { runs.contents.withLock { $0.exits } }
    package var isRunning: Bool { runs.contents.withLock { $0.process != nil } }
    /// What it has told its service manager of itself.
    package var status: String { runs.status }
    /// How often it has told its service manager that it is alive.
    package var beats: Int { runs.beats }

    /// No file of it grows beyond so many bytes from now on, as on a disk that is full; nil: that is over.
    package func limitFiles(to bytes: Int?) throws { try limit("fsize", to: bytes) }

    /// It opens no file from now on.
    package func limitDescriptors() throws { try limit("nofile", to: 3) }

    private func limit(_ what: String, to most: Int?) throws {
        guard let process = runs.contents.withLock({ $0.process }) else {
            throw Sockets.Failure("It does not run.")
        }
        let limit = most.map(String.init) ?? "unlimited"
        let outcome = try RunningProgram(["/usr/bin/prlimit", "--pid", "\(process)", "--\(what)=\(limit):"])
            .wait()
        guard outcome.status == 0 else { throw Sockets.Failure(outcome.errors) }
    }

    /// Starts it, unless it runs.
    package func start() throws {
        try runs.contents.withLock { contents in
            contents.isWanted = true
            guard !contents.isWatched else { return }
            contents.process = try runs.spawn()
            contents.isWatched = true
            Thread.detachNewThread { [runs] in runs.watch() }
        }
    }

    package func signal(_ number: Int32) { runs.signal(number) }

    /// Ends it as a crash does, and returns when it is gone. It is not started again.
    package func kill() { runs.end(SIGKILL) }

    /// Ends it as a service manager does; its exit code. It is not started again.
    @discardableResult
    package func stop() -> Int32? {
        runs.end(SIGTERM)
        return exits.last
    }
}

extension SupervisedProgram {
    /// Ends it as a service manager does for a restart; its exit code. It is not started again.
    @discardableResult
    package func stopToRestart() -> Int32? {
        signal(SIGUSR1)
        return stop()
    }
}

/// The runs of one program: what its owner and the thread that waits for its exits share.
private final class Runs: Sendable {
    struct Contents {
        var process: pid_t?
        /// Whether it is to be started again.
        var isWanted = false
        /// Whether a thread waits for its exit.
        var isWatched = false
        var exits: [Int32] = []
    }

    let contents = Mutex(Contents())
    private let words: [String]
    private let messages: String
    private let again: Set<Int32>
    private let variables: [String]
    private let store: DescriptorStore?

    /// Between an exit and the next start, in milliseconds.
    private static let pause: Int32 = 100

    /// Those that run, so that none outlives the process.
    private static let running: Mutex<Set<pid_t>> = {
        atexit { for process in Runs.running.withLock({ $0 }) { Glibc.kill(process, SIGKILL) } }
        return Mutex([])
    }()

    init(
        _ words: [String], _ messages: String, _ again: Set<Int32>, _ variables: [String],
        _ store: DescriptorStore?
    ) {
        self.variables = variables
        self.store = store
        self.words = words
        self.messages = messages
        self.again = again
    }

    var status: String { store?.status ?? "" }
    var beats: Int { store?.beats ?? 0 }

    func signal(_ number: Int32) {
        contents.withLock { if let process = $0.process { Glibc.kill(process, number) } }
    }

    func end(_ number: Int32) {
        contents.withLock { contents in
            contents.isWanted = false
            if let process = contents.process { Glibc.kill(process, number) }
        }
        while contents.withLock({ $0.isWatched }) { poll(nil, 0, 5) }
    }

    func watch() {
        while let process = contents.withLock({ $0.process }) {
            var information = siginfo_t()
            // It stays until it is known here that it is gone, so that nobody else's process is signalled.
            while waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
            let code = noteExit(of: process)
            if again.contains(code) { poll(nil, 0, Self.pause) }
            let goesOn = contents.withLock { contents in
                contents.process = contents.isWanted && again.contains(code) ? try? spawn() : nil
                contents.isWatched = contents.process != nil
                return contents.isWatched
            }
            if !goesOn { return }
        }
    }

    private func noteExit(of process: pid_t) -> Int32 {
        defer { Self.running.withLock { _ = $0.remove(process) } }
        return contents.withLock { contents in
            var status: Int32 = 0
            while waitpid(process, &status, 0) < 0, errno == EINTR {}
            contents.process = nil
            let code = status & 0x7f == 0 ? (status >> 8) & 0xff : -(status & 0x7f)
            contents.exits.append(code)
            return code
        }
    }

    func spawn() throws -> pid_t {
        let kept = store?.kept ?? []
        // The variables of the manager name the process that they are for.
        let shell = ["/bin/sh", "-c", #"export LISTEN_PID=$$; exec "$0" "$@""#]
        let words = store == nil ? words : shell + words
        var variables = variables + (store?.variables ?? [])
        if !kept.isEmpty {
            variables.append("LISTEN_FDS=\(kept.count)")
            variables.append("LISTEN_FDNAMES=\(kept.map(\.name).joined(separator: ":"))")
        }
        let nothing = Spawning.Stream.file("/dev/null", flags: O_RDWR)
        let messages = Spawning.Stream.file(messages, flags: O_WRONLY | O_CREAT | O_APPEND)
        let streams = [nothing, nothing, messages] + kept.map { .descriptor($0.descriptor) }
        let process = try Spawning.start(
            words, variables: RunningProgram.common.map { "\($0)=\($1)" } + variables,
            streams: Dictionary(uniqueKeysWithValues: zip(0..., streams)), closesOthers: true)
        Self.running.withLock { _ = $0.insert(process) }
        return process
    }
}
