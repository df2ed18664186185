import CLinux
import Glibc

/// A file without a name that is only in memory, and goes with its last descriptor.
package enum MemoryFile {
    /// Writes the bytes into a new file. The caller owns its descriptor, which is closed on exec and stands behind the last byte.
    ///
    /// - Parameter name: For people who look into `/proc`; at most 249 bytes.
    package static func write(
        _ bytes: UnsafeRawBufferPointer, name: String
    ) throws(SystemError) -> Int32 {
        let file = linux_memory_file(name)
        guard file >= 0 else { throw SystemError("memfd_create") }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Glibc.write(file, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                let error = SystemError("write")
                close(file)
                throw error
            }
            rest = rest.dropFirst(count)
        }
        return file
    }
}
