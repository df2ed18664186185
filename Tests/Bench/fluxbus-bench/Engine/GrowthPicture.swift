/// The curves of growth as a picture (SVG): one line per axis, the factor across, nanoseconds up.
struct GrowthPicture {
    private static let (width, height) = (640.0, 320.0)
    private static let (left, right, top, bottom) = (70.0, 180.0, 20.0, 50.0)
    /// Distinguishable with any colour vision.
    private static let colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"]

    let curves: [GrowthBench.Curve]

    private var highest: Double {
        let most = curves.flatMap(\.nanoseconds).max() ?? 1
        return max(200, (most * 1.2 / 200).rounded(.up) * 200)
    }

    private func across(_ step: Int) -> Double {
        Self.left + (Self.width - Self.left - Self.right) * Double(step)
            / Double(GrowthBench.factors.count - 1)
    }

    private func up(_ nanoseconds: Double) -> Double {
        Self.height - Self.bottom - (Self.height - Self.top - Self.bottom) * nanoseconds / highest
    }

    var svg: String {
        var parts = [
            #"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \#(Int(Self.width)) \#(Int(Self.height))" "#
                + #"font-family="sans-serif" font-size="12">"#,
            "<title>The cost of a commit, as what it does not touch grows</title>",
            #"<rect width="100%" height="100%" fill="white"/>"#,
        ]
        for share in 0...4 {
            let value = highest * Double(share) / 4
            let place = Figure.decimal(up(value), 1)
            let end = Figure.decimal(across(GrowthBench.factors.count - 1), 1)
            parts.append(
                #"<line x1="\#(Int(Self.left))" x2="\#(end)" y1="\#(place)" y2="\#(place)" stroke="lightgray"/>"#
            )
            parts.append(
                #"<text x="\#(Int(Self.left) - 8)" y="\#(place)" text-anchor="end" dy="4">\#(Figure.decimal(value, 0)) ns</text>"#
            )
        }
        for (step, factor) in GrowthBench.factors.enumerated() {
            let place = Figure.decimal(across(step), 1)
            parts.append(
                #"<text x="\#(place)" y="\#(Int(Self.height - Self.bottom) + 20)" text-anchor="middle">× \#(factor)</text>"#
            )
        }
        for (index, curve) in curves.enumerated() {
            parts += draw(curve, Self.colours[index % Self.colours.count])
        }
        parts += legend()
        parts.append("</svg>")
        return parts.joined(separator: "\n") + "\n"
    }

    private func draw(_ curve: GrowthBench.Curve, _ colour: String) -> [String] {
        let points = curve.nanoseconds.enumerated().map { step, cost in
            "\(Figure.decimal(across(step), 1)),\(Figure.decimal(up(cost), 1))"
        }
        let line =
            #"<polyline points="\#(points.joined(separator: " "))" fill="none" stroke="\#(colour)" stroke-width="2"/>"#
        return [line]
            + points.map { point in
                let halves = point.split(separator: ",")
                return #"<circle cx="\#(halves[0])" cy="\#(halves[1])" r="3" fill="\#(colour)"/>"#
            }
    }

    private func legend() -> [String] {
        let left = Int(Self.width - Self.right) + 20
        return curves.enumerated().map { index, curve in
            #"<text x="\#(left)" y="\#(40 + 20 * index)" fill="\#(Self.colours[index % Self.colours.count])">\#(curve.name), "#
                + "from \(curve.first)</text>"
        }
    }
}
