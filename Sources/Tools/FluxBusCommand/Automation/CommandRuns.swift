import BusSystem
import FluxBus
import Glibc

/// Runs a command for each occurrence: in order for one store, in parallel for several.
///
/// The occurrences that wait for their turn are bounded. At the bound, nothing more should be read from the bus, which keeps
/// the rest.
final class CommandRuns {
    /// How many commands may run at a time.
    static let mostJobs = 1024
    /// How much may wait in this program: occurrences, and bytes of input for their commands.
    static let mostWaiting = 1000
    static let mostWaitingBytes = 8 << 20
    /// How long commands have between SIGTERM and SIGKILL.
    static let grace = Duration.seconds(10)

    /// A command that failed or could not be started.
    struct Failure {
        let occurrence: Occurrence
        let status: Int32
        let sentence: String
    }

    private let command: [String]
    private let jobs: Int
    /// How many more occurrences are accepted; nil: all.
    private var remaining: Int?
    private var waiting: [Occurrence] = []
    private var waitingBytes = 0
    private var running: [(child: ChildProcess, occurrence: Occurrence)] = []

    init(_ command: [String], jobs: Int, limit: Int?) {
        (self.command, self.jobs, remaining) = (command, jobs, limit)
    }

    var hasRoom: Bool {
        remaining != 0 && waiting.count < Self.mostWaiting && waitingBytes < Self.mostWaitingBytes
    }

    /// Whether as many commands as asked for have run; never without a limit.
    var isComplete: Bool { remaining == 0 && waiting.isEmpty && running.isEmpty }

    /// The first revision with a command that waits or runs; nil if there is none.
    var unfinished: Int? { (running.map(\.occurrence) + waiting).map(\.revision).min() }

    func add(_ occurrence: Occurrence) {
        guard remaining != 0 else { return }
        if let left = remaining { remaining = left - 1 }
        waiting.append(occurrence)
        waitingBytes += occurrence.input.count
    }

    /// Starts the commands that may run now, and returns those that could not be started.
    func start() -> [Failure] {
        var failures: [Failure] = []
        var taken = Set(running.map(\.occurrence.target))
        var index = 0
        // While a command about many stores runs, nothing else does.
        while index < waiting.count, running.count < jobs, running.allSatisfy({ $0.occurrence.store != nil })
        {
            let target = waiting[index].target
            // A command about many stores waits until all earlier ones have ended; later ones wait for it.
            if waiting[index].store == nil, !taken.isEmpty { break }
            if taken.contains(target) {
                index += 1
            } else if let failure = start(at: index) {
                failures.append(failure)
            } else {
                taken.insert(target)
            }
        }
        return failures
    }

    private func start(at index: Int) -> Failure? {
        let occurrence = waiting.remove(at: index)
        waitingBytes -= occurrence.input.count
        let words = occurrence.words(of: command)
        do throws(SystemError) {
            let input = try occurrence.input.span.withUnsafeBytes { (bytes) throws(SystemError) in
                try MemoryFile.write(bytes, name: "fluxbus-input")
            }
            defer { close(input) }
            lseek(input, 0, SEEK_SET)
            let child = try ChildProcess(
                words, variables: occurrence.variables, input: input, leadsGroup: true)
            running.append((child, occurrence))
            return nil
        } catch {
            return Failure(
                occurrence: occurrence, status: Self.status(of: error),
                sentence: Self.told(words, occurrence, "can't be started: \(error.reason)."))
        }
    }

    /// The exit status that shells give for a command that is missing, or that can't be started.
    static func status(of error: SystemError) -> Int32 { error.code == ENOENT ? 127 : 126 }

    private static func told(_ words: [String], _ occurrence: Occurrence, _ ending: String) -> String {
        "\(words[0]) for \(occurrence.target) (revision \(occurrence.revision)) \(ending)"
    }

    /// Forgets the commands that have exited, and returns those that failed.
    func reap() -> [Failure] {
        let exited = running.filter(\.child.hasExited)
        if !exited.isEmpty { running.removeAll(where: \.child.hasExited) }
        return exited.filter { $0.child.status != 0 }.map { child, occurrence in
            Failure(
                occurrence: occurrence, status: child.status,
                sentence: Self.told(command, occurrence, child.ending + "."))
        }
    }

    /// Ends all running commands. Their occurrences stay unfinished.
    func end(_ signals: SignalPipe) {
        ChildProcess.end(running.map(\.child), until: Deadline(after: Self.grace), signals)
    }
}
