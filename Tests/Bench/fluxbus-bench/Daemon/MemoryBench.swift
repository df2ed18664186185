import FluxBus

/// How much memory a daemon takes for each of very many idle subscribers, and of very many stores: the growth of its
/// resident pages, divided by their number. What the kernel keeps for sockets is not in it.
struct MemoryBench {
    let program: String
    let directory: String
    let subscribers: Int
    let stores: Int
    /// How long the subscribers are idle before the second measurement.
    let idle: Duration

    private static let patience = Duration.seconds(60)

    func run(_ tell: (Measurement) -> Void) throws {
        try measureSubscribers(tell)
        try measureStores(tell)
    }

    private func measureSubscribers(_ tell: (Measurement) -> Void) throws {
        let place = try DaemonPlace(in: directory)
        let daemon = try OwnDaemon(program: program, in: place)
        defer { daemon.stop() }
        let control = try daemon.connect()
        try control.exchange(1, patience: Self.patience) { _ in
            BusRequest("create", ["store": "counter/main"])
        }
        let before = try resident(daemon)
        let name = "idle subscriber, of \(Figure.rate(Double(subscribers)))"
        // Held in a list, because releasing one would end it.
        var held: [BusConnection] = []
        held.reserveCapacity(subscribers)
        for _ in 0..<subscribers {
            let connection = try daemon.connect()
            let deadline = Deadline(after: Self.patience)
            try connection.request(BusRequest("subscribe", ["type": "counter"]), until: deadline)
            _ = try connection.receiveLine(until: deadline)
            held.append(connection)
        }
        tell(measurement(name + ", at once", try resident(daemon) - before, subscribers))
        let deadline = Deadline(after: idle)
        while !deadline.hasPassed { _ = try control.wait(until: deadline) }
        tell(measurement(name + ", when idle", try resident(daemon) - before, subscribers))
        // All must be there still, or the figure means nothing.
        for connection in held {
            try connection.request(BusRequest("ping"), until: Deadline(after: Self.patience))
        }
    }

    private func measureStores(_ tell: (Measurement) -> Void) throws {
        let place = try DaemonPlace(in: directory)
        let daemon = try OwnDaemon(program: program, in: place)
        defer { daemon.stop() }
        let control = try daemon.connect()
        try control.request(BusRequest("ping"), until: Deadline(after: Self.patience))
        let before = try resident(daemon)
        let name = "store, of \(Figure.rate(Double(stores)))"
        try control.exchange(stores, patience: Self.patience) { number in
            BusRequest("create", ["store": .string("counter/s\(number)")])
        }
        tell(measurement(name + ", as created", try resident(daemon) - before, stores))
        try control.exchange(stores, patience: Self.patience) { number in
            BusRequest("dispatch", ["store": .string("counter/s\(number)"), "action": "increment"])
        }
        tell(measurement(name + ", each changed once", try resident(daemon) - before, stores))
    }

    private func measurement(_ name: String, _ growth: Int, _ count: Int) -> Measurement {
        Measurement(scenario: "memory", name: name, value: Double(growth) / Double(count), unit: "bytes")
    }

    private func resident(_ daemon: OwnDaemon) throws(BusError) -> Int {
        guard let bytes = ProcessUsage.residentBytes(of: daemon.pid) else {
            throw BusError(.internal, "The daemon has ended; look into the journal for the reason.")
        }
        return bytes
    }
}
