import Glibc

/// Resources used by processes so far, as the kernel counts them.
enum ProcessUsage {
    /// CPU seconds of all threads of a process; nil when there is no such process.
    static func seconds(of pid: Int32) -> Double? {
        guard let fields = stat(of: pid)?.fields, fields.count > 12 else { return nil }
        // utime and stime are the 14th and 15th fields of the file, the 12th and 13th after the name.
        guard let user = Double(fields[11]), let system = Double(fields[12]) else { return nil }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// The process's name.
    static func name(of pid: Int32) -> String? { stat(of: pid)?.name }

    /// Bytes of a process's pages in memory; nil when there is no such process, or it is another user's.
    static func residentBytes(of pid: Int32) -> Int? {
        // The kernel walks the pages for this file; its other figures lag behind by some pages per core.
        guard let text = contents(of: "/proc/\(pid)/smaps_rollup") else { return nil }
        for line in text.split(separator: "\n") where line.hasPrefix("Rss:") {
            let kibibytes = line.split(separator: " ").dropFirst().first.flatMap { Int($0) }
            return kibibytes.map { $0 * 1024 }
        }
        return nil
    }

    /// The most bytes that were in memory since the process began, or since `forgetPeak`; nil
    /// when there is no such process.
    static func peakBytes(of pid: Int32) -> Int? { statusBytes(of: pid, "VmHWM:") }

    /// Bytes in memory, some pages per core too late, but without walking them all.
    static func roughResidentBytes(of pid: Int32) -> Int? { statusBytes(of: pid, "VmRSS:") }

    /// Restarts the count of the peak; false where that is not allowed.
    static func forgetPeak(of pid: Int32) -> Bool {
        guard let file = fopen("/proc/\(pid)/clear_refs", "we") else { return false }
        let isWritten = fputs("5", file) >= 0
        return fclose(file) == 0 && isWritten
    }

    private static func statusBytes(of pid: Int32, _ name: String) -> Int? {
        guard let text = contents(of: "/proc/\(pid)/status") else { return nil }
        for line in text.split(separator: "\n") where line.hasPrefix(name) {
            let kibibytes = line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }
            return kibibytes.map { $0 * 1024 }
        }
        return nil
    }

    /// CPU seconds of this process.
    static func ownSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func stat(of pid: Int32) -> (name: String, fields: [Substring])? {
        guard let text = contents(of: "/proc/\(pid)/stat") else { return nil }
        // The name is in parentheses and may hold anything, also a closing one.
        guard let open = text.firstIndex(of: "("), let close = text.lastIndex(of: ")") else { return nil }
        let name = String(text[text.index(after: open)..<close])
        return (name, text[text.index(after: close)...].split(whereSeparator: \.isWhitespace))
    }

    private static func contents(of path: String) -> String? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}

/// Nanoseconds of the clock that never goes back.
@inline(__always)
func nanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(truncatingIfNeeded: time.tv_sec) &* 1_000_000_000
        &+ UInt64(truncatingIfNeeded: time.tv_nsec)
}
