import BusJSON
import BusProtocol
import BusSource
import BusYAML

/// The effects of a directory, checked together.
package struct EffectCatalog: Sendable {
    /// An effect with the bytes of its file, by which a reload sees what has changed.
    package struct Entry: Sendable {
        package let effect: Effect
        package let bytes: [UInt8]
    }

    /// Ascending by name.
    package let entries: [Entry]

    /// Reads all `*.yaml`, `*.yml` and `*.json` files, and adds all that is wrong with them, in order.
    package init(directory: String, _ errors: inout [SourceError]) {
        var entries: [Entry] = []
        do throws(SourceError) {
            for name in try FileReading.names(in: directory) where Self.isEffect(name) {
                let path = directory.hasSuffix("/") ? directory + name : "\(directory)/\(name)"
                guard let entry = Self.read(path, &errors) else { continue }
                if let other = entries.first(where: { $0.effect.name == entry.effect.name }) {
                    errors.append(
                        SourceError(
                            "The effect \(entry.effect.name) is in \(other.effect.place.file) too; rename one of them.",
                            at: entry.effect.place))
                }
                entries.append(entry)
            }
        } catch {
            errors.append(error)
        }
        if entries.count > EffectLimits.effects {
            errors.append(
                SourceError(
                    "There are \(entries.count) effects, and at most \(EffectLimits.effects) fit in one service; remove some.",
                    at: Place(file: directory, line: 0, column: 0)))
        }
        self.entries = entries.sorted { UTF8Order.precedes($0.effect.name, $1.effect.name) }
        errors = errors.inOrder
    }

    /// Reads one file; nil where something is wrong with it.
    package static func read(_ path: String, _ errors: inout [SourceError]) -> Entry? {
        do throws(SourceError) {
            let bytes = try FileReading.bytes(of: path)
            var loader = EffectLoader()
            let effect = loader.load(try LocatedValue.read(bytes, file: path))
            errors += loader.errors
            return effect.map { Entry(effect: $0, bytes: bytes) }
        } catch {
            errors.append(error)
            return nil
        }
    }

    private static func isEffect(_ name: String) -> Bool {
        !name.hasPrefix(".") && [".yaml", ".yml", ".json"].contains(where: name.hasSuffix)
    }
}
