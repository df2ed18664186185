import BusSystem
import Glibc

/// Tells when the files of maps are gone: nobody has a descriptor or a mapping of them any more, and their memory is free.
///
/// The kernel reports that as the deletion of the file, which has had no name from the beginning.
package final class MapReleases {
    /// To be polled: readable when a file has gone.
    package let descriptor: Int32
    /// The numbers of the files' maps, by what the kernel calls them.
    private var numbers: [Int32: Int] = [:]

    package init() throws(SystemError) {
        descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        guard descriptor >= 0 else { throw SystemError("inotify_init1") }
    }

    deinit { close(descriptor) }

    /// Follows the file of a map, which the writer still has.
    package func follow(_ writer: MapWriter, number: Int) throws(SystemError) {
        let watch = inotify_add_watch(
            descriptor, "/proc/self/fd/\(writer.descriptor)", UInt32(IN_DELETE_SELF))
        guard watch >= 0 else { throw SystemError("inotify_add_watch") }
        numbers[watch] = number
    }

    /// Passes the numbers of the maps whose files have gone since the last call.
    package func forEachGone(_ body: (Int) -> Void) {
        // A file without a name has events without one, so each is as long as its head.
        let size = MemoryLayout<inotify_event>.size
        withUnsafeTemporaryAllocation(of: inotify_event.self, capacity: Self.eventsAtOnce) { events in
            while true {
                let count = read(descriptor, events.baseAddress, events.count * size)
                guard count > 0 else { return }
                for event in events.prefix(count / size) {
                    if let number = numbers.removeValue(forKey: event.wd) { body(number) }
                }
            }
        }
    }

    private static let eventsAtOnce = 64
}
