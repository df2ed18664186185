import BusSystem
import Glibc

/// Ensures that one daemon owns a log: with a lock on a file of its own beside it, `….sqlite-lock`, that holds the
/// owner's process number and how far the history had come; and one on the log itself, once there is a file.
///
/// Why the first, when the second would do: a log is created, moved aside and replaced while its inode can't be locked
/// yet, and the note must not be in the file that it vouches for.
///
/// The locks end with the process, however that ends, and are not inherited by programs that it starts. The file stays,
/// for its note, unless the first start failed.
final class LogLock {
    /// The note of a previous owner; nil if there is none.
    let note: LogNote?
    private let file: String
    private let descriptor: Int32
    private let isNew: Bool
    private var inode: OwnedInode?
    /// The offset of the revision in the file; nil before a history has begun.
    private var place: Int?

    /// - Parameter path: The log's path, without symbolic links, so that all its users lock the same file.
    /// - Throws: `inUse`, naming the process that has the lock.
    init(beside path: String) throws(LogFailure) {
        file = path + "-lock"
        (descriptor, isNew) = try Self.lock(file, path)
        note = Self.note(descriptor)
        write(note)
    }

    deinit { Self.release(descriptor) }

    /// Ends a lock and closes its descriptor. A program that is being started by another thread has a copy of that until it runs,
    /// and a copy would keep a lock that only ends with the last descriptor.
    static func release(_ descriptor: Int32) {
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Locks the log itself once it exists, and again when another file has replaced it.
    func own(_ path: String) throws(LogFailure) {
        if let inode, inode.identity == FileIdentity(of: path) { return }
        inode = nil
        inode = try OwnedInode(of: path)
    }

    /// Removes the file if this lock created it: the start has failed.
    func withdraw() { if isNew { unlink(file) } }

    /// Gives the file to the log's owner, when another user has created it.
    func give(to user: uid_t, _ group: gid_t) { _ = fchown(descriptor, user, group) }

    // MARK: - The note

    /// What the owner of a log has noted, or a previous one; nil if there is nothing to read.
    static func note(beside path: String) -> LogNote? {
        let descriptor = open(path + "-lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return note(descriptor)
    }

    private static func note(_ descriptor: Int32) -> LogNote? {
        let lines = lines(descriptor)
        return lines.count < 2 ? nil : LogNote(line: lines[1])
    }

    /// Records where a run of a history begins. It is on disk then: a note of this history is found after any crash, though its
    /// revision may be older than the last.
    func begin(epoch: String, revision: Int) {
        write(LogNote(epoch: epoch, revision: revision))
        _ = fsync(descriptor)
    }

    /// Records how far it has come. If that fails, the note lags behind, which is harmless.
    func reached(_ revision: Int) {
        guard let place else { return }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 24) { room in
            let bytes = UnsafeMutableRawBufferPointer(room)
            var count = 0
            Decimal.write(revision, to: bytes, at: &count)
            bytes[count] = UInt8(ascii: "\n")
            _ = pwrite(descriptor, bytes.baseAddress!, count + 1, off_t(place))
        }
    }

    /// Writes the whole file in one step, so that a kill at any time leaves a note.
    private func write(_ note: LogNote?) {
        let process = "\(getpid())\n"
        var text = process + (note.map { "\($0.line)\n" } ?? "")
        let count = text.withUTF8 { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        place = nil
        guard count == text.utf8.count else { return }
        _ = ftruncate(descriptor, off_t(count))
        place = note.map { process.utf8.count + $0.epoch.utf8.count + 1 }
    }

    /// The complete lines of the file.
    private static func lines(_ descriptor: Int32) -> [Substring] {
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        guard count > 0 else { return [] }
        return String(decoding: bytes[..<count], as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    }

    // MARK: - Locking

    private static func lock(_ file: String, _ path: String) throws(LogFailure) -> (Int32, isNew: Bool) {
        while true {
            var isNew = false
            var descriptor = open(file, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
            if descriptor < 0, errno == ENOENT {
                descriptor = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
                if descriptor < 0, errno == EEXIST { continue }
                isNew = true
            }
            guard descriptor >= 0 else { throw unwritable(file, path, errno) }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                let number = errno
                let owner = lines(descriptor).first.flatMap { Int32($0) }
                close(descriptor)
                throw refusal(number, owner, file, path)
            }
            // The process that created it may have removed it again before we had its lock.
            if FileIdentity(descriptor: descriptor) == FileIdentity(of: file) { return (descriptor, isNew) }
            close(descriptor)
        }
    }

    static func unwritable(_ file: String, _ path: String, _ number: Int32) -> LogFailure {
        if number == ENOENT || number == ENOTDIR {
            return LogPlace.failure(
                "has no place; make the directory for it, or name another file in log.path", path, number)
        }
        let kind: LogFailure.Kind =
            switch number {
            case EACCES, EPERM, EROFS: .readOnly
            case ENOSPC, EDQUOT: .full
            default: .io
            }
        return LogFailure(
            kind, path: path,
            "\(file) can't be written (\(systemReason(number))); give the directory to user "
                + "\(geteuid()), as whom the daemon runs, and see that its disk has room.")
    }

    private static func refusal(
        _ number: Int32, _ owner: Int32?, _ file: String, _ path: String
    ) -> LogFailure {
        guard number == EWOULDBLOCK else {
            return LogFailure(
                .io, path: path,
                "\(file) can't be locked (\(systemReason(number))); put the log on a local disk."
            )
        }
        return LogFailure(
            .inUse, path: path,
            "The log \(path) belongs to \(owner.map { "process \($0)" } ?? "another daemon"); end that one, or name "
                + "another file in log.path.")
    }
}

/// Numbers as text.
enum Decimal {
    /// Writes the digits of a number that is not negative, at most 19.
    static func write(_ value: Int, to bytes: UnsafeMutableRawBufferPointer, at place: inout Int) {
        var (count, rest) = (1, value)
        while rest > 9 { (count, rest) = (count + 1, rest / 10) }
        rest = value
        for digit in (place..<place + count).reversed() {
            bytes[digit] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        }
        place += count
    }

    /// Reads the digits at a place, at most 18; nil if there are none, or more. `place` is moved behind them.
    static func read(_ bytes: UnsafeRawBufferPointer, at place: inout Int) -> Int? {
        let start = place
        var value = 0
        while place < bytes.count, UInt8(ascii: "0")...UInt8(ascii: "9") ~= bytes[place] {
            if place - start == 18 { return nil }
            value = value * 10 + Int(bytes[place] - UInt8(ascii: "0"))
            place += 1
        }
        return place > start ? value : nil
    }
}
