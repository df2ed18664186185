#if canImport(Glibc)
    import Glibc

    /// What the library needs of the system that it runs on. The folder of each system has one.
    enum HostSystem {
        static func transport() throws(BusError) -> any Transport { try SocketTransport() }

        /// A variable of the environment.
        static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

        /// Whether there is a Unix socket at a path.
        static func isSocket(_ path: String) -> Bool {
            var status = stat()
            return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
        }
    }
#endif
