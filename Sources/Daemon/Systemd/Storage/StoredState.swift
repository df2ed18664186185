import BusSystem
import CSystemd
import Glibc

/// Bytes passed from one process to its successor through the manager's descriptor store: a sealed file in memory.
///
/// Guarantees: once written nobody can change, lengthen or shorten it, not even its writer; and only such a file is
/// read back, so that its bytes can't change meanwhile. It touches no disk, and ends with its last descriptor.
///
/// ```swift
/// let file = try StoredState.write(bytes, name: "fluxbus-state")
/// try notifier.store([file], name: "state")
/// // in the next process
/// let bytes = try StoredState.read(file, limit: 64 << 20)
/// ```
public enum StoredState {
    /// Writes the bytes into a new sealed file, which the caller owns.
    ///
    /// - Parameter name: For people who look into `/proc`; at most 249 bytes.
    public static func write(_ bytes: [UInt8], name: String) throws(SystemdError) -> Int32 {
        try bytes.span.withUnsafeBytes { (bytes) throws(SystemdError) in try write(bytes, name: name) }
    }

    /// Writes the bytes into a new sealed file, which the caller owns.
    public static func write(_ bytes: UnsafeRawBufferPointer, name: String) throws(SystemdError) -> Int32 {
        let file: Int32
        do throws(SystemError) {
            file = try MemoryFile.write(bytes, name: name)
        } catch {
            throw SystemdError.failed(
                "Writing \(bytes.count) bytes into memory", error.code,
                advice: "Raise MemoryMax= of the service.")
        }
        var isKept = false
        defer { if !isKept { close(file) } }
        guard fcntl(file, systemd_add_seals, systemd_all_seals) == 0 else {
            throw SystemdError.failed("Sealing a file in memory")
        }
        isKept = true
        return file
    }

    /// Reads a sealed file whole. It stays open.
    ///
    /// - Throws: `descriptor` if it is not sealed; `tooLarge` if it has more bytes than `limit`.
    public static func read(_ file: Int32, limit: Int) throws(SystemdError) -> [UInt8] {
        try withBytes(of: file, limit: limit) { Array($0) }
    }

    /// Passes the bytes of a sealed file without copying them. They are valid until `body` returns.
    ///
    /// Reading a mapped file is safe here because nobody can shorten a sealed one.
    public static func withBytes<Value>(
        of file: Int32, limit: Int, _ body: (UnsafeRawBufferPointer) -> Value
    ) throws(SystemdError) -> Value {
        let seals = fcntl(file, systemd_get_seals)
        guard seals >= 0, seals & systemd_all_seals == systemd_all_seals else {
            throw SystemdError(
                .descriptor,
                "Descriptor \(file) is not a sealed file in memory; store only what StoredState.write made.")
        }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw SystemdError.failed("fstat") }
        let size = Int(status.st_size)
        guard size <= limit else {
            throw SystemdError(
                .tooLarge,
                "The stored state has \(size) bytes, more than the limit of \(limit); raise the limit.")
        }
        // An empty file can't be mapped.
        if size == 0 { return body(UnsafeRawBufferPointer(start: nil, count: 0)) }
        guard let start = mmap(nil, size, PROT_READ, MAP_PRIVATE, file, 0), start != MAP_FAILED else {
            throw SystemdError.failed("mmap")
        }
        defer { munmap(start, size) }
        return body(UnsafeRawBufferPointer(start: start, count: size))
    }
}
