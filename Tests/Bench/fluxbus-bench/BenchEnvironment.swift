import FluxBus
import Glibc

/// The load generator's environment.
enum BenchEnvironment {
    static func variables() -> [String: String] {
        var variables: [String: String] = [:]
        for name in ["FLUXBUS_ADDRESS", "FLUXBUS_TOKEN", "XDG_RUNTIME_DIR"] + TLSOptions.variables {
            if let value = getenv(name) { variables[name] = String(cString: value) }
        }
        return variables
    }

    /// Seconds per run or attack, where no option says it: one that can't be read counts as none at all, which is refused.
    static var duration: Double? {
        guard let text = getenv("FLUXBUS_BENCH_DURATION") else { return nil }
        return Double(String(cString: text)) ?? 0
    }

    /// The token on the first line of a file, alone or after a name.
    static func token(in file: String) throws -> String {
        guard let stream = fopen(file, "re") else {
            throw BusError(
                .invalidOptions,
                "The token file \(file) can't be read (\(String(cString: strerror(errno)))): check its path and mode."
            )
        }
        defer { fclose(stream) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = fread(&bytes, 1, bytes.count, stream)
        let lines = String(decoding: bytes[..<count], as: UTF8.self).split(whereSeparator: \.isNewline)
        guard let line = lines.first(where: { !$0.hasPrefix("#") }),
            let token = line.split(whereSeparator: \.isWhitespace).last
        else {
            throw BusError(
                .invalidOptions, "The token file \(file) holds no token: write it on the first line.")
        }
        return String(token)
    }

    static var processNumber: Int { Int(getpid()) }

    /// The directory of this program.
    static var programDirectory: String {
        var bytes = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &bytes, bytes.count)
        let path = String(decoding: bytes.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }
}
