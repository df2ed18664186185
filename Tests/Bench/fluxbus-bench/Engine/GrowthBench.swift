import BusJSON
import BusWork

/// How the cost of a commit to one store grows with things that the commit does not touch: it should not.
struct GrowthBench {
    let duration: Double

    /// What is made larger, and how large it is at first.
    private enum Axis: String, CaseIterable {
        case stores, idleSubscribers, stateMembers, commitsBefore

        var name: String {
            switch self {
            case .stores: "other stores"
            case .idleSubscribers: "idle subscribers"
            case .stateMembers: "members of the state"
            case .commitsBefore: "commits before"
            }
        }

        var first: Int {
            switch self {
            case .stores, .commitsBefore: 100
            case .idleSubscribers, .stateMembers: 1
            }
        }
    }

    static let factors = [1, 10, 100, 1000]

    /// One axis: the cost at each factor, in nanoseconds per commit.
    struct Curve {
        let name: String
        let first: Int
        let nanoseconds: [Double]

        var text: String {
            let points = zip(GrowthBench.factors, nanoseconds).map { factor, cost in
                "\(Figure.rate(Double(first * factor))): \(Figure.decimal(cost, 0)) ns"
            }
            return "  \(name)   " + points.joined(separator: "   ")
        }

        var json: JSON {
            [
                "scenario": "growth", "name": .string(name), "first": .int(first),
                "nanoseconds": .array(nanoseconds.map { .double(Figure.rounded($0)) }),
            ]
        }
    }

    func run(_ tell: (Curve) -> Void) throws -> [Curve] {
        var curves: [Curve] = []
        for axis in Axis.allCases {
            let costs = try Self.factors.map { try cost(axis, axis.first * $0) }
            let curve = Curve(name: axis.name, first: axis.first, nanoseconds: costs)
            tell(curve)
            curves.append(curve)
        }
        return curves
    }

    private func cost(_ axis: Axis, _ size: Int) throws -> Double {
        let bench = EngineBench(duration: duration)
        let before = axis == .commitsBefore ? size : 0
        return try bench.engine(axis.name, commitsBefore: before) { setting in
            setting.isInstance = true
            setting.subscribers = 1
            switch axis {
            case .stores: setting.stores = size
            case .idleSubscribers: setting.idleSubscribers = size
            case .stateMembers: setting.members = size
            case .commitsBefore: break
            }
        }.nanoseconds
    }
}
