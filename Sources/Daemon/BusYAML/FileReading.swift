import BusJSON
import BusSource
import BusSystem
import Glibc

/// Reads whole files and the names of a directory: the thin layer between the disk and everything that takes
/// bytes from memory.
package enum FileReading {
    /// The bytes of a file. Nothing else is read: a pipe, a device or a socket would make us wait, perhaps for ever.
    package static func bytes(of path: String) throws(SourceError) -> [UInt8] {
        do throws(WholeFile.Refusal) {
            return try WholeFile.read(path, limit: LocatedValue.sizeLimit)
        } catch {
            let message =
                switch error {
                case .failed(let error):
                    "The file can't be \(error.call == "open" ? "opened" : "read"): \(error.reason)."
                case .notRegular:
                    "This is not a regular file; put one there, or move it out of the directory."
                case .tooLarge: LocatedValue.tooLarge
                case .refused(let reason): reason
                }
            throw SourceError(message, at: Place(file: path, line: 0, column: 0))
        }
    }

    /// The names in a directory, ascending by their bytes.
    package static func names(in path: String) throws(SourceError) -> [String] {
        guard let directory = opendir(path) else { throw failure("The directory can't be opened", path) }
        defer { closedir(directory) }
        var names: [String] = []
        errno = 0
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != "." && name != ".." { names.append(name) }
            errno = 0
        }
        guard errno == 0 else { throw failure("The directory can't be read", path) }
        return names.sorted(by: UTF8Order.precedes)
    }

    /// The paths of the files that people write for the bus in a directory, `*.yaml`, `*.yml` and `*.json`, in the order of their
    /// names.
    package static func documents(in directory: String) throws(SourceError) -> [String] {
        try names(in: directory).filter { name in
            !name.hasPrefix(".") && [".yaml", ".yml", ".json"].contains(where: name.hasSuffix)
        }.map { directory.hasSuffix("/") ? directory + $0 : "\(directory)/\($0)" }
    }

    private static func failure(_ what: String, _ path: String) -> SourceError {
        let reason = systemReason()
        return SourceError("\(what): \(reason).", at: Place(file: path, line: 0, column: 0))
    }
}
