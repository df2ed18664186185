/// All results of a call, one line each.
struct ResultTable {
    private var rows: [[String]] = []

    private static let head = ["what", "result", "dispatches/s", "p50 µs", "p99 µs"]

    var isEmpty: Bool { rows.isEmpty }

    mutating func add(_ result: BenchResult) {
        guard result.shortfall == nil else {
            return rows.append([result.load.title, "WRONG, see above", "", "", ""])
        }
        let times = result.tally.replyTimes
        let cost = result.costPerStoreChanged.map {
            Figure.decimal($0, 3) + (result.changed > 1 ? " µs CPU a store" : " µs CPU a dispatch")
        }
        rows.append([
            result.load.title, cost ?? "CPU not known", Figure.rate(result.dispatchRate),
            times.map { Figure.decimal($0.microseconds(atShare: 0.5), 1) } ?? "",
            times.map { Figure.decimal($0.microseconds(atShare: 0.99), 1) } ?? "",
        ])
    }

    mutating func add(_ measurement: Measurement) {
        add(measurement.scenario, measurement.name, measurement.amount)
    }

    mutating func add(_ scenario: String, _ name: String, _ result: String) {
        rows.append(["\(scenario): \(name)", result, "", "", ""])
    }

    var text: String {
        let all = [Self.head] + rows
        let widths = Self.head.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        return all.map { row in
            let cells = row.indices.map { column in
                let space = String(repeating: " ", count: widths[column] - row[column].count)
                // Names from the left, figures from the right, so that they can be compared.
                return column == 0 ? row[column] + space : space + row[column]
            }
            return cells.joined(separator: "  ")
        }.joined(separator: "\n")
    }
}
