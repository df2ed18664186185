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
        entries = FileReading.catalog(
            of: directory, "effect", atMost: EffectLimits.effects, &errors,
            identify: { ($0.effect.name, $0.effect.place) }, read: Self.read)
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
}
