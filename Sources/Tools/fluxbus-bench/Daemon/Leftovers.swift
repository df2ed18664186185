import Dispatch
import Glibc
import Synchronization

/// What has to be removed when this program is interrupted: its own daemons and directories.
enum Leftovers {
    private struct Lists {
        var daemons: Set<Int32> = []
        var places: Set<String> = []
    }

    private static let lists = Mutex(Lists())
    /// Watched from the first use on, and never released.
    // Never changed after it was made.
    private nonisolated(unsafe) static let watches: [any DispatchSourceSignal] = [SIGINT, SIGTERM, SIGHUP].map
    { number in
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
        source.setEventHandler { clearUp(after: number) }
        source.activate()
        return source
    }

    /// Also makes interruptions wait for `clearUp`, from here on.
    static func add(place: String) {
        _ = watches.count
        lists.withLock { _ = $0.places.insert(place) }
    }

    static func remove(place: String) { lists.withLock { _ = $0.places.remove(place) } }
    static func add(daemon: Int32) { lists.withLock { _ = $0.daemons.insert(daemon) } }
    static func remove(daemon: Int32) { lists.withLock { _ = $0.daemons.remove(daemon) } }

    private static func clearUp(after number: Int32) {
        // The lists stay locked: the main thread, which sees the daemon go, must not end the program first.
        lists.withLock { left in
            for daemon in left.daemons {
                kill(daemon, SIGKILL)
                var status: Int32 = 0
                waitpid(daemon, &status, 0)
            }
            for place in left.places { DaemonPlace.clear(place) }
            _exit(128 + number)
        }
    }
}
