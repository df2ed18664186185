import BusSystem
import CLinux
import CMap
import Glibc

/// What a map says of a store.
package enum MapAnswer: Equatable, Sendable {
    /// So many bytes were copied; they came to be at the revision.
    case state(length: Int, revision: UInt64)
    /// No store has the name.
    case none
    /// There is another map: ask for it.
    case moved
    /// Nobody keeps the map any more.
    case ended
    /// The buffer is too short for the state.
    case long(length: Int)
    /// States were published so fast that none could be copied; the next read is likely to get one.
    case busy
    /// The file says what no writer writes.
    case damaged
}

/// What is said of a descriptor that has no map.
package enum MapMistake: Error, Equatable {
    case system(SystemError)
    /// Its length can still change, so reading it could end the process.
    case unsealed
    case noMap
}

/// Reads one map, on any thread, without a system call.
package final class MapReader: @unchecked Sendable {
    // The view is never changed, and what it points to is read with the memory orders of the layout.
    private let view: map_view
    private let size: Int

    /// Maps the file. The descriptor stays the caller's, and may be closed.
    package init(_ descriptor: Int32) throws(MapMistake) {
        guard linux_keeps_size(descriptor) == 1 else { throw .unsealed }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .system(SystemError("fstat")) }
        size = Int(status.st_size)
        guard size > 0 else { throw .noMap }
        guard let mapped = mmap(nil, size, PROT_READ, MAP_SHARED, descriptor, 0), mapped != MAP_FAILED else {
            throw .system(SystemError("mmap"))
        }
        var view = map_view()
        guard map_open(&view, mapped, UInt64(size)) == 1 else {
            munmap(mapped, size)
            throw .noMap
        }
        self.view = view
    }

    deinit { munmap(UnsafeMutableRawPointer(mutating: view.base), size) }

    /// Copies the state of a store: JSON, as `get` gives it.
    @inline(__always)
    package func read(
        _ name: UnsafeRawBufferPointer, into buffer: UnsafeMutableRawBufferPointer
    ) -> MapAnswer { Self.read(name, in: view, into: buffer) }

    @inline(__always)
    package static func read(
        _ name: UnsafeRawBufferPointer, in view: map_view, into buffer: UnsafeMutableRawBufferPointer
    ) -> MapAnswer {
        var (length, revision) = (0, UInt64(0))
        let answer = withUnsafePointer(to: view) {
            map_read($0, name.baseAddress, name.count, buffer.baseAddress, buffer.count, &length, &revision)
        }
        switch answer {
        case map_answer_state: return .state(length: length, revision: revision)
        case map_answer_none: return .none
        case map_answer_moved: return .moved
        case map_answer_ended: return .ended
        case map_answer_long: return .long(length: length)
        case map_answer_busy: return .busy
        default: return .damaged
        }
    }
}
