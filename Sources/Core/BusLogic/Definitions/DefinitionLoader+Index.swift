import BusJSON
import BusProtocol
import BusSource

/// `index: floor`, or a list of names: the members by whose values stores of the type are found.
extension DefinitionLoader {
    private static let mostIndexed = 8

    mutating func loadIndex(_ root: LocatedObject) throws(SourceError) {
        guard let source = root["index"] else { return }
        let elements: [LocatedValue] =
            if case .array(let elements) = source.content { elements } else { [source] }
        guard (1...Self.mostIndexed).contains(elements.count) else {
            throw source.failure("index names 1 to \(Self.mostIndexed) members, not \(elements.count).")
        }
        for element in elements {
            let name = try element.string(elements.count == 1 ? "index" : "each member of index")
            if parts.indexed.contains(where: { UTF8Order.equal($0, name) }) {
                throw element.failure(FileWords.duplicate("member", name))
            }
            if isShapeKnown, !shape.keys.contains(where: { UTF8Order.equal($0, name) }) {
                throw element.failure(
                    "index names \(name), which is not a member of the state; \(suggestion(for: name, among: shape.keys))"
                )
            }
            parts.indexed.append(name)
        }
    }
}
