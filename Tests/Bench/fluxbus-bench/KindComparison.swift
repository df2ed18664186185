import BusWork

/// Compares what each kind of request costs the server with the plain one of the same load.
struct KindComparison {
    private var rows: [(load: Load, cost: Double)] = []

    mutating func add(_ result: BenchResult) {
        guard result.load.kind != nil, let cost = result.costPerRequest else { return }
        rows.append((result.load, cost))
    }

    /// Nil when there is nothing to compare.
    var text: String? {
        let lines = rows.compactMap { row -> String? in
            let plain = rows.last { $0.load.kind == .plain && $0.load.isBeside(row.load) }
            guard let kind = row.load.kind, kind != .plain, let plain, plain.cost > 0 else { return nil }
            let place = "\(row.load.connections) connections, \(row.load.subscribers) subscribers"
            return
                "\(kind.rawValue): \(Figure.decimal(row.cost / plain.cost, 2)) times the plain one (\(place))"
        }
        return lines.isEmpty ? nil : lines.joined(separator: "\n")
    }
}

extension Load {
    /// Whether both differ in their kind only.
    fileprivate func isBeside(_ other: Load) -> Bool {
        var same = self
        same.kind = other.kind
        return same == other
    }
}

/// Compares the client library's rates with that of the raw loop, if both were measured.
struct ClientComparison {
    private var raw: Double?
    private var library: [(name: String, rate: Double)] = []

    mutating func add(_ result: BenchResult) {
        if result.load.sender != .raw {
            library.append((result.load.name, result.dispatchRate))
        } else if result.load.name.hasPrefix("client") {
            raw = result.dispatchRate
        }
    }

    /// Nil when there is nothing to compare.
    var text: String? {
        guard let raw, raw > 0, !library.isEmpty else { return nil }
        return library.map { "\($0.name): \(Figure.percent($0.rate / raw)) of the raw rate" }.joined(
            separator: "\n")
    }
}
