import CLinux
import Glibc
import Synchronization

/// Files and directories that are not to outlive the process. They go when it exits, or when a signal ends it after
/// `removeAtSignals`.
package enum Leftovers {
    private static let paths: Mutex<Set<String>> = {
        atexit { Leftovers.removeAll() }
        return Mutex([])
    }()

    package static func add(_ path: String) { paths.withLock { _ = $0.insert(path) } }

    /// Leaves one where it is.
    package static func forget(_ path: String) { paths.withLock { _ = $0.remove(path) } }

    /// Removes one now. A server that is ending may still write into a directory, so it gets a second and a third try.
    package static func remove(_ path: String) {
        for _ in 0..<3 where access(path, F_OK) == 0 { linux_remove_tree(path) }
        forget(path)
    }

    private static func removeAll() { for path in paths.withLock({ $0 }) { remove(path) } }

    /// From now on Ctrl-C, SIGTERM and SIGHUP remove them before they end the process. To be called before there are other threads.
    package static func removeAtSignals() {
        SignalThread.start(taking: [SIGHUP, SIGINT, SIGTERM].filter { !isIgnored($0) }) { number in
            removeAll()
            var own = sigset_t()
            sigemptyset(&own)
            sigaddset(&own, number)
            pthread_sigmask(SIG_UNBLOCK, &own, nil)
            raise(number)
        }
    }

    /// Whether a signal is ignored, as a hang-up is under `nohup`.
    private static func isIgnored(_ number: Int32) -> Bool {
        let before = signal(number, SIG_DFL)
        let isIgnored = unsafeBitCast(before, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
        if isIgnored { signal(number, SIG_IGN) }
        return isIgnored
    }
}
