import Glibc

/// A descriptor kept in reserve. When the process has none left, a waiting connection could be neither accepted nor
/// refused, and the listener would stay ready for ever: closing the spare one makes room to refuse it.
struct SpareDescriptor {
    private var descriptor: Int32 = -1

    init() { take() }

    /// Closes the spare descriptor to make room for one; false when there is none.
    mutating func giveUp() -> Bool {
        guard descriptor >= 0 else { return false }
        SystemCall.close(descriptor)
        descriptor = -1
        return true
    }

    /// Opens the spare descriptor again, if the system has one.
    mutating func take() {
        if descriptor < 0 { descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC) }
    }
}

extension EventLoop {
    /// At the end, when no client is refused any more.
    func releaseSpare() { _ = spare.giveUp() }
}
