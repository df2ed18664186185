import BusSystem
import Glibc

/// A file being written.
///
/// A regular file, or one that does not exist yet, is written beside its place until it is complete, so that a reader
/// always finds all of it, and a failure leaves the previous file. A link stays: the file that it leads to is replaced.
/// A pipe or a device is written to directly: a rename would put a file in its place.
struct NewFile: ~Copyable {
    let descriptor: Int32
    private let path: String
    /// Its place until it is complete; nil when it is written in place.
    let draft: String?
    private var isFinished = false

    /// Begins a file that only its owner may read, because states may be confidential.
    init(_ path: String) throws {
        let (place, draft) = try Self.place(path)
        if let draft { Leftovers.add(draft) }
        // In place, under the given name: standard output has no other when it is a pipe.
        let descriptor =
            draft.map { open($0, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600) }
            ?? open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_APPEND)
        guard descriptor >= 0 else {
            let failure = Self.failure(path)
            if let draft { Leftovers.forget(draft) }
            throw failure
        }
        self.descriptor = descriptor
        self.path = place
        self.draft = draft
    }

    /// The final place of the file, and its draft until then; nil when it is written in place.
    private static func place(_ path: String) throws -> (place: String, draft: String?) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            guard errno == ENOENT else { throw failure(path) }
            var link = stat()
            guard lstat(path, &link) != 0 else {
                throw CommandFailure(
                    .usage, "\(path) is a link to a missing file: remove it, or name another file.")
            }
            return (path, draft(of: path))
        }
        guard try isReplaced(path, status) else { return (path, nil) }
        guard let target = realpath(path, nil) else { throw failure(path) }
        defer { free(target) }
        let place = String(cString: target)
        return (place, draft(of: place))
    }

    /// A random name. The process number would not do: in a container it is always the same, and an earlier run may have left its draft.
    private static func draft(of path: String) -> String {
        "\(path).\(String(UInt32.random(in: .min ... .max), radix: 16)).new"
    }

    deinit {
        close(descriptor)
        if let draft, !isFinished { Leftovers.remove(draft) }
    }

    /// Writes bytes at its end, and returns how many.
    borrowing func write(_ bytes: [UInt8]) throws -> Int {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress! + done, bytes.count - done)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Self.failure(path) }
            done += count
        }
        return done
    }

    /// Moves the file to its place, once all of it is on disk.
    mutating func finish() throws {
        guard let draft else { return }
        guard fsync(descriptor) == 0, rename(draft, path) == 0 else { throw Self.failure(path) }
        isFinished = true
        Leftovers.forget(draft)
        // The new name is to outlive a power failure; a directory that can't be read is left to the system.
        do throws(SystemError) {
            try FileNames.sync(path)
        } catch {
            if error.call == "fsync", error.code != EINVAL { throw Self.failure(path) }
        }
    }

    /// Whether a new file replaces it; throws for kinds of files that can't be written to.
    private static func isReplaced(_ path: String, _ status: stat) throws -> Bool {
        switch status.st_mode & S_IFMT {
        case S_IFREG: return !isOutput(status)
        case S_IFDIR:
            throw CommandFailure(.usage, "\(path) is a directory: name a file in it.")
        case S_IFBLK:
            throw CommandFailure(
                .usage, "\(path) is a disk, whose content would be lost: name a file on it.")
        default: return false
        }
    }

    /// Standard output or the messages under another name, such as /dev/stdout: a process that
    /// opened it would keep the old file.
    private static func isOutput(_ status: stat) -> Bool {
        [STDOUT_FILENO, STDERR_FILENO].contains { descriptor in
            var open = stat()
            return fstat(descriptor, &open) == 0 && open.st_dev == status.st_dev
                && open.st_ino == status.st_ino
        }
    }

    private static func failure(_ path: String) -> CommandFailure {
        CommandFailure(
            .usage, "\(path) can't be written (\(systemReason())): name another file.")
    }
}
