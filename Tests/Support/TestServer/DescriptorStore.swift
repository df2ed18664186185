import CSystemd
import Foundation
import Glibc
import Synchronization

/// Stands in for a service manager that keeps what a program stores (`FileDescriptorStoreMax=`) until its next run.
package final class DescriptorStore: Sendable {
    /// By which a program finds it, and knows how often it is to say that it is alive: nothing happens if it does not.
    let variables: [String]
    private let contents = Mutex<[(name: String, descriptor: Int32)]>([])
    private let toldStatus = Mutex("")
    private let heardBeats = Mutex(0)

    /// Above all that the next run is given, and all that tests have open at a time.
    private static let lowest: Int32 = 2048
    /// It looks so often whether it is let go, in milliseconds.
    private static let look: Int32 = 50

    package init() {
        let manager = StandInManager(isAbstract: true)
        variables = ["NOTIFY_SOCKET=\(manager.name)", "WATCHDOG_USEC=30000000"]
        nonisolated(unsafe) let taken = manager  // Its thread's from here on.
        Thread.detachNewThread { [weak self] in
            while let store = self { store.hear(taken) }
        }
    }

    deinit { for (_, descriptor) in contents.withLock({ $0 }) { close(descriptor) } }

    /// The next runs are given this socket, too, as one of a socket unit; closed with the store.
    package func keep(_ socket: Int32, named name: String) {
        defer { close(socket) }
        contents.withLock { $0.append((name, fcntl(socket, F_DUPFD_CLOEXEC, Self.lowest))) }
    }

    /// What the next run is given.
    var kept: [(name: String, descriptor: Int32)] { contents.withLock { $0 } }

    /// What the program says of itself.
    var status: String { toldStatus.withLock { $0 } }
    var beats: Int { heardBeats.withLock { $0 } }

    private func hear(_ manager: StandInManager) {
        if manager.isSilent(for: Self.look) { return }
        while let datagram = manager.next() {
            let words = datagram.text.split(separator: "\n").map { $0.split(separator: "=", maxSplits: 1) }
            let fields = Dictionary(words.map { ($0[0], $0.count > 1 ? $0[1] : "") }) { $1 }
            if let status = fields["STATUS"] { toldStatus.withLock { $0 = String(status) } }
            if fields["WATCHDOG"] == "1" { heardBeats.withLock { $0 += 1 } }
            let name = String(fields["FDNAME"] ?? "")
            contents.withLock { kept in
                if fields["FDSTOREREMOVE"] == "1" {
                    for (other, descriptor) in kept where other == name { close(descriptor) }
                    kept.removeAll { $0.name == name }
                }
                if fields["FDSTORE"] == "1" {
                    kept += datagram.descriptors.map {
                        (name, fcntl($0, F_DUPFD_CLOEXEC, Self.lowest))
                    }
                }
            }
            // Whoever waits at a barrier sees its end.
            for descriptor in datagram.descriptors { close(descriptor) }
        }
    }
}
