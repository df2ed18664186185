import BusYAML
import CLinux
import Glibc

/// Opens Unix sockets.
///
/// What it guarantees: a live socket is never taken from its daemon; of several daemons that start at the same
/// time one wins; and at no moment the file has a wider mode than the configured one.
struct UnixListening {
    let path: String
    let mode: UInt32
    let group: String?
    let place: Place

    /// Listens on a socket that the daemon before left, with the mode and group that are configured now.
    func reopen(_ descriptor: Int32) throws(StartFailure) -> Listener {
        guard let file = SocketFile(path: path) else {
            // Somebody has removed the file: nobody could come in.
            SystemCall.close(descriptor)
            return try open()
        }
        if let groupID = try lookUpGroup(), lchown(path, uid_t.max, groupID) != 0 {
            throw failure(
                .configuration,
                "the socket can't be given to the group \(group ?? ""): \(SystemError("lchown").reason).")
        }
        guard chmod(path, mode_t(mode)) == 0 else {
            throw failure(.system, "\(SystemError("chmod").reason).")
        }
        return Listener(descriptor, address: "unix:\(path)", file: file)
    }

    func open() throws(StartFailure) -> Listener {
        var address = sockaddr_un()
        let length = linux_unix_address(path, &address)
        guard length > 0 else {
            throw failure(
                .configuration,
                "the path has \(path.utf8.count) bytes, and the kernel takes \(linux_unix_path_limit); use a shorter one."
            )
        }
        let groupID = try lookUpGroup()
        let lock = try lockDirectory()
        defer { SystemCall.close(lock) }
        try removeStaleFile(address, length)

        let descriptor = linux_stream_socket(AF_UNIX, 1)
        guard descriptor >= 0 else { throw failure(.system, "\(SystemError("socket").reason).") }
        do throws(StartFailure) {
            try bind(descriptor, address, length, groupID)
        } catch {
            SystemCall.close(descriptor)
            throw error
        }
        return Listener(descriptor, address: "unix:\(path)", file: SocketFile(path: path))
    }

    private func lookUpGroup() throws(StartFailure) -> gid_t? {
        guard let group else { return nil }
        guard let id = Self.groupID(named: group) else {
            throw failure(.configuration, "there is no group \(group); create it, or name another.")
        }
        return id
    }

    private static func groupID(named name: String) -> gid_t? {
        var entry = Glibc.group()
        var found: UnsafeMutablePointer<Glibc.group>?
        // Large enough for a group of thousands of members.
        var buffer = [CChar](repeating: 0, count: 1 << 20)
        guard getgrnam_r(name, &entry, &buffer, buffer.count, &found) == 0, let found else { return nil }
        return found.pointee.gr_gid
    }

    /// Daemons that start in one directory do so one after the other: looking for a live socket and taking its
    /// place must not be two steps for anybody else.
    private func lockDirectory() throws(StartFailure) -> Int32 {
        let slash = path.lastIndex(of: "/")
        let directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let descriptor = Glibc.open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let error = SystemError("open")
            let advice = error.code == ENOENT ? "create it first" : "the daemon must be able to use it"
            throw failure(.configuration, "the directory \(directory): \(error.reason); \(advice).")
        }
        if linux_try_lock(descriptor) == 0 { return descriptor }
        if errno == EWOULDBLOCK || errno == EINTR {
            if LockAwaited(descriptor).isHeld(within: Self.patience) { return descriptor }
            throw failure(.inUse, "another daemon is starting in \(directory); try again later.")
        }
        let error = SystemError("flock")
        SystemCall.close(descriptor)
        throw failure(.system, "the directory \(directory) can't be locked: \(error.reason).")
    }

    /// Milliseconds. Binding takes microseconds; two seconds are a daemon that hangs.
    private static let patience = 2000

    /// Nobody answering on a socket file means that its daemon is gone.
    private func removeStaleFile(_ address: sockaddr_un, _ length: socklen_t) throws(StartFailure) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw failure(.configuration, "this is a file, and no socket; remove it, or choose another path.")
        }
        let probe = linux_stream_socket(AF_UNIX, 1)
        guard probe >= 0 else { throw failure(.system, "\(SystemError("socket").reason).") }
        defer { SystemCall.close(probe) }
        var address = address
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(probe, $0, length) }
        }
        let error = SystemError("connect")
        if result == 0 || error.code == EAGAIN {
            throw failure(.inUse, "a daemon answers on it; stop that one first, or choose another path.")
        }
        guard error.code == ECONNREFUSED || error.code == ENOENT else {
            throw failure(.system, "whether a daemon answers on it can't be told: \(error.reason).")
        }
        if unlink(path) != 0, errno != ENOENT {
            throw failure(.system, "the stale socket can't be removed: \(SystemError("unlink").reason).")
        }
    }

    private func bind(
        _ descriptor: Int32, _ address: sockaddr_un, _ length: socklen_t, _ groupID: gid_t?
    ) throws(StartFailure) {
        var address = address
        // The file takes the mode of the socket: nobody's, until owner, group and mode are what they should be.
        guard fchmod(descriptor, 0) == 0 else { throw failure(.system, "\(SystemError("fchmod").reason).") }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.bind(descriptor, $0, length) }
        }
        guard result == 0 else {
            let error = SystemError("bind")
            throw failure(error.code == EADDRINUSE ? .inUse : .system, "\(error.reason).")
        }
        if let groupID, lchown(path, uid_t.max, groupID) != 0 {
            let error = SystemError("lchown")
            unlink(path)
            throw failure(
                .configuration,
                "the socket can't be given to the group \(group ?? ""): \(error.reason); "
                    + "start the daemon as a member of it, or as root.")
        }
        guard listen(descriptor, SOMAXCONN) == 0, chmod(path, mode_t(mode)) == 0 else {
            let error = SystemError("listen")
            unlink(path)
            throw failure(.system, "\(error.reason).")
        }
    }

    private func failure(_ code: StartFailure.Code, _ message: String) -> StartFailure {
        StartFailure(code, SourceError("unix \(path): \(message)", at: place).description)
    }
}
