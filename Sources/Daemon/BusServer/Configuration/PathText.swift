import BusSource

/// Paths as they stand in the configuration.
enum PathText {
    /// A path that the kernel can be given.
    static func check(_ path: String, _ name: String, at place: Place) throws(SourceError) -> String {
        if path.isEmpty { throw SourceError("\(name) is empty; write a path.", at: place) }
        if path.utf8.contains(0) {
            throw SourceError("\(name) has a zero byte in it; no path has one.", at: place)
        }
        return path
    }

    /// Paths in a file are meant from where the file is, so that a configuration can be moved as a whole.
    static func resolve(_ path: String, beside file: String) -> String {
        guard !path.hasPrefix("/"), let slash = file.lastIndex(of: "/") else { return path }
        return file[...slash] + path
    }
}
