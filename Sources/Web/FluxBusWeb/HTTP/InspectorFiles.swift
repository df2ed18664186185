import CInspector
import FoundationEssentials

/// The page's files, which are part of the program.
package enum InspectorFiles {
    package struct File: Sendable {
        package let name: String
        package let bytes: Data
        /// The same compressed, where that is shorter.
        package let packed: Data?
        package let contentType: String
        /// Another one whenever the bytes are others, compressed or not.
        package let tag: String
        package let packedTag: String
    }

    package static let all: [String: File] = {
        var files: [String: File] = [:]
        for index in 0..<inspector_file_count() {
            let entry = inspector_file_at(index)
            let bytes = UnsafeRawBufferPointer(start: entry.bytes, count: entry.length)
            let name = String(cString: entry.name)
            let digest = Secret.hexadecimal(Secret.hash(bytes).prefix(16))
            files[name] = File(
                name: name, bytes: Data(bytes), packed: Gzip.packed(Data(bytes)),
                contentType: contentType(of: name), tag: "\"\(digest)\"", packedTag: "\"\(digest)-gzip\"")
        }
        return files
    }()

    private static func contentType(of name: String) -> String {
        switch name.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "svg": "image/svg+xml"
        default: "text/plain; charset=utf-8"
        }
    }
}
