import Glibc

/// Where a socket listens, as the rest of the daemon writes it: `unix:/path`, `tcp:host:port`.
enum SocketAddressText {
    /// Nil when it is of another kind.
    static func bound(_ descriptor: Int32) -> String? {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard result == 0 else { return nil }
        guard Int32(address.ss_family) == AF_UNIX else {
            return TCPListening.text(of: address).map { "tcp:\($0)" }
        }
        return withUnsafeBytes(of: &address) { bytes in
            let path = bytes[MemoryLayout<sa_family_t>.size..<min(Int(length), bytes.count)].prefix {
                $0 != 0
            }
            return "unix:\(String(decoding: path, as: UTF8.self))"
        }
    }
}
