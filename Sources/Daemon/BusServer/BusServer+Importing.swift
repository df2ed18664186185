import BusHistory
import BusJSON
import BusLog
import BusMachine
import Glibc

/// Makes a log of a faithful export, without a bus.
///
/// Not over a socket: a bus has one way to a past, its log, which is read when it starts. What is made here is one like any
/// other, checked as a whole before it gets its name, so that a failure at any moment leaves what was there; and no request
/// can change who has done what.
extension BusServer {
    /// Writes what an export holds into the log of a configuration, in which nothing was ever committed, and verifies it.
    /// `tell` receives a line for each step, and `progress` is called now and then while it is verified.
    ///
    /// - Parameter export: A path, or `-` for standard input.
    package static func importHistory(
        _ export: String, _ setup: ServerSetup, progress: VerificationProgress = { _, _ in },
        tell: (String) -> Void
    ) throws(StartFailure) {
        let path = try logPath(of: setup, for: "import into")
        if let cluster = setup.configuration.cluster {
            throw StartFailure(
                .configuration,
                "The bus \(cluster.bus.value) is shared, and what is shared can't be replaced on one machine; import into the log of a bus without cluster:, and begin the shared one with it by --cluster-init."
            )
        }
        do throws(LogFailure) {
            let lines = try ExportLines(export)
            var epoch = ""
            let outcome = try LogRestore.begin(at: path) { (file) throws(LogFailure) in
                let history = try ExportedHistory(lines)
                epoch = history.epoch
                return try history.write(into: file)
            } check: { (scratch) throws(LogFailure) in
                try check(scratch, of: export, "The export \(lines.name)", setup, progress)
            }
            tell(
                "the log \(path) has the history of \(lines.name): revision \(outcome.revision), epoch \(epoch)"
            )
            if let aside = outcome.aside { tell("the log before it, with no commits, is kept as \(aside)") }
        } catch {
            throw StartFailure(code(of: error, export), error.message)
        }
    }
}

/// What `fluxbus export --faithful` writes, as it is read:
///
///     {"fluxbus":"export","form":2,"epoch":"…","revision":BASE,"until":LAST}
///     {"kind":"bus",…} … {"kind":"end",…}                 the records of the log's oldest snapshot
///     {"revision":BASE+1,"time":…,"by":…,"actions":[…]}   each entry of the log, as it is written there
///     {"end":N}                                           how many lines come before
private struct ExportedHistory {
    let epoch: String
    private let base: Int
    private let last: Int
    private let lines: ExportLines

    /// Bytes of entries that are written as one group.
    private static let groupBytes = 64 << 10

    /// Reads the first line.
    init(_ lines: ExportLines) throws(LogFailure) {
        self.lines = lines
        let header = lines.next().flatMap { try? JSON(parsing: $0) }
        guard header?["fluxbus"]?.string == "export" else {
            throw lines.refusal("is not an export of a bus; make one with fluxbus export --faithful")
        }
        guard header?["form"]?.int == 2 else {
            throw lines.refusal(
                "holds what a client sees of a history, and not all that a log has; make another one with fluxbus export --faithful"
            )
        }
        guard let epoch = header?["epoch"]?.string, UUIDText.isOne(epoch),
            let base = header?["revision"]?.int,
            let last = header?["until"]?.int, 0...last ~= base
        else { throw lines.damage("has no history in its first line") }
        (self.epoch, self.base, self.last) = (epoch, base, last)
    }

    /// Writes all of it into a new file; returns the last revision.
    func write(into file: LogFile) throws(LogFailure) -> Int {
        try file.begin(epoch: epoch)
        let snapshot = ByteWriter()
        while true {
            guard let line = lines.next(), line.starts(with: #"{"kind":"#.utf8) else {
                throw lines.damage("ends within the states that it begins with")
            }
            snapshot.append(line)
            snapshot.append(UInt8(ascii: "\n"))
            if line.starts(with: #"{"kind":"end""#.utf8) { break }
        }
        _ = try Snapshots.write(snapshot, at: base) { (body) throws(LogFailure) in try body(file) }
        try writeEntries(into: file)
        return last
    }

    private func writeEntries(into file: LogFile) throws(LogFailure) {
        let entries = ByteWriter()
        var (reached, newest, time) = (base, [UInt8](), 0)
        func append(through last: Int) throws(LogFailure) {
            if let seconds = (try? JSON(parsing: newest, depthLimit: 1000))?["time"]?.double,
                0...1e12 ~= seconds
            {
                time = Int((seconds * 1000).rounded())
            }
            try file.append(entries.bytes, first: file.lastRevision + 1, last: last, time: time)
            entries.clear()
        }
        while let line = lines.next() {
            if line.starts(with: #"{"end":"#.utf8) {
                guard (try? JSON(parsing: line))?["end"]?.int == lines.count - 1, lines.next() == nil,
                    reached <= last
                else { break }
                if entries.count > 0 || reached < last { try append(through: last) }
                return
            }
            if let revisions = line.withUnsafeBytes({ LogLines.revisions(of: $0) }) {
                guard revisions.upperBound > reached else {
                    throw lines.damage("has revision \(revisions.lowerBound) where \(reached + 1) belongs")
                }
                (reached, newest) = (revisions.upperBound, line)
            }
            if entries.count > 0 { entries.append(UInt8(ascii: "\n")) }
            entries.append(line)
            if entries.count >= Self.groupBytes { try append(through: reached) }
        }
        throw lines.damage("is cut short, or has other lines than it was written with")
    }
}

extension ByteWriter {
    fileprivate func append(_ line: [UInt8]) { line.withUnsafeBytes { append($0) } }
}

/// The lines of a file, one after the other.
private final class ExportLines {
    /// What it is called in messages.
    let name: String
    /// The lines that were read.
    private(set) var count = 0
    private let path: String
    private let stream: UnsafeMutablePointer<FILE>

    init(_ path: String) throws(LogFailure) {
        self.path = path
        name = path == "-" ? "standard input" : path
        guard let stream = path == "-" ? fdopen(dup(STDIN_FILENO), "r") : fopen(path, "re") else {
            throw LogFailure(
                .notALog, path: path,
                "\(name) can't be read (\(String(cString: strerror(errno)))); check its path and mode.")
        }
        self.stream = stream
    }

    deinit { fclose(stream) }

    /// The next line, without its end; nil behind the last one.
    func next() -> [UInt8]? {
        var line: UnsafeMutablePointer<CChar>?
        var room = 0
        defer { free(line) }
        let length = getline(&line, &room, stream)
        guard let line, length > 0 else { return nil }
        count += 1
        let bytes = UnsafeRawBufferPointer(start: line, count: length)
        return Array(bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...])
    }

    func refusal(_ what: String) -> LogFailure { LogFailure(.damaged, path: path, "\(name) \(what).") }

    func damage(_ what: String) -> LogFailure { refusal("\(what); get the whole file, or export it again") }
}
