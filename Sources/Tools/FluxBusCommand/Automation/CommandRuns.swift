import BusSystem
import FluxBus
import Glibc

/// Runs a command for each occurrence: those of one store one after the other in their order, several stores at a time.
///
/// What waits for its turn is bounded. Beyond the bound nothing more should be read from the bus, which keeps the rest.
final class CommandRuns {
    /// How many commands may run at a time.
    static let mostJobs = 1024
    /// How much waits in this program: occurrences, and bytes for commands to read.
    static let mostWaiting = 1000
    static let mostWaitingBytes = 8 << 20
    /// How long commands have between SIGTERM and SIGKILL.
    static let grace = Duration.seconds(10)

    /// How a command ended that did not succeed.
    struct Failure {
        let occurrence: Occurrence
        let status: Int32
        let sentence: String
    }

    private let command: [String]
    private let jobs: Int
    /// How many more are run; nil: all.
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

    /// As many have been run as should be.
    var isComplete: Bool { remaining == 0 && waiting.isEmpty && running.isEmpty }

    /// The first revision of which something has not been run to its end; nil when there is none.
    var unfinished: Int? { (running.map(\.occurrence) + waiting).map(\.revision).min() }

    func add(_ occurrence: Occurrence) {
        guard remaining != 0 else { return }
        if let left = remaining { remaining = left - 1 }
        waiting.append(occurrence)
        waitingBytes += occurrence.input.count
    }

    /// Starts what may run now, and returns what could not be started.
    func start() -> [Failure] {
        var failures: [Failure] = []
        var taken = Set(running.map(\.occurrence.target))
        var index = 0
        // Beside one that is about all stores nothing runs.
        while index < waiting.count, running.count < jobs, running.allSatisfy({ $0.occurrence.store != nil })
        {
            let target = waiting[index].target
            // What came before one that is about all stores ends first, and what comes after it waits.
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

    /// What shells say of a command that is not there, or that can't be started.
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

    /// Ends all that run. They stay unfinished.
    func end(_ signals: SignalPipe) {
        ChildProcess.end(running.map(\.child), until: Deadline(after: Self.grace), signals)
    }
}
