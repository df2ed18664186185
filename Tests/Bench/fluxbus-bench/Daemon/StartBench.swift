import CSQLite
import FluxBus

/// How long a daemon takes to start on a long log: from its newest snapshot, and by replaying all of it.
struct StartBench {
    let program: String
    let directory: String
    let commits: Int
    let stores: Int

    private static let patience = Duration.seconds(300)

    /// The kind of commits. Equal neighbours are one line in the log, so the two differ much.
    private enum Past: CaseIterable {
        case equal, different

        var name: String {
            switch self {
            case .equal: "equal commits"
            case .different: "commits with different payloads"
            }
        }
    }

    func run(_ tell: (Measurement) -> Void) throws {
        for past in Past.allCases { try measure(past, tell) }
    }

    private func measure(_ past: Past, _ tell: (Measurement) -> Void) throws {
        let place = try DaemonPlace(in: directory)
        let name = "\(Figure.rate(Double(commits))) \(past.name)"
        let revision = try fill(place, past)
        tell(
            Measurement(
                scenario: "start", name: "the log of \(name)", value: Double(place.logBytes), unit: "bytes"))
        tell(try start(place, "start from a snapshot, \(name)", revision))
        try takeSnapshotsAway(place)
        tell(try start(place, "start by replaying \(name)", revision))
    }

    /// Makes the commits and ends the daemon; returns the last revision.
    private func fill(_ place: DaemonPlace, _ past: Past) throws -> Int {
        let daemon = try OwnDaemon(program: program, in: place, sync: .interval)
        defer { daemon.stop() }
        let control = try daemon.connect()
        try control.exchange(stores, patience: Self.patience) { number in
            BusRequest("create", ["store": .string("counter/s\(number)")])
        }
        let stores = stores
        try control.exchange(commits, patience: Self.patience) { number in
            let store = past == .equal ? 0 : number % stores
            return BusRequest(
                "dispatch",
                [
                    "store": .string("counter/s\(store)"), "action": "increment",
                    "payload": ["by": .int(past == .equal ? 1 : number)],
                ])
        }
        return try revision(control)
    }

    private func start(_ place: DaemonPlace, _ name: String, _ wanted: Int) throws -> Measurement {
        let daemon = try OwnDaemon(program: program, in: place, sync: .interval)
        defer { daemon.stop() }
        let found = try revision(daemon.connect())
        guard found >= wanted else {
            throw BusError(
                .unexpectedReply,
                "The daemon started with revision \(found), but its log ends with \(wanted): keep the log and report it."
            )
        }
        return Measurement(
            scenario: "start", name: name, value: Double(daemon.startNanoseconds) / 1e6, unit: "ms")
    }

    private func revision(_ connection: BusConnection) throws -> Int {
        try connection.request(BusRequest("sync"), until: Deadline(after: Self.patience))["revision"]?.int
            ?? 0
    }

    /// Leaves only the snapshot with which the log began, so that a start has to replay everything after it.
    private func takeSnapshotsAway(_ place: DaemonPlace) throws {
        var handle: OpaquePointer?
        defer { sqlite3_close_v2(handle) }
        let newer = "revision > (SELECT min(revision) FROM snapshots)"
        guard sqlite3_open_v2(place.log, &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK,
            sqlite3_exec(
                handle, "DELETE FROM snapshot_parts WHERE \(newer); DELETE FROM snapshots WHERE \(newer);",
                nil, nil, nil) == SQLITE_OK
        else {
            throw BusError(
                .internal,
                "The log can't be changed, \(String(cString: sqlite3_errmsg(handle))); run it again.")
        }
    }
}
