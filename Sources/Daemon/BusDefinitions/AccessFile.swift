import BusJSON
import BusLogic
import BusSource
import BusYAML

/// Access rules as they stand in a file of their own, or in a configuration or the file that it names.
package enum AccessFile {
    /// Why there are no rules: a line for each mistake.
    package struct Refusal: Error {
        package let lines: [String]
    }

    /// Reads the rules of a file or, if it is nil, of a configuration; they are checked against the types of the
    /// configuration, where it names some.
    package static func read(file: String?, configuration: String) throws(Refusal) -> AccessRules {
        let written: LocatedValue
        var types: [any StateType]?
        if let file {
            written = try value(in: file)
        } else {
            let root = try value(in: configuration)
            guard case .object(let object) = root.content, let access = object["access"], !access.isNull
            else {
                throw Refusal(lines: [
                    "\(configuration) has no access:, so everybody may do everything but what is reserved for root."
                ])
            }
            if case .scalar(.string(let path)) = access.content {
                written = try value(in: beside(configuration, path))
            } else {
                written = access
            }
            if case .scalar(.string(let path))? = object["types"]?.content {
                types = try catalog(beside(configuration, path)).types
            }
        }
        guard let types else { return try unchecked(written) }
        var errors: [SourceError] = []
        guard let rules = AccessRules.load(written, types: types, &errors) else {
            throw Refusal(lines: errors.lines)
        }
        return rules
    }

    private static func unchecked(_ written: LocatedValue) throws(Refusal) -> AccessRules {
        do throws(SourceError) {
            return try AccessRules(written)
        } catch {
            throw Refusal(lines: [error.description])
        }
    }

    private static func catalog(_ path: String) throws(Refusal) -> TypeCatalog {
        do throws(TypeCatalog.Refusal) {
            return try TypeCatalog.load(path)
        } catch {
            throw Refusal(lines: error.lines)
        }
    }

    private static func value(in path: String) throws(Refusal) -> LocatedValue {
        do throws(SourceError) {
            return try LocatedValue.read(FileReading.bytes(of: path), file: path)
        } catch {
            throw Refusal(lines: [error.description])
        }
    }

    private static func beside(_ file: String, _ path: String) -> String {
        guard !path.hasPrefix("/"), let slash = file.lastIndex(of: "/") else { return path }
        return file[...slash] + path
    }
}
