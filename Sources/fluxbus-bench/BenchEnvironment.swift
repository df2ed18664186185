#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// What the load generator takes from its process's surroundings.
enum BenchEnvironment {
    static func variables() -> [String: String] {
        var variables: [String: String] = [:]
        for name in ["FLUXBUS_ADDRESS", "FLUXBUS_TOKEN", "XDG_RUNTIME_DIR"] {
            if let value = getenv(name) { variables[name] = String(cString: value) }
        }
        return variables
    }

    static var processNumber: Int { Int(getpid()) }
}
