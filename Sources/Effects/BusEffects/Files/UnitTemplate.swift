import BusJSON
import BusSource

/// The name of a unit with places that an event fills: `alarm@{store.name}.service`.
///
/// Guarantees that no value of an event names another unit than the file means: places stand in the instance of a
/// template unit only, behind `NAME@` and before the unit's kind, and a value with anything but the characters of unit
/// names is refused.
package struct UnitTemplate: Sendable {
    private let template: TextTemplate
    var readsState: Bool { template.readsState }

    /// Bytes, as systemd has it.
    private static let longest = 255
    private static let kinds = [
        "service", "target", "timer", "path", "socket", "mount", "automount", "swap", "slice", "scope",
        "device",
    ]

    package init(_ source: LocatedValue, for verb: String) throws(SourceError) {
        let text = try source.string(verb)
        template = try TextTemplate(text, source)
        try check(text, source)
    }

    private func check(_ text: String, _ source: LocatedValue) throws(SourceError) {
        let literals = template.literals
        if let wrong = literals.joined().unicodeScalars.first(where: { !Self.isValid($0) }) {
            throw source.failure(
                "`\(text)` is not a unit's name: `\(wrong)` can't stand in one; write letters, digits and :-_.\\@."
            )
        }
        guard let end = literals.last, Self.kinds.contains(where: { end.hasSuffix(".\($0)") }),
            text.utf8.count <= Self.longest
        else {
            throw source.failure("`\(text)` is not a unit's name; end it with its kind, such as .service.")
        }
        guard literals.count > 1, let start = literals.first else { return }
        guard let at = start.firstIndex(of: "@"), at > start.startIndex else {
            throw source.failure(
                "`\(text)` lets an event choose the unit; put {…} behind an @, as in alarm@{store.name}.service."
            )
        }
    }

    /// The unit for an event. A refusal is a clause.
    package func name(on data: JSON) throws(EffectRefusal) -> String {
        let name = try template.text(on: data) { (filled, place) throws(EffectRefusal) in
            guard !filled.isEmpty, filled.unicodeScalars.allSatisfy(Self.isValid) else {
                throw EffectRefusal("\(place) has characters that no unit's name may have")
            }
            return filled
        }
        guard name.utf8.count <= Self.longest else {
            throw EffectRefusal("the unit's name is longer than \(Self.longest) bytes")
        }
        return name
    }

    private static func isValid(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", ":", "-", "_", ".", "\\", "@": true
        default: false
        }
    }
}
