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
