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

    /// Compiles those files that can be compiled, and adds all that is wrong with the others.
    private init(
        _ files: [File], beside natives: [any StateType], since earlier: TypeCatalog? = nil,
        _ errors: inout [SourceError]
    ) {
        var types: [DeclaredType] = []
        var names: [DeclaredType.Waiting] = []
        var placesByName = Dictionary(natives.map { ($0.name, Place?.none) }) { first, _ in first }
        // A type that is waited for may be in a file that could not be read.
        var areAllNamed = errors.isEmpty
        let others = TakenMembers(files, natives)
        let schemas = SharedSchemas { files.compactMap(\.schemas) }
        for file in files.sorted(by: { UTF8Order.precedes($0.name, $1.name) }) {
            others.asked = false
            schemas.forget()
            let (type, waiting, isWithout) = Self.compile(file, since: earlier, others, schemas, &errors)
            if isWithout { continue }
            // What depends on other files is looked up again when they may have changed.
            let isAlone = !others.asked && schemas.files.isSubset(of: [file.name])
            if let type, isAlone { compiled[file.name] = (file.bytes, type) }
            guard let waiting else {
                areAllNamed = false
                continue
            }
            do throws(SourceError) {
                try Self.take(waiting, &placesByName)
                names.append(waiting)
                if let type { types.append(type) }
            } catch {
                errors.append(error)
            }
        }
        types.sort { UTF8Order.precedes($0.name, $1.name) }
        self.types = types
        if areAllNamed {
            DeclaredType.checkWaiting(names, beside: natives, &errors)
            // What is wrong with a type may be all that a view finds wrong.
            if errors.isEmpty { DeclaredType.checkViews(types, beside: natives, &errors) }
            if errors.isEmpty { DeclaredType.checkLogPolicies(types, &errors) }
        }
        errors = errors.inOrder
    }

    /// The type of a file, and what the file says of others even if it is wrong; or that it has `schemas` and no type.
    private static func compile(
        _ file: File, since earlier: TypeCatalog?, _ others: TakenMembers, _ schemas: SharedSchemas,
        _ errors: inout [SourceError]
    ) -> (type: DeclaredType?, waiting: DeclaredType.Waiting?, isWithout: Bool) {
        if let known = earlier?.compiled[file.name], known.bytes == file.bytes {
            return (known.type, .init(known.type), false)
        }
        do throws(SourceError) {
            let source = try LocatedValue.read(file.bytes, file: file.name)
            if case .object(let root) = source.content, root.keys == ["schemas"] {
                schemas.check(root.members[0].value, &errors)
                return (nil, nil, true)
            }
            let type = DeclaredType.load(source, &errors, schemas: schemas) {
                others.isTaken($1, by: $0, besides: file.name)
            }
            guard let type else { return (nil, .init(source), false) }
            return (type, .init(type), false)
        } catch {
            errors.append(error)
            return (nil, nil, false)
        }
    }

    /// Compiles one file by itself, without the types that it waits for, and gives its definition. What it refers to may be in
    /// the `schemas` of files beside it.
    package static func definition(in path: String) throws(Refusal) -> JSON {
        var errors: [SourceError] = []
        do throws(SourceError) {
            let source = try LocatedValue.read(FileReading.bytes(of: path), file: path)
            let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
            let schemas = SharedSchemas {
                var unread: [SourceError] = []
                let others = files(of: directory, &unread).filter { !$0.name.hasSuffix("/" + path) }
                return [source.schemas].compactMap(\.self)
                    + others.filter { $0.name != path }.compactMap(\.schemas)
            }
            // What other files take is not known here.
            let type = DeclaredType.load(source, &errors, schemas: schemas) { _, _ in true }
            if let type { return type.definition }
        } catch {
            errors.append(error)
        }
        throw Refusal(lines: errors.lines)
    }

    /// Takes the name of a type, which no other may have. `places` has the taken ones, those of types without a file with nil.
    private static func take(
        _ type: DeclaredType.Waiting, _ places: inout [String: Place?]
    ) throws(SourceError) {
        guard let other = places.updateValue(type.place, forKey: type.name) else { return }
        places[type.name] = other
        if let other {
            throw SourceError(
                "The type \(type.name) is defined in \(other.file) too; rename one of them.", at: type.place)
        }
        throw SourceError(
            "This daemon has a type \(type.name) of its own; rename this one.", at: type.place)
    }

    /// Reads all `*.yaml`, `*.yml` and `*.json` files of a directory and compiles them.
    package init(directory: String, beside natives: [any StateType] = []) throws(SourceError) {
        var errors: [SourceError] = []
        self.init(directory: directory, beside: natives, &errors)
        if let first = errors.first { throw first }
    }

    /// The same of those files that can be read and compiled; adds all that is wrong with the others, in order. Files
    /// that are as they were when an `earlier` catalog was read are not compiled again.
    package init(
        directory: String, beside natives: [any StateType] = [], since earlier: TypeCatalog? = nil,
        _ errors: inout [SourceError]
    ) {
        var more: [SourceError] = []
        let files = Self.files(of: directory, &more)
        // What is not there may be what the others wait for, so that is not asked.
        self.init(files, beside: natives, since: earlier, &more)
        errors += more
    }

    /// The files of a directory that may have types, and what is wrong with those that can't be read.
    private static func files(of directory: String, _ unread: inout [SourceError]) -> [File] {
        var files: [File] = []
        do throws(SourceError) {
            for path in try FileReading.documents(in: directory) where !Self.isTestFile(path) {
                do throws(SourceError) {
                    files.append(File(name: path, bytes: try FileReading.bytes(of: path)))
                } catch {
                    unread.append(error)
                }
            }
        } catch {
            unread.append(error)
        }
        return files
    }

    /// All that is wrong with a directory, a line for each mistake.
    package struct Refusal: Error {
        package let lines: [String]
    }

    /// Reads a directory for people, who want to know all that is wrong with it.
    package static func load(_ directory: String) throws(Refusal) -> TypeCatalog {
        var errors: [SourceError] = []
        let catalog = TypeCatalog(directory: directory, &errors)
        guard errors.isEmpty else { throw Refusal(lines: errors.lines) }
        return catalog
    }

    private static func isTestFile(_ path: String) -> Bool {
        [".test.yaml", ".test.yml", ".test.json"].contains(where: path.hasSuffix)
    }

    /// The paths of the files of tests in a directory, ascending.
    package static func testFiles(in directory: String) throws(SourceError) -> [String] {
        try FileReading.documents(in: directory).filter(isTestFile)
    }
}

extension TypeCatalog.File {
    /// What it says in `schemas`, as far as it can be read.
    fileprivate var schemas: LocatedObject? {
        guard bytes.firstRange(of: Array("schemas".utf8)) != nil else { return nil }
        return (try? LocatedValue.read(bytes, file: name))?.schemas
    }
}

extension LocatedValue {
    fileprivate var schemas: LocatedObject? {
        guard case .object(let root) = content, case .object(let schemas)? = root["schemas"]?.content else {
            return nil
        }
        return schemas
    }
}
