import BusEngine
import BusJSON
import TestSupport
import Testing

extension MemoryBus {
    /// A bus with a log, and its stores on disk.
    static func logging(_ stores: String..., change: (inout Setup) -> Void = { _ in }) throws -> MemoryBus {
        var setup = Setup()
        setup.stores = stores
        setup.log = MemoryLog()
        change(&setup)
        return try MemoryBus(setup)
    }

    /// What the log makes of its commits is what the bus is: states, revisions, and who they go with.
    func isWhatTheLogSays() throws -> Bool {
        let past = try past(at: engine.revision)
        return past.stateDigest == engine.stateDigest && past.revision == engine.revision
    }
}

extension MemoryClient {
    /// The error codes of all that came; "ok" for a reply that was carried out, "event" for an event.
    func codes() throws -> [String] {
        try all().map { line in
            if line["event"] != nil { return "event" }
            return line["ok"] == true ? "ok" : line["error"]?["code"]?.string ?? "none"
        }
    }
}

/// Requests that tests send over and over.
enum Line {
    static let increment = #"{"op":"dispatch","store":"counter/a","action":"increment"}"#
    static let sync = #"{"op":"sync"}"#
    static let ping = #"{"op":"ping"}"#

    static func increment(id: Int, _ further: String = "") -> String {
        #"{"op":"dispatch","id":\#(id),"store":"counter/a","action":"increment"\#(further)}"#
    }
}
