import BusJSON
import FluxWork

/// What a dispatch to a store of `Flux` costs, inside this process: nanoseconds of CPU.
struct FluxBench {
    /// How long each setting is measured, in seconds.
    let duration: Double
    /// How many observers the largest setting has.
    let observers: Int

    struct Figures {
        let watching: FluxLoad.Watching
        let observers: Int
        let way: FluxLoad.Way
        let nanoseconds: Double
        /// Whether every observer has seen every change.
        let isComplete: Bool

        var name: String {
            let action = way == .all ? "dispatch to all stores of the type" : "dispatch"
            if observers == 0 { return "\(action), nobody observes" }
            let who =
                switch watching {
                case .subscribers: "subscriber"
                case .members: "subscriber to a member"
                case .observers: "closure"
                }
            return "\(action), \(Figure.rate(Double(observers))) \(observers == 1 ? who : who.plural)"
        }

        var text: String {
            let shortfall = isComplete ? "" : "   WRONG: an observer has missed a change"
            return "  \(Figure.decimal(nanoseconds, 1)) ns: \(name)\(shortfall)"
        }

        var json: JSON {
            [
                "scenario": "flux", "name": .string(name), "observers": .int(observers),
                "watching": .string(watching.rawValue), "all": .bool(way == .all), "ok": .bool(isComplete),
                "nanoseconds": .double(Figure.rounded(nanoseconds)),
            ]
        }
    }

    func run(_ tell: (Figures) -> Void) {
        tell(figures(.subscribers, 0))
        tell(figures(.subscribers, 0, .all))
        for count in [1, observers] {
            for watching in FluxLoad.Watching.allCases { tell(figures(watching, count)) }
        }
    }

    private func figures(
        _ watching: FluxLoad.Watching, _ count: Int, _ way: FluxLoad.Way = .store
    ) -> Figures {
        let load = FluxLoad(watching, observers: count)
        let turn = 100
        let nanoseconds = ShortestTime(duration: duration).measure { load.dispatch(turn, way) }
        return Figures(
            watching: watching, observers: count, way: way, nanoseconds: nanoseconds / Double(turn),
            isComplete: load.isComplete)
    }
}

extension String {
    /// Of "subscriber to a member", "subscribers to a member".
    fileprivate var plural: String {
        let words = split(separator: " ")
        return ([words[0] + "s"] + words.dropFirst()).joined(separator: " ")
    }
}
