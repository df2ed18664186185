import BusSystem
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
    private var view: fluxbus_map_view

    /// Maps the file. The descriptor stays the caller's, and may be closed.
    package init(_ descriptor: Int32) throws(MapMistake) {
        view = fluxbus_map_view()
        guard fluxbus_map_adopt(&view, descriptor) == 0 else {
            switch errno {
            case EPERM: throw .unsealed
            case EINVAL: throw .noMap
            default: throw .system(SystemError("mmap"))
            }
        }
    }

    deinit { if view.base != nil { fluxbus_map_release(&view) } }

    /// Copies the state of a store: JSON, as `get` gives it.
    @inline(__always)
    package func read(
        _ name: UnsafeRawBufferPointer, into buffer: UnsafeMutableRawBufferPointer
    ) -> MapAnswer { Self.read(name, in: view, into: buffer) }

    @inline(__always)
    package static func read(
        _ name: UnsafeRawBufferPointer, in view: fluxbus_map_view, into buffer: UnsafeMutableRawBufferPointer
    ) -> MapAnswer {
        var (length, revision) = (0, UInt64(0))
        let answer = withUnsafePointer(to: view) {
            fluxbus_map_read(
                $0, name.baseAddress, name.count, buffer.baseAddress, buffer.count, &length, &revision)
        }
        switch answer {
        case fluxbus_map_answer_state: return .state(length: length, revision: revision)
        case fluxbus_map_answer_none: return .none
        case fluxbus_map_answer_moved: return .moved
        case fluxbus_map_answer_ended: return .ended
        case fluxbus_map_answer_long: return .long(length: length)
        case fluxbus_map_answer_busy: return .busy
        default: return .damaged
        }
    }
}
