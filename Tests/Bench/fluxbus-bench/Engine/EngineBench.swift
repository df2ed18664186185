import BusJSON
import BusWork

/// The cost of the daemon's parts without sockets, in this process: nanoseconds of CPU for one thing each.
struct EngineBench {
    /// How long each part is measured, in seconds.
    let duration: Double

    struct Figures {
        let name: String
        let nanoseconds: Double
        let unit: String

        var text: String { "  \(Figure.decimal(nanoseconds, 1)) ns per \(unit): \(name)" }

        var json: JSON {
            [
                "scenario": "engine", "name": .string(name), "unit": .string(unit),
                "nanoseconds": .double(nanoseconds),
            ]
        }
    }

    private static let requestsPerTurn = 64

    func run(_ tell: (Figures) -> Void) throws {
        for figures in try json() { tell(figures) }
        tell(try engine("a ping", "request") { $0.request = .ping })
        tell(try engine("one store, nobody watches"))
        tell(try engine("one store, 1 subscriber") { $0.subscribers = 1 })
        tell(
            try engine("one store by its name, 1 subscriber") {
                $0.isInstance = true
                $0.subscribers = 1
            })
        tell(
            try engine("one of 100 000 stores, 1 subscriber") {
                $0.stores = 100_000
                $0.isInstance = true
                $0.subscribers = 1
            })
        for (views, isMeant, conditions) in [
            (0, false, 0), (10, false, 0), (1, true, 0), (0, false, 100), (10, false, 100),
        ] {
            let name = isMeant ? "a view reads what changes" : "\(views) views read other members"
            tell(
                try engine(
                    "one of 1000 stores, 1 subscriber, \(name), \(conditions) conditions of 10 others"
                ) {
                    $0.stores = 1000
                    $0.isInstance = true
                    $0.subscribers = 1
                    $0.members = 4
                    ($0.views, $0.areViewsMeant, $0.conditions) = (views, isMeant, conditions)
                })
        }
        tell(
            try engine("one store, 1 subscriber, with keys", rounds: 1563) {
                $0.request = .keyedIncrement
                $0.subscribers = 1
            })
        for kind in RequestKind.allCases {
            // No key comes again before it is forgotten.
            let rounds = kind == .keyed || kind == .mixed ? 1563 : 157
            tell(
                try engine("kind: \(kind.rawValue), of 1000 stores, 1 subscriber", "request", rounds: rounds)
                {
                    $0.request = .kind(kind)
                    $0.stores = 1000
                    $0.subscribers = 1
                })
        }
        for format in ["merge", "patch", "state"] {
            tell(
                try engine("one member of 32, 1 subscriber, format \(format)") {
                    $0.members = 31
                    $0.subscribers = 1
                    $0.format = format
                })
        }
        tell(try engine("one store, 100 subscribers", per: 100, "delivery") { $0.subscribers = 100 })
        for stores in [1000, 100_000] {
            tell(
                try engine(
                    "one action over \(Figure.rate(Double(stores))) stores, 1 subscriber", per: stores,
                    "store",
                    turns: 1
                ) {
                    $0.stores = stores
                    $0.subscribers = 1
                })
        }
    }

    /// What questions by value cost beside a million stores.
    func runByValue(_ tell: (Figures) -> Void) throws {
        for (views, isMeant, conditions) in [(0, false, 0), (10, false, 0), (10, false, 100), (1, true, 100)]
        {
            let name = isMeant ? "a view reads what changes" : "\(views) views read other members"
            tell(
                try engine(
                    "one of a million stores, 1 subscriber, \(name), \(conditions) conditions with 10 subscribers each"
                ) {
                    ($0.stores, $0.isInstance, $0.subscribers, $0.members) = (1_000_000, true, 1, 4)
                    ($0.views, $0.areViewsMeant) = (views, isMeant)
                    ($0.isIndexed, $0.conditions) = (true, conditions)
                })
        }
        for isIndexed in [true, false] {
            // Without an index, all of them are looked at.
            let (stores, name) = isIndexed ? (1_000_000, "by an index") : (10_000, "without an index")
            tell(
                try engine("get, 10 of \(stores) stores \(name)", "request") {
                    ($0.stores, $0.isIndexed, $0.request) = (stores, isIndexed, .find)
                })
        }
    }

    private func json() throws -> [Figures] {
        var object: JSONObject = [:]
        for member in 0..<32 {
            object["member\(member)"] = ["text": .string("value \(member)"), "number": .int(member * 1001)]
        }
        let bytes = Array(object.encoded.utf8)
        let writer = ByteWriter(capacity: bytes.count + 1)
        let reading = try measure { _ = try JSON(parsing: bytes) }
        let writing = measure {
            writer.clear()
            writer.append(jsonObject: object)
        }
        return [
            Figures(
                name: "reading, an object of \(bytes.count) bytes",
                nanoseconds: reading / Double(bytes.count), unit: "byte"),
            Figures(name: "writing, the same", nanoseconds: writing / Double(bytes.count), unit: "byte"),
        ]
    }

    /// The cost of dispatches in turns of 64, or of `turns`, divided by `parts`. The different requests of
    /// `rounds` rounds follow one another.
    func engine(
        _ name: String, per parts: Int = 1, _ unit: String = "dispatch", turns: Int = requestsPerTurn,
        rounds: Int = 1, commitsBefore: Int = 0, _ furnish: (inout MemoryLoad.Setting) -> Void = { _ in }
    ) throws -> Figures {
        var setting = MemoryLoad.Setting()
        furnish(&setting)
        let load = try MemoryLoad(setting)
        let requests = (0..<rounds).map { load.requests(turns, round: $0) }
        for _ in 0..<max(10, commitsBefore / turns) { load.turn(requests[0]) }
        var round = 0
        let nanoseconds = measure {
            load.turn(requests[round])
            round = round + 1 == rounds ? 0 : round + 1
        }
        return Figures(name: name, nanoseconds: nanoseconds / Double(turns * parts), unit: unit)
    }

    private func measure<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) -> Double {
        try ShortestTime(duration: duration).measure(body)
    }
}

/// How long a piece of work takes at best: of several series, since any disturbance makes one longer.
struct ShortestTime {
    /// In seconds: each of the five series takes a tenth of it at least.
    let duration: Double

    /// The CPU time of one call in nanoseconds.
    func measure<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) -> Double {
        var calls = 1
        var best = Double.infinity
        var series = 0
        while series < 5 {
            let start = ProcessUsage.ownSeconds()
            for _ in 0..<calls { try body() }
            let seconds = ProcessUsage.ownSeconds() - start
            if seconds < duration / 10, calls < 1 << 30 {
                calls *= 2
                continue
            }
            best = min(best, seconds * 1e9 / Double(calls))
            series += 1
        }
        return best
    }
}
