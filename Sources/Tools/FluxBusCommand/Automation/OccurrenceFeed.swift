import BusJSON
import BusProtocol
import FluxBus

/// Watches for what commands run for, and tells it in the order of the bus, also over lost connections.
///
/// An action is told once each time that it happened. A condition is told when it becomes true on a store after it was false
/// there. Where the bus merges changes, because nobody could read them one by one, only what differs at the end is seen.
final class OccurrenceFeed {
    enum Trigger {
        case action(String)
        /// That an expression becomes true, and has been so for this long.
        case condition(JSON, hold: Duration?)
    }

    private let session: CommandSession
    private let selector: StoreSelector
    private let trigger: Trigger
    private var watched: WatchedStores
    private var edges = ConditionEdges(holding: nil)
    private var holds: ConditionHolds?
    /// What was missed is of another history than the bus's.
    private var isOfOtherHistory = false

    init(_ session: CommandSession, _ selector: StoreSelector, _ trigger: Trigger) {
        (self.session, self.selector, self.trigger) = (session, selector, trigger)
        var request = BusRequest("subscribe", [selector.member.name: selector.member.value])
        switch trigger {
        case .action: request.set("actions", true)
        case .condition(let condition, let hold):
            holds = hold.map(ConditionHolds.init)
            request.set("where", condition)
            request.set("format", "state")
            request.set("cause", true)
        }
        watched = WatchedStores(request, format: .state)
    }

    /// Subscribes; `since` is where it begins, nil now.
    func begin(on connection: BusConnection, since: StartArgument?, epoch: String?) throws {
        var revision: Int?
        var epoch = epoch
        if let since {
            revision = try since.revision(on: connection, in: session)
            epoch =
                try epoch
                ?? connection.hello(client: "fluxbus", until: session.replyDeadline)["epoch"]?.string
            if case .condition(let condition, _) = trigger {
                edges = ConditionEdges(holding: try stores(condition, at: revision, on: connection))
                // On all that there are, it has become true since nothing was there.
                if since == .start { revision = nil }
            }
        }
        let request = watched.begin(
            since: revision, epoch: revision == nil ? nil : epoch, withoutFirstState: false)
        let reply = try open(request, on: connection)
        if let revision, let now = reply["revision"]?.int, let epoch, let ours = reply["epoch"]?.string {
            isOfOtherHistory = epoch != ours
            if !isOfOtherHistory, revision > now {
                throw CommandFailure(
                    .refused,
                    "Revision \(revision) has not happened: the bus is at revision \(now). Begin after one that has."
                )
            }
        }
        watched.opened(reply, withoutFirstState: false)
    }

    private func open(_ request: BusRequest, on connection: BusConnection) throws -> JSONObject {
        switch trigger {
        case .action(let action):
            // Before the subscription: all that comes while a request waits for its reply is kept in memory.
            try requireAction(action, on: connection)
            return try connection.request(request, until: session.replyDeadline)
        case .condition:
            do throws(BusError) {
                return try connection.request(request, until: session.replyDeadline)
            } catch {
                // What the protocol calls `where` is --becomes on this command line.
                throw BusError(
                    error.code, error.message.replacing("`where`", with: "--becomes"), details: error.details)
            }
        }
    }

    /// An action that its type lacks never happens.
    private func requireAction(_ action: String, on connection: BusConnection) throws {
        let type = String(selector.pattern.prefix { $0 != "/" })
        let request = BusRequest("types", ["type": .string(type)])
        guard !type.contains(where: { "*?".contains($0) }),
            let reply = try? connection.request(request, until: session.replyDeadline),
            let actions = reply["types"]?[0]?["actions"]?.object, actions[action] == nil
        else { return }
        let near = nearestWord(to: action, among: actions.keys)
        throw BusError(
            .unknownAction,
            "\(type) has no action `\(action)`; \(near.map { "did you mean `\($0)`?" } ?? "`fluxbus types \(type)` lists them.")"
        )
    }

    /// Where a condition held.
    private func stores(_ condition: JSON, at revision: Int?, on connection: BusConnection) throws -> Set<
        String
    > {
        guard let revision, revision > 0 else { return [] }
        let reader = StateReader(
            session, connection, .match(selector.pattern), where: condition, revision: revision)
        var found: Set<String> = []
        while let (address, _) = try reader.next() { found.insert(address) }
        return found
    }

    /// Subscribes on another connection, behind what was seen.
    func resume(on connection: BusConnection, until deadline: Deadline) throws {
        // An attempt that fails in the middle changes nothing of what the next one requests.
        var next = watched
        let reply = try connection.request(next.resume(), until: deadline)
        let missed = (reply["revision"]?.int ?? 0) - (watched.revision ?? 0)
        let isSame = reply["epoch"]?.string == next.epoch
        next.resumed(reply)
        watched = next
        holds?.forgetQuestions()
        try Reconnection.tell(missed: isSame ? max(0, missed) : nil, on: session.console)
    }

    // MARK: What comes

    /// When `ask` has something to do.
    var nextDue: Deadline { holds?.nextDue ?? .never }

    /// Asks whether conditions still hold that have held for as long as they should.
    func ask(on connection: BusConnection) {
        guard case .condition(let condition, _) = trigger else { return }
        holds?.askAboutDue { store in
            connection.queue(BusRequest("get", ["match": .string(store), "where": condition]))
        }
    }

    /// Takes a line of the bus: what has happened. Nil when the bus says that the connection ends.
    func take(_ line: [UInt8]) throws -> [Occurrence]? {
        switch try BusMessage(parsing: line) {
        case .reply(let reply):
            if reply["ok"]?.bool == false {
                session.console.report(CommandFailure(BusError(reply: reply["error"])))
            }
            return holds?.answered(reply).map { [$0] } ?? []
        case .event("goodbye", _): return nil
        case .event(let name, let event):
            guard watched.isNew(name, event), let revision = event["revision"]?.int else { return [] }
            switch name {
            case "action": return occurrence(event, revision).map { [$0] } ?? []
            case "change": return changed(event, revision)
            case "gap":
                session.console.report(
                    CommandFailure(
                        .temporary,
                        isOfOtherHistory
                            ? "The bus has begun another history since, so nothing was run for what was missed."
                            : "Actions up to revision \(revision) are no longer kept, so nothing was run for those that were missed."
                    ))
                return []
            default: return []
            }
        }
    }

    private func occurrence(_ event: JSONObject, _ revision: Int) -> Occurrence? {
        guard case .action(let action) = trigger, event["action"]?.string == action else { return nil }
        var target = event["store"]?.string ?? event["type"]?.string ?? "*"
        // Of those that an action went to, this is the one that is meant.
        if case .store(let store) = selector { target = store }
        return Occurrence(
            target: target, revision: revision, action: action, cause: event, users: session.users
        ).reading(event["payload"] ?? [:])
    }

    private func changed(_ event: JSONObject, _ revision: Int) -> [Occurrence] {
        let (began, ended) = edges.fold(event)
        for store in ended { holds?.end(store) }
        let cause = event["cause"]?.object ?? [:]
        let actions = cause["actions"]?.array ?? []
        return began.compactMap { store, state in
            let occurrence = Occurrence(
                target: store, revision: revision,
                action: actions.count == 1 ? actions[0]["action"]?.string : nil, cause: cause,
                users: session.users)
            guard holds != nil else { return occurrence.reading(state) }
            holds?.begin(occurrence)
            return nil
        }
    }

    // MARK: Where it is

    /// Where to begin so that nothing is missed that is not finished: `unfinished` is the first revision of which something is not.
    func standing(unfinished: Int?) -> (since: Int, epoch: String)? {
        guard let seen = watched.revision, let epoch = watched.epoch else { return nil }
        let first = [unfinished, holds?.unfinished].compactMap { $0 }.min()
        return (first.map { $0 - 1 } ?? seen, epoch)
    }
}

/// Where to begin, as people write it: `start`, or a point in history.
package enum StartArgument: Equatable, Sendable {
    case start
    case point(RevisionArgument)
    package static let now = StartArgument.point(.beforeNow(0))

    package static func parse(_ text: String) throws -> StartArgument {
        text == "start" ? .start : .point(try RevisionArgument.parse(text))
    }

    func revision(on connection: BusConnection, in session: CommandSession) throws -> Int {
        guard case .point(let point) = self else { return 0 }
        return try point.resolved(on: connection, in: session)
    }
}
