#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A file in the making: it stands beside its place until it is whole, so that whoever finds a file there finds all of
/// it, and a failure leaves what was there before.
struct NewFile: ~Copyable {
    let descriptor: Int32
    private let path: String
    private let draft: String
    private var isFinished = false

    /// Begins a file that only its owner may read, for states may hold what is nobody else's concern.
    init(_ path: String) throws {
        self.path = path
        draft = "\(path).\(getpid()).new"
        descriptor = Glibc.open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.failure(path) }
    }

    deinit {
        close(descriptor)
        if !isFinished { unlink(draft) }
    }

    /// Puts the file into its place, when everything of it is on the disk.
    mutating func finish() throws {
        guard fsync(descriptor) == 0, rename(draft, path) == 0 else { throw Self.failure(path) }
        isFinished = true
    }

    private static func failure(_ path: String) -> CommandFailure {
        CommandFailure(
            .usage, "\(path) can't be written (\(String(cString: strerror(errno)))): name another file.")
    }
}
