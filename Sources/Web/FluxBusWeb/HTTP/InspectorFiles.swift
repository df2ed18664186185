import CInspector
import FoundationEssentials

/// The page's files, which are part of the program.
enum InspectorFiles {
    struct File: Sendable {
        let name: String
        let bytes: Data
        let contentType: String
        /// Another one whenever the bytes are others.
        let tag: String
    }

    static let all: [String: File] = {
        var files: [String: File] = [:]
        var count = 0
        let table = UnsafeBufferPointer(start: inspector_files(&count), count: count)
        for entry in table {
            let bytes = UnsafeRawBufferPointer(start: entry.bytes, count: entry.length)
            let name = String(cString: entry.name)
            files[name] = File(
                name: name, bytes: Data(bytes), contentType: String(cString: entry.content_type),
                tag: "\"\(Secret.hexadecimal(Secret.hash(bytes).prefix(16)))\"")
        }
        return files
    }()
}
