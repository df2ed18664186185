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
