#if canImport(Darwin)
    import Darwin

    /// What the library needs of the system that it runs on. The folder of each system has one.
    enum HostSystem {
        static func transport() throws(BusError) -> any Transport { WebSocketTransport() }

        /// A variable of the environment.
        static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

        /// Whether there is a Unix socket at a path. None can be connected to here.
        static func isSocket(_ path: String) -> Bool { false }
    }
#endif
