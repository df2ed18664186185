import BusLog
import CSQLite
import Glibc
import TestFiles

/// A directory of its own for one test's log, which goes with it.
final class Scratch {
    private let place = TemporaryDirectory()
    var directory: String { place.path }
    var path: String { directory + "/bus.sqlite" }

    /// A test may have made it unwritable.
    deinit { chmod(directory, 0o700) }

    func removeAll() { for name in names { unlink(directory + "/" + name) } }

    /// Of all files in it, sorted.
    var names: [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    func open(_ sync: SyncMode = .always, boot: String = "boot") throws(LogFailure) -> LogFile {
        try LogFile(path: path, sync: sync, bootID: boot)
    }

    func reader() throws(LogFailure) -> LogReader { try LogReader(path: path) }

    /// A reader of a log without a commit.
    func emptyReader() throws -> LogReader {
        try write { _ in }
        return try reader()
    }

    /// Opens, begins, writes and closes.
    func write(_ sync: SyncMode = .always, _ body: (LogFile) throws -> Void) throws {
        let file = try open(sync)
        try file.begin(epoch: "e")
        try body(file)
        try file.close()
    }

    /// Runs SQL on the file as another program would, and gives its rows, a line each.
    @discardableResult
    func query(_ sql: String) throws -> String {
        var database: OpaquePointer?
        defer { sqlite3_close(database) }
        var rows = ""
        let code = withUnsafeMutablePointer(to: &rows) { rows in
            sqlite3_open(path, &database) == SQLITE_OK
                ? sqlite3_exec(
                    database, sql,
                    { rows, count, values, _ in
                        let cells = (0..<Int(count)).map { values?[$0].map { String(cString: $0) } ?? "" }
                        rows?.assumingMemoryBound(to: String.self).pointee +=
                            cells.joined(separator: "|") + "\n"
                        return 0
                    }, rows, nil) : SQLITE_CANTOPEN
        }
        guard code == SQLITE_OK else {
            throw LogFailure(.io, path: path, String(cString: sqlite3_errmsg(database)))
        }
        return rows
    }

    /// All bytes of the file itself.
    var bytes: [UInt8] {
        get { Self.read(path) }
        set { Self.write(newValue, to: path) }
    }

    /// The write-ahead log up to the zeros at its end.
    var ahead: [UInt8] {
        let bytes = Self.read(path + "-wal")
        return Array(bytes[..<(bytes.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0)])
    }

    static func read(_ path: String) -> [UInt8] {
        guard let file = fopen(path, "r") else { return [] }
        defer { fclose(file) }
        var status = stat()
        stat(path, &status)
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        return fread(&bytes, 1, bytes.count, file) == bytes.count ? bytes : []
    }

    static func write(_ bytes: [UInt8], to path: String) {
        guard let file = fopen(path, "w") else { return }
        fwrite(bytes, 1, bytes.count, file)
        fclose(file)
    }

    func mode(of name: String) -> UInt32 {
        var status = stat()
        return stat("\(directory)/\(name)", &status) == 0 ? status.st_mode & 0o777 : 0
    }
}

/// A group that outlives the call that gave it.
struct Copy: Equatable {
    let first: Int
    let last: Int
    let time: Int
    let entries: String

    init(_ revisions: ClosedRange<Int>, _ time: Int, _ entries: String) {
        self.init(revisions.lowerBound..<revisions.upperBound + 1, time, entries)
    }

    init(_ revisions: Range<Int>, _ time: Int, _ entries: String) {
        first = revisions.lowerBound
        last = revisions.upperBound - 1
        self.time = time
        self.entries = entries
    }
}

extension LogFile {
    func append(_ entries: String, first: Int, last: Int, time: Int) throws(LogFailure) {
        let bytes = Array(entries.utf8)
        let outcome = bytes.withUnsafeBytes { bytes in
            Result { () throws(LogFailure) in try append(bytes, first: first, last: last, time: time) }
        }
        try outcome.get()
    }

    func addPart(_ records: String) throws(LogFailure) {
        let bytes = Array(records.utf8)
        let outcome = bytes.withUnsafeBytes { bytes in
            Result { () throws(LogFailure) in try addPart(bytes) }
        }
        try outcome.get()
    }
}

extension LogReader {
    func groups(after revision: Int = 0) throws(LogFailure) -> [Copy] {
        var groups: [Copy] = []
        try forEachGroup(after: revision) { group in
            groups.append(
                Copy(group.first..<group.last + 1, group.time, String(decoding: group.entries, as: UTF8.self))
            )
            return true
        }
        return groups
    }
}
