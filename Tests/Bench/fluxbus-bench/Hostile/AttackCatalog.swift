import FluxBus

/// All attacks by their names.
enum AttackCatalog {
    static let all =
        [calm, busy] + Attack.floods + Attack.logged + Attack.newcomers + Attack.operands + Attack.reading
        + Attack.commits + Attack.subscriptions + Attack.guarded

    /// No attack: what the innocent client sees on this machine at best, for comparison with all other results.
    static let calm = Attack(
        name: "nobody", summary: "no attack: what there is to compare with", forms: [0],
        scripts: { _, _ in [] })

    /// No attack either: somebody who has as much to do as the bus can take, and does it as one should. Attacks by another
    /// user are measured against it.
    static let busy = Attack(
        name: "busy", summary: "a well-behaved client with all the work that the bus can take",
        setUp: HostileSetUp(stores: [.init(type: "counter")]), isWellBehaved: true,
        scripts: { connections, _ in
            // One alone keeps a bus busy only if enough is on its way.
            let window = max(64, 1024 / connections)
            let piece = AttackLines.lines(window) { _ in
                #"{"op":"dispatch","store":"counter/s0","action":"increment"}"#
            }
            let script = AttackScript(piece: { _ in piece }, pace: .afterAnswers(window))
            return Array(repeating: script, count: connections)
        })

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

/// All attacks of a call, a line each, and how many did no harm.
struct AttackTable {
    private var rows: [[String]] = []
    private var passed = 0

    mutating func add(_ result: HostileResult) {
        rows.append(result.row)
        if result.faults.isEmpty { passed += 1 }
    }

    /// Nil without attacks.
    var text: String? {
        guard !rows.isEmpty else { return nil }
        let all = [HostileResult.head] + rows
        let widths = HostileResult.head.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        let lines = all.map { row in
            let cells = row.indices.map { column in
                let space = String(repeating: " ", count: widths[column] - row[column].count)
                // Names and verdicts from the left, figures from the right, so that they can be compared.
                if column == row.count - 1 { return row[column] }
                return column == 0 ? row[column] + space : space + row[column]
            }
            return cells.joined(separator: "  ")
        }
        return "\n" + lines.joined(separator: "\n") + "\n\n\(passed) of \(rows.count) pass"
    }
}
