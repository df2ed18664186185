import BusJSON
import FluxBus

/// One subscription of a watch: what was seen of it, and where it continues after a lost connection.
struct WatchedStores {
    /// The `subscribe` that begins it, without its position.
    private let request: BusRequest
    private var isForActions: Bool { request["actions"] == true }
    private let format: BusMirror.Format
    /// The history that `revision` belongs to; nil from a bus that does not report it.
    private(set) var epoch: String?
    /// Everything up to here has been seen, except for actions of this revision beyond `actions`.
    private(set) var revision: Int?
    /// How many actions of `revision` have been seen.
    private var actions = 0
    /// How many actions of `revision` are sent a second time.
    private var repeated = 0
    /// Some parts of an event have been passed on, but not the last.
    private var isMidway = false
    /// The known states, for people.
    var mirror: BusMirror

    init(_ request: BusRequest, format: BusMirror.Format) {
        self.request = request
        self.format = format
        mirror = BusMirror(format: format)
    }

    /// The first time: after `since` of an epoch, else with the states, or without any.
    mutating func begin(since: Int?, epoch: String?, withoutFirstState: Bool) -> BusRequest {
        var request = request
        if withoutFirstState { request.set("initial", false) }
        if let since, let epoch {
            (revision, self.epoch) = (since, epoch)
            mirror = BusMirror(format: format, startingAt: since)
            request.set("since", .int(since))
            request.set("epoch", .string(epoch))
        }
        return request
    }

    /// Handles the reply to `begin`.
    mutating func opened(_ reply: JSONObject, withoutFirstState: Bool) {
        epoch = reply["epoch"]?.string ?? epoch
        // Without a first state, and actions have none, what comes is what follows the reply.
        guard revision == nil, withoutFirstState || isForActions else { return }
        revision = reply["revision"]?.int ?? 0
        mirror = BusMirror(format: format, startingAt: revision)
    }

    /// Whether it can continue where it was.
    var canResume: Bool { epoch != nil }

    /// Continues after what was seen. In the middle of an event it begins with the states: a reader that received some
    /// parts of it discards them then.
    mutating func resume() -> BusRequest {
        var request = request
        repeated = 0
        guard let revision, let epoch, !isMidway else {
            self.revision = nil
            isMidway = false
            mirror = BusMirror(format: format)
            return request
        }
        // A commit may have several actions; those already seen are skipped.
        repeated = actions
        request.set("since", .int(actions > 0 ? revision - 1 : revision))
        request.set("epoch", .string(epoch))
        return request
    }

    /// Handles the reply to `resume`.
    mutating func resumed(_ reply: JSONObject) {
        let now = reply["epoch"]?.string
        guard now != epoch else { return }
        // Revisions of another history are not valid here; a first state follows, or for actions nothing.
        (epoch, repeated, actions) = (now, 0, 0)
        revision = isForActions ? reply["revision"]?.int : nil
    }

    /// Records an event; false for one that was seen before the connection was lost.
    mutating func isNew(_ name: String, _ event: JSONObject) -> Bool {
        guard let revision = event["revision"]?.int else { return true }
        switch name {
        case "change":
            isMidway = event["more"]?.bool == true
            if !isMidway { self.revision = revision }
        case "bookmark", "gap": (self.revision, actions, repeated) = (revision, 0, 0)
        case "action":
            if revision == self.revision, repeated > 0 {
                repeated -= 1
                return false
            }
            actions = revision == self.revision ? actions + 1 : 1
            (self.revision, repeated) = (revision, 0)
        default: break
        }
        return true
    }
}

/// Puts the events of several subscriptions into the order of their commits, and actions before the changes that they
/// caused.
///
/// The bus sends all events of a commit before it answers a request that came later. So events are held until a ping,
/// sent once some are there, is answered: then every event of their commits has come. Only a subscription that lags behind
/// is told later; its events then come as late as they were sent.
struct EventSorter {
    private struct Held {
        let revision: Int
        /// 0 for actions, 1 for changes.
        let rank: Int
        let line: [UInt8]
    }

    private var held: [Held] = []
    /// The `id` of a ping under way.
    private var ping: Int?

    /// Takes a line; returns those that can be shown now.
    mutating func add(_ line: [UInt8]) throws(BusError) -> [[UInt8]] {
        switch try BusMessage(parsing: line) {
        case .reply(let reply):
            guard let ping, reply["id"] == .int(ping) else { return [] }
            self.ping = nil
            return takeAll()
        case .event("goodbye", _): return takeAll() + [line]
        case .event(let name, let event):
            let rank = ["action", "gap"].contains(name) ? 0 : 1
            held.append(Held(revision: event["revision"]?.int ?? .max, rank: rank, line: line))
            return []
        }
    }

    /// Asks for the end of what belongs to the held events, unless that has been asked.
    mutating func begin(on connection: BusConnection) {
        if ping == nil, !held.isEmpty { ping = connection.queue(BusRequest("ping")) }
    }

    /// Everything held, in order; a ping under way is forgotten, as it is by another connection.
    mutating func takeAll() -> [[UInt8]] {
        defer { (held, ping) = ([], nil) }
        // Those of one revision and kind stay as they came.
        let order = held.indices.sorted {
            (held[$0].revision, held[$0].rank, $0) < (held[$1].revision, held[$1].rank, $1)
        }
        return order.map { held[$0].line }
    }
}
