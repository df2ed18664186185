#if canImport(Glibc)
    internal import BusSystem
    internal import CLinux
    import Glibc

    /// One address in the form of the kernel.
    struct SocketEndpoint {
        let family: Int32
        /// The bytes of a `sockaddr` of that family.
        private let bytes: [UInt8]

        func withAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
            bytes.withUnsafeBytes { raw in
                body(raw.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(raw.count))
            }
        }

        /// Every kernel address that `address` stands for, in the resolver's order; one for a Unix socket.
        static func all(of address: BusAddress, _ wait: ConnectWait) throws(BusError) -> [SocketEndpoint] {
            switch address {
            case .unix(let path): return [unix(path)]
            case .tcp(let host, let port), .tls(let host, let port):
                // Numbers need no resolver.
                if let known = try? resolve(host: host, port: port, flags: AI_NUMERICHOST) { return known }
                return try NameLookup.endpoints(of: host, port: port, wait)
            }
        }

        private static func unix(_ path: String) -> SocketEndpoint {
            UnixAddress(path).withAddress { address, length in
                SocketEndpoint(
                    family: AF_UNIX, bytes: Array(UnsafeRawBufferPointer(start: address, count: Int(length))))
            }
        }

        static func resolve(host: String, port: UInt16, flags: Int32) throws(BusError) -> [SocketEndpoint] {
            var hints = addrinfo()
            hints.ai_socktype = linux_stream
            hints.ai_flags = AI_NUMERICSERV | flags
            var list: UnsafeMutablePointer<addrinfo>?
            let failure = getaddrinfo(host, String(port), &hints, &list)
            defer { if let list { freeaddrinfo(list) } }
            guard failure == 0 else {
                let reason = String(cString: gai_strerror(failure))
                throw BusError(.unreachable, "The host `\(host)` can't be found (\(reason)); check its name.")
            }
            var endpoints: [SocketEndpoint] = []
            var next = list
            while let entry = next?.pointee {
                if let bytes = entry.ai_addr {
                    let raw = UnsafeRawBufferPointer(start: bytes, count: Int(entry.ai_addrlen))
                    endpoints.append(SocketEndpoint(family: entry.ai_family, bytes: Array(raw)))
                }
                next = entry.ai_next
            }
            return endpoints
        }
    }
#endif
