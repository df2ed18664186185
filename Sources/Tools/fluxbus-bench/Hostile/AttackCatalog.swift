import FluxBus

/// All attacks by their names.
enum AttackCatalog {
    static let all = [calm] + Attack.floods + Attack.reading + Attack.commits + Attack.subscriptions

    /// No attack: what the innocent client sees on this machine at best, for comparison with all other results.
    private static let calm = Attack(
        name: "nobody", summary: "no attack: what there is to compare with", forms: [0],
        scripts: { _, _ in [] })

    /// The attacks with these names, in the catalog's order; all without names. Throws
    /// `invalidRequest` for an unknown name.
    static func named(_ names: [String]) throws(BusError) -> [Attack] {
        for name in names where !all.contains(where: { $0.name == name }) {
            throw BusError(.invalidRequest, "There is no attack \(name); --list tells which there are.")
        }
        return names.isEmpty ? all : all.filter { names.contains($0.name) }
    }

    static var listing: String {
        let width = all.map(\.name.count).max() ?? 0
        return all.map { attack in
            let space = String(repeating: " ", count: width - attack.name.count + 2)
            let forms = attack.forms.map(String.init).joined(separator: ", ")
            return "\(attack.name)\(space)\(attack.summary) (\(forms))"
        }.joined(separator: "\n")
    }
}
