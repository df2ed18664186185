#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The load generator's environment.
enum BenchEnvironment {
    static func variables() -> [String: String] {
        var variables: [String: String] = [:]
        for name in ["FLUXBUS_ADDRESS", "FLUXBUS_TOKEN", "XDG_RUNTIME_DIR"] {
            if let value = getenv(name) { variables[name] = String(cString: value) }
        }
        return variables
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
