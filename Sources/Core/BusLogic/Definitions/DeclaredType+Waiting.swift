import BusJSON
import BusProtocol
import BusSource

/// What types say of each other in `waitFor`: it can only be checked once all of them are known.
extension DeclaredType {
    /// Whom a type waits for, as its file says it. A file whose definition is wrong may say that, too.
    package struct Waiting: Sendable {
        package let name: String
        package let place: Place
        let targets: [(name: String, place: Place)]

        package init(_ type: DeclaredType) {
            name = type.name
            place = type.place
            targets = zip(type.waitFor, type.waitForPlaces).map { ($0, $1) }
        }

        init(_ type: any StateType) {
            name = type.name
            place = Place(file: type.name, line: 0, column: 0)
            targets = type.waitFor.map { ($0, Place(file: type.name, line: 0, column: 0)) }
        }

        /// Nil where the file does not say how the type is called.
        package init?(_ source: LocatedValue) {
            guard case .object(let root) = source.content, let type = root["type"] ?? root["view"],
                case .scalar(.string(let name)) = type.content
            else { return nil }
            self.name = name
            place = type.place
            guard case .array(let elements)? = root["waitFor"]?.content else {
                targets = []
                return
            }
            targets = elements.compactMap { element in
                if case .scalar(.string(let name)) = element.content { (name, element.place) } else { nil }
            }
        }
    }

    /// What is wrong if not every type that is waited for exists, or if types wait for each other in a circle. A type that
    /// names itself reads its other stores as they were, so that none waits.
    package static func checkWaiting(
        _ types: [Waiting], beside natives: [any StateType], _ errors: inout [SourceError]
    ) {
        let all = types + natives.map { Waiting($0) }
        let names = all.map(\.name)
        let indices = Dictionary(zip(names, names.indices)) { first, _ in first }
        var edges: [[Int]] = []
        for type in all {
            var targets: [Int] = []
            for target in type.targets {
                if UTF8Order.equal(target.name, type.name) { continue }
                if let found = indices[target.name] {
                    targets.append(found)
                } else if target.place.line > 0 {
                    errors.append(
                        SourceError(
                            "waitFor names \(target.name), which is not a type; "
                                + suggestion(for: target.name, among: names), at: target.place))
                }
            }
            edges.append(targets)
        }
        guard case .cycle(let cycle) = DependencyOrder.sort(edges) else { return }
        let path = cycle.map { names[$0] }.joined(separator: " → ")
        let place = cycle.lazy.compactMap { all[$0].targets.first?.place }.first { $0.line > 0 }
        errors.append(
            SourceError(
                "Types wait for each other in a circle: \(path); break it.",
                at: place ?? Place(file: names[cycle[0]], line: 0, column: 0)))
    }
}
