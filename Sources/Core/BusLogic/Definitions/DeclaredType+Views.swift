import BusJSON
import BusProtocol
import BusSource

/// What views say of the types that they read: it can only be checked once all of them are known.
extension DeclaredType {
    /// What is wrong if a view reads a type that does not exist, if views read each other in a circle, and if an expression
    /// can't be right for the states of a type.
    package static func checkViews(
        _ types: [DeclaredType], beside natives: [any StateType], _ errors: inout [SourceError]
    ) {
        let names = types.map(\.name) + natives.map(\.name)
        let indices = Dictionary(zip(types.map(\.name), types.indices)) { first, _ in first }
        var edges: [[Int]] = []
        for type in types {
            var targets: [Int] = []
            for (name, place) in zip(type.view?.sources ?? [], type.view?.sourcePlaces ?? []) {
                if let found = indices[name] {
                    targets.append(found)
                } else if !names.contains(where: { UTF8Order.equal($0, name) }) {
                    errors.append(
                        SourceError(
                            "of names \(name), which is not a type; \(suggestion(for: name, among: names.filter { $0 != type.name }))",
                            at: place))
                }
            }
            edges.append(targets)
        }
        if case .cycle(let cycle) = DependencyOrder.sort(edges), let view = types[cycle[0]].view {
            let path = cycle.map { types[$0].name }.joined(separator: " → ")
            errors.append(
                SourceError("Views read each other in a circle: \(path); break it.", at: view.sourcePlaces[0])
            )
        }
        for type in types {
            guard let view = type.view else { continue }
            var found: [SourceError] = []
            for name in view.sources {
                guard let source = indices[name].map({ types[$0] }) else { continue }
                // One sentence for each place, though several types may give reason to it.
                for error in view.mistakes(on: source)
                where !found.contains(where: { ($0.line, $0.column) == (error.line, error.column) }) {
                    found.append(error)
                }
            }
            errors += found
        }
    }

    /// The members of its states as far as the definition names them, computed ones included; nil where there may be others.
    fileprivate var stateNames: [String]? { isOpen ? nil : initial.keys }
}

extension ViewRules {
    /// What can't be right where the states are those of a type.
    fileprivate func mistakes(on source: DeclaredType) -> [SourceError] {
        let mistakes = Mistakes(isStrict: true)
        let review = ExpressionReview(
            mistakes, names: source.stateNames, schema: source.schema, payload: nil, of: source.name)
        _ = DefinitionLoader.compile(written, review)
        return mistakes.inOrder
    }
}
