import BusSource

/// Reading files: YAML by the 1.2 core schema, JSON strictly. Always from memory; nothing here opens a file.
extension LocatedValue {
    /// Reads a file's bytes: JSON if its name ends in `.json`, else YAML.
    package static func read(
        _ bytes: [UInt8], file: String, depthLimit: Int = defaultDepthLimit
    ) throws(SourceError) -> LocatedValue {
        guard bytes.count <= sizeLimit else {
            throw SourceError(tooLarge, at: Place(file: file, line: 0, column: 0))
        }
        // Editors on other systems put a byte order mark first.
        let hasMark = bytes.starts(with: [0xef, 0xbb, 0xbf])
        let source = try SourceText(hasMark ? Array(bytes.dropFirst(3)) : bytes, file: file)
        if file.hasSuffix(".json") { return try LocatedJSONReader.document(source, depthLimit: depthLimit) }
        var reader = YAMLReader(source, depthLimit: depthLimit)
        return try reader.document()
    }

    /// Reads a text, as `read(_:file:)` does.
    package static func read(
        _ text: String, file: String, depthLimit: Int = defaultDepthLimit
    ) throws(SourceError) -> LocatedValue {
        try read(Array(text.utf8), file: file, depthLimit: depthLimit)
    }

    /// The largest file that is read: what people write by hand is far smaller.
    static let sizeLimit = 4 << 20
    static let tooLarge = "The file is larger than \(sizeLimit >> 20) MiB; make it smaller."
}
