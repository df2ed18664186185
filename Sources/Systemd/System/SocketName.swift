import CSystemd

/// The address of a Unix socket as systemd writes it: a path, or `@name` in the kernel's own name space.
struct SocketName: Sendable {
    private let address: sockaddr_un
    private let length: socklen_t

    /// Refuses what can't be an address, and the kinds that this library does not speak (`vsock:…`).
    init(_ text: String, from source: String) throws(SystemdError) {
        guard let first = text.utf8.first, first == UInt8(ascii: "/") || first == UInt8(ascii: "@") else {
            throw SystemdError(
                .name, "\(source) is \"\(text)\"; only paths and abstract names (@name) are understood.")
        }
        let bytes = Array(text.utf8)
        // A path needs room for the zero at its end; an abstract name has none.
        let isAbstract = first == UInt8(ascii: "@")
        let most = Int(systemd_unix_path_limit) - (isAbstract ? 0 : 1)
        guard bytes.count > 1, bytes.count <= most, !bytes.contains(0) else {
            throw SystemdError(
                .name, "\(source) is \"\(text)\"; the address of a socket has 2 to \(most) bytes.")
        }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { path in
            path.copyBytes(from: bytes)
            if isAbstract { path[0] = 0 }
        }
        self.address = address
        let before = MemoryLayout.offset(of: \sockaddr_un.sun_path) ?? 2
        length = socklen_t(before + bytes.count + (isAbstract ? 0 : 1))
    }

    func withAddress<Result>(_ body: (UnsafePointer<sockaddr_un>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: address) { body($0, length) }
    }
}
