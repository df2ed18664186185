import BusJSON

/// One figure that is no rate: bytes of memory, milliseconds of a start.
struct Measurement {
    let scenario: String
    let name: String
    let value: Double
    let unit: String

    var text: String { "  \(amount): \(name)" }
    /// The value with its unit.
    var amount: String {
        let number = value.magnitude < 100 ? Figure.decimal(value, 1) : Figure.rate(value)
        return "\(number) \(unit)"
    }

    var json: JSON {
        [
            "scenario": .string(scenario), "name": .string(name), "value": .double(Figure.rounded(value)),
            "unit": .string(unit),
        ]
    }
}
