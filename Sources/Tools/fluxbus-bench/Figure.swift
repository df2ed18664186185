/// Numbers as people read them.
package enum Figure {
    /// With this many decimal places.
    package static func decimal(_ value: Double, _ places: Int) -> String {
        var scale = 1.0
        for _ in 0..<places { scale *= 10 }
        let scaled = (value * scale).rounded()
        guard scaled.magnitude < 9e15 else { return "\(value)" }
        let digits = String(Int(scaled.magnitude))
        guard places > 0 else { return (scaled < 0 ? "-" : "") + digits }
        let padded = String(repeating: "0", count: max(0, places + 1 - digits.count)) + digits
        return (scaled < 0 ? "-" : "") + padded.dropLast(places) + "." + padded.suffix(places)
    }

    /// Without the digits that a measurement does not have.
    package static func rounded(_ value: Double) -> Double { (value * 10_000).rounded() / 10_000 }

    /// Whole, its thousands apart.
    package static func rate(_ value: Double) -> String {
        let digits = decimal(value, 0)
        var result = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { result += " " }
            result.append(digit)
        }
        return result
    }

    package static func percent(_ share: Double) -> String { decimal(share * 100, 0) + " %" }
}
