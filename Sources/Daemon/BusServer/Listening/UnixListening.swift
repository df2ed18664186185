import BusSource
import BusSystem
import CLinux
import Glibc

/// Opens Unix sockets.
///
/// Guarantees: a live socket is never taken from its daemon; of several daemons that start at the same time one wins;
/// and at no time the file has a wider mode than the configured one.
struct UnixListening {
    let path: String
    let mode: UInt32
    let group: String?
    let place: Place

    /// The errors that would keep a daemon from listening here, as far as they can be found before anything is created.
    func errors() -> [SourceError] {
        let reasons = [reasonOfPath, reasonOfGroup, reasonOfDirectory, reasonOfFile].compactMap { $0 }
        return reasons.map { SourceError("unix \(path): \($0)", at: place) }
    }

    private var reasonOfPath: String? {
        if path.utf8.count <= UnixAddress.longestPath { return nil }
        return
            "the path has \(path.utf8.count) bytes, and the kernel allows \(UnixAddress.longestPath); use a shorter one."
    }

    private var reasonOfGroup: String? {
        guard let group, Accounts.group(named: group) == nil else { return nil }
        return "there is no group \(group); create it, or name another."
    }

    private var directory: String {
        path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    private var reasonOfDirectory: String? {
        let descriptor = Glibc.open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if descriptor < 0 {
            let error = SystemError("open")
            let advice = error.code == ENOENT ? "create it first" : "the daemon must be able to use it"
            return "the directory \(directory): \(error.reason); \(advice)."
        }
        SystemCall.close(descriptor)
        if faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) == 0 { return nil }
        return "the directory \(directory): \(SystemError("access").reason); give it to user \(geteuid())."
    }

    private var reasonOfFile: String? {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFSOCK else { return nil }
        return "this is a file, not a socket; remove it, or choose another path."
    }

    /// Listens on a socket of the previous daemon, with the mode and group that are configured now.
    func reopen(_ descriptor: Int32) throws(StartFailure) -> Listener {
        guard SocketFile(path: path) != nil else {
            // The file has been removed: no client could connect.
            SystemCall.close(descriptor)
            return try open()
        }
        let held = try hold()
        try open(held, to: try lookUpGroup())
        return Listener(descriptor, address: "unix:\(path)", file: held.file(at: path))
    }

    private func hold() throws(StartFailure) -> HeldSocketFile {
        do throws(SystemError) {
            return try HeldSocketFile(path)
        } catch {
            throw failure(
                .system,
                "the socket's file was replaced: \(error.reason); remove what is there, and see who may write to \(directory)."
            )
        }
    }

    /// Gives the file the group and the mode that are configured.
    private func open(_ held: HeldSocketFile, to groupID: gid_t?) throws(StartFailure) {
        if let groupID {
            do throws(SystemError) {
                try held.change(group: groupID)
            } catch {
                throw failure(
                    .configuration,
                    "the socket can't be given to the group \(group ?? ""): \(error.reason); "
                        + "start the daemon as a member of it, or as root.")
            }
        }
        do throws(SystemError) {
            try held.change(mode: mode)
        } catch {
            throw failure(.system, "\(error.description).")
        }
    }

    func open() throws(StartFailure) -> Listener {
        if let reasonOfPath { throw failure(.configuration, reasonOfPath) }
        let groupID = try lookUpGroup()
        let lock = try lock()
        defer { withExtendedLifetime(lock) {} }
        let address = UnixAddress(path)
        try removeStaleFile(address)

        let descriptor = linux_stream_socket(AF_UNIX, 1)
        guard descriptor >= 0 else { throw failure(.system, "\(SystemError("socket").reason).") }
        do throws(StartFailure) {
            let file = try bind(descriptor, address, groupID)
            return Listener(descriptor, address: "unix:\(path)", file: file)
        } catch {
            SystemCall.close(descriptor)
            throw error
        }
    }

    private func lookUpGroup() throws(StartFailure) -> gid_t? {
        guard let group else { return nil }
        if let reasonOfGroup { throw failure(.configuration, reasonOfGroup) }
        return Accounts.group(named: group)
    }

    /// Looking for a live socket and replacing it must not be two steps for another daemon that starts here.
    private func lock() throws(StartFailure) -> SocketLock {
        if let reasonOfDirectory { throw failure(.configuration, reasonOfDirectory) }
        do throws(SocketLock.Failure) {
            return try SocketLock(beside: path)
        } catch {
            switch error {
            case .held:
                throw failure(.inUse, "another daemon is starting in \(directory); try again later.")
            case .system(let error):
                throw failure(
                    .system,
                    "the lock file \(path).lock: \(error.reason); give the directory to user \(geteuid()), as whom the daemon "
                        + "runs, and remove a lock file that is another's.")
            }
        }
    }

    /// If nothing answers on a socket file, its daemon is gone.
    private func removeStaleFile(_ address: UnixAddress) throws(StartFailure) {
        switch address.occupant() {
        case .nothing: return
        case .other: throw failure(.configuration, reasonOfFile ?? "this is not a socket.")
        case .live:
            throw failure(.inUse, "a daemon answers on it; stop that one first, or choose another path.")
        case .unknown(let error):
            throw failure(.system, "can't check whether a daemon answers on it: \(error.reason).")
        case .stale:
            if unlink(path) != 0, errno != ENOENT {
                throw failure(.system, "the stale socket can't be removed: \(systemReason()).")
            }
        }
    }

    private func bind(
        _ descriptor: Int32, _ address: UnixAddress, _ groupID: gid_t?
    ) throws(StartFailure) -> SocketFile {
        // The file gets the mode of the socket: no access, until owner, group and mode are as configured.
        guard fchmod(descriptor, 0) == 0 else { throw failure(.system, "\(SystemError("fchmod").reason).") }
        guard address.bind(descriptor) == 0 else {
            let error = SystemError("bind")
            throw failure(error.code == EADDRINUSE ? .inUse : .system, "\(error.reason).")
        }
        let held = try hold()
        let file = held.file(at: path)
        guard listen(descriptor, SOMAXCONN) == 0 else {
            let error = SystemError("listen")
            file.removeIfOurs()
            throw failure(.system, "\(error.reason).")
        }
        do throws(StartFailure) {
            try open(held, to: groupID)
        } catch {
            file.removeIfOurs()
            throw error
        }
        return file
    }

    private func failure(_ code: StartFailure.Code, _ message: String) -> StartFailure {
        StartFailure(code, SourceError("unix \(path): \(message)", at: place).description)
    }
}

/// The file of a Unix socket, known by its inode: another daemon may have put its own in the same place.
struct SocketFile {
    let path: String
    private let device: dev_t
    private let inode: ino_t

    /// The file at `path` as it is now; nil when there is none.
    init?(path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.init(path: path, status)
    }

    init(path: String, _ status: stat) {
        self.path = path
        device = status.st_dev
        inode = status.st_ino
    }

    func removeIfOurs() {
        guard let now = SocketFile(path: path), now.device == device, now.inode == inode else { return }
        unlink(path)
    }
}
