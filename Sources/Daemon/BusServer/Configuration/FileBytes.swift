import BusSource
import BusSystem
import CLinux
import Glibc

/// Reads small files that people write, as a whole. Errors are reported at the place that named the file.
enum FileBytes {
    /// The largest file that is read: what people write by hand is far smaller.
    static let limit = 4 << 20

    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 || errno != ENOENT }

    /// Why a file may not hold a secret: others than root and the daemon could read it, or have written it.
    static func refusalOfSecret(_ status: stat) -> String? {
        if status.st_mode & 0o077 != 0 {
            return "may be read by others than its owner; run chmod 600 on it."
        }
        if status.st_uid != 0, status.st_uid != geteuid() {
            return "belongs to another user; it must belong to root or to the daemon's user."
        }
        return nil
    }

    /// Reads a file; `what` names it in messages. `accept` may refuse it by its status.
    static func read(
        _ path: Located<String>, what: String, accept: (stat) -> String? = { _ in nil }
    ) throws(SourceError) -> [UInt8] {
        func failure(_ message: String) -> SourceError {
            let name = path.place.file == path.value ? what : "\(what) \(path.value)"
            return SourceError("\(name) \(message)", at: path.place)
        }
        let descriptor = open(path.value, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw failure("can't be read: \(SystemError("open").reason).") }
        defer { SystemCall.close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw failure("is not a file.")
        }
        if let refusal = accept(status) { throw failure(refusal) }
        guard status.st_size <= limit else { throw failure("is larger than \(limit >> 20) MiB.") }
        var bytes = [UInt8](repeating: 0, count: limit + 1)
        var count = 0
        while count < bytes.count {
            let read = bytes.withUnsafeMutableBytes {
                Glibc.read(descriptor, $0.baseAddress! + count, $0.count - count)
            }
            if read == 0 { break }
            if read < 0 {
                if errno == EINTR { continue }
                throw failure("can't be read: \(SystemError("read").reason).")
            }
            count += read
        }
        guard count <= limit else { throw failure("is larger than \(limit >> 20) MiB.") }
        return Array(bytes[..<count])
    }
}
