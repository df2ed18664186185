import BusJSON
import BusLogic
import BusSource
import BusYAML

/// The declared types of a bus: all files of its types directory together, checked against each other.
package struct TypeCatalog: Sendable {
    /// One file, read into memory.
    package struct File: Sendable {
        package let name: String
        package let bytes: [UInt8]

        package init(name: String, bytes: [UInt8]) {
            self.name = name
            self.bytes = bytes
        }
    }

    /// Ascending by name.
    package let types: [DeclaredType]
    /// The compiled type of each file, for the next reload.
    private var compiled: [String: (bytes: [UInt8], type: DeclaredType)] = [:]

    /// Compiles files, one type each. `natives` are the types that the daemon has without a file.
    package init(_ files: [File], beside natives: [any StateType] = []) throws(SourceError) {
        var errors: [SourceError] = []
        self.init(files, beside: natives, &errors)
        if let first = errors.first { throw first }
    }

    /// Compiles those files that can be compiled, and adds what is wrong with the others.
    private init(
        _ files: [File], beside natives: [any StateType], since earlier: TypeCatalog? = nil,
        _ errors: inout [SourceError]
    ) {
        var types: [DeclaredType] = []
        for file in files.sorted(by: { UTF8Order.precedes($0.name, $1.name) }) {
            do throws(SourceError) {
                let type = try Self.compile(file, since: earlier)
                compiled[file.name] = (file.bytes, type)
                try Self.checkName(of: type, among: types, natives)
                types.append(type)
            } catch {
                errors.append(error)
            }
        }
        types.sort { UTF8Order.precedes($0.name, $1.name) }
        self.types = types
        // A type that is waited for may be in a file that could not be read.
        guard errors.isEmpty else { return }
        do throws(SourceError) { try DeclaredType.checkWaiting(types, beside: natives) } catch {
            errors.append(error)
        }
    }

    /// Compiles one file by itself, without the types that it waits for, and gives its definition.
    package static func definition(in path: String) throws(SourceError) -> JSON {
        try compile(File(name: path, bytes: FileReading.bytes(of: path)), since: nil).definition
    }

    private static func compile(
        _ file: File, since earlier: TypeCatalog?
    ) throws(SourceError) -> DeclaredType {
        if let known = earlier?.compiled[file.name], known.bytes == file.bytes { return known.type }
        return try DeclaredType(LocatedValue.read(file.bytes, file: file.name))
    }

    private static func checkName(
        of type: DeclaredType, among types: [DeclaredType], _ natives: [any StateType]
    ) throws(SourceError) {
        if let other = types.first(where: { UTF8Order.equal($0.name, type.name) }) {
            throw SourceError(
                "The type \(type.name) is defined in \(other.place.file) too; rename one of them.",
                at: type.place)
        }
        if natives.contains(where: { UTF8Order.equal($0.name, type.name) }) {
            throw SourceError(
                "This daemon has a type \(type.name) of its own; rename this one.", at: type.place)
        }
    }

    /// Reads all `*.yaml`, `*.yml` and `*.json` files of a directory and compiles them.
    package init(directory: String, beside natives: [any StateType] = []) throws(SourceError) {
        var errors: [SourceError] = []
        self.init(directory: directory, beside: natives, &errors)
        if let first = errors.first { throw first }
    }

    /// The same of those files that can be read and compiled; adds what is wrong with the others, one error each. Files
    /// that are as they were when an `earlier` catalog was read are not compiled again.
    package init(
        directory: String, beside natives: [any StateType] = [], since earlier: TypeCatalog? = nil,
        _ errors: inout [SourceError]
    ) {
        var files: [File] = []
        var unread: [SourceError] = []
        do throws(SourceError) {
            for name in try FileReading.names(in: directory) {
                guard !name.hasPrefix("."), Self.endings.contains(where: { name.hasSuffix($0) }) else {
                    continue
                }
                let path = directory.hasSuffix("/") ? directory + name : directory + "/" + name
                do throws(SourceError) {
                    files.append(File(name: path, bytes: try FileReading.bytes(of: path)))
                } catch {
                    unread.append(error)
                }
            }
        } catch {
            unread.append(error)
        }
        // What is not there may be what the others wait for, so that is not asked.
        var more = unread
        self.init(files, beside: natives, since: earlier, &more)
        errors += more.sorted { UTF8Order.precedes($0.file, $1.file) }
    }

    private static let endings = [".yaml", ".yml", ".json"]
}
