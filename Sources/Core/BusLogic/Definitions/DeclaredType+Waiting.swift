import BusJSON
import BusProtocol
import BusSource

/// What types say of each other in `waitFor`: it can only be checked once all of them are known.
extension DeclaredType {
    /// Every type that is waited for exists, and no type waits for itself, not even through others.
    package static func checkWaiting(
        _ types: [DeclaredType], beside natives: [any StateType]
    ) throws(SourceError) {
        let all: [any StateType] = types + natives
        let names = all.map(\.name)
        var edges: [[Int]] = []
        for type in all {
            var targets: [Int] = []
            for (index, target) in type.waitFor.enumerated() {
                if let found = names.firstIndex(where: { UTF8Order.equal($0, target) }) {
                    targets.append(found)
                } else if let declared = type as? DeclaredType {
                    throw SourceError(
                        "waitFor names \(target), which is no type; \(suggestion(for: target, among: names))",
                        at: declared.waitForPlaces[index])
                }
            }
            edges.append(targets)
        }
        guard case .cycle(let cycle) = DependencyOrder.sort(edges) else { return }
        let path = cycle.map { names[$0] }.joined(separator: " → ")
        let declared = cycle.lazy.compactMap { all[$0] as? DeclaredType }.first
        let place = declared?.waitForPlaces.first ?? Place(file: names[cycle[0]], line: 0, column: 0)
        throw SourceError("Types wait for each other in a circle: \(path); break it.", at: place)
    }
}
