import BusJSON
import BusMachine
import FluxBus

/// Reads the action log of a bus over one connection, page by page.
final class HistoryReader {
    private let session: CommandSession
    private let connection: BusConnection
    /// The members of `history` that say which commits are meant.
    private let filter: [(name: String, value: JSON?)]
    /// Commits requested at a time; fewer once a reply with this many was too long for a line.
    private var pageSize = 1000

    /// Reads all commits, or those that concern a type or store, and that a filter selects.
    init(
        _ session: CommandSession, _ connection: BusConnection, target: String? = nil,
        filter: CommitFilter? = nil
    ) {
        self.session = session
        self.connection = connection
        self.filter =
            (target.map { [($0.contains("/") ? "store" : "type", .string($0))] } ?? [])
            + (filter?.members ?? [])
    }

    /// The newest revision.
    func newest() throws -> Int {
        let reply = try session.ask(BusRequest("sync"), on: connection)
        guard let revision = reply["revision"]?.int else { throw Self.strange("sync") }
        return revision
    }

    /// The revision after which every commit is still there, and at which states can still be read.
    func oldest() throws -> Int {
        let request = BusRequest("history", ["since": 0, "limit": 1])
        do {
            _ = try session.ask(request, on: connection)
            return 0
        } catch let error as BusError {
            guard let oldest = Self.oldest(in: error) else { throw error }
            return oldest
        }
    }

    /// Passes each commit after `since`, through `until` or the newest, to `body`, until that returns false: the oldest first, or the
    /// newest.
    func forEach(
        after since: Int?, through until: Int? = nil, newestFirst: Bool = false, _ body: (JSON) throws -> Bool
    ) throws {
        var (since, until) = (since, until)
        while true {
            let reply: JSONObject
            do {
                let request = request(after: since, through: until, newestFirst: newestFirst)
                reply = try session.ask(request, on: connection)
            } catch let error as BusError where error.code == .tooLarge && pageSize > 1 {
                pageSize /= 2
                continue
            }
            for commit in reply["commits"]?.array ?? [] {
                guard try body(commit) else { return }
            }
            guard let next = reply["next"]?.int else { return }
            // A page that does not advance would be read for ever.
            guard newestFirst ? next < until ?? .max : next > since ?? -1 else {
                throw Self.strange("history")
            }
            if newestFirst { until = next } else { since = next }
        }
    }

    /// The same from as far back as there is anything: returns the revision after which that begins, if it is after `since`.
    func forEachKept(
        after since: Int, through until: Int, newestFirst: Bool = false, _ body: (JSON) throws -> Bool
    ) throws -> Int? {
        var until = until
        do {
            try forEach(after: since, through: until, newestFirst: newestFirst) { commit in
                // More may go while it is read.
                if newestFirst, let revision = commit["revision"]?.int { until = revision - 1 }
                return try body(commit)
            }
        } catch let error as BusError {
            guard let oldest = Self.oldest(in: error), oldest > since else { throw error }
            if oldest < until {
                try forEach(after: newestFirst ? nil : oldest, through: until, newestFirst: newestFirst, body)
            }
            return oldest
        }
        return nil
    }

    private func request(after since: Int?, through until: Int?, newestFirst: Bool) -> BusRequest {
        var request = BusRequest(
            "history",
            [
                "since": since.map(JSON.int), "until": until.map(JSON.int), "limit": .int(pageSize),
                "order": newestFirst ? "newest" : nil,
            ])
        for (name, value) in filter { request.set(name, value) }
        return request
    }

    /// Passes the newest `count` commits that `isWanted` selects to `body`, from those after `since` through `until`, the
    /// newest first. Returns the revision at which the log begins, if that is after `since`.
    @discardableResult
    func newest(
        _ count: Int, after since: Int, through until: Int, where isWanted: (JSON) -> Bool,
        _ body: (JSON) throws -> Void
    ) throws -> Int? {
        var left = count
        pageSize = min(pageSize, max(1, count))
        func take(_ commit: JSON) throws -> Bool {
            guard isWanted(commit) else { return true }
            left -= 1
            try body(commit)
            return left > 0
        }
        return count == 0
            ? nil : try forEachKept(after: since, through: until, newestFirst: true, take)
    }

    /// Where history begins, that of the bus or of a type, when an error says that it does not reach back as far as requested.
    static func oldest(in error: BusError) -> Int? {
        [.conflict, .gone].contains(error.code) ? error.details["oldest"]?.int : nil
    }

    private static func strange(_ op: String) -> CommandFailure {
        CommandFailure(
            .internal, "The bus sent no usable answer to \(op): use a fluxbus of the daemon's version.")
    }
}

/// The commits that somebody wants to see. The bus selects them.
package struct CommitFilter {
    /// The principal: a value in the commit's `by`, a unit also without its suffix, or `daemon`.
    private let by: String?
    /// The number of the user with that name on this machine: the bus may not have known the name.
    private let number: Int?
    /// An action's name, or `create`, `drop`, `revert`, `reload`.
    private let action: String?
    /// What has to hold for the payload.
    private let condition: JSON?

    package init(
        by: String? = nil, action: String? = nil, where condition: JSON? = nil, users: UserNames = .none
    ) {
        self.by = by
        self.action = action
        self.condition = condition
        number = by.flatMap(users.number)
    }

    /// The members of `history` that say so.
    var members: [(name: String, value: JSON?)] {
        var names = by.map { [JSON.string($0)] }
        if let number { names?.append(.string("\(number)")) }
        return [("by", names.map(JSON.array)), ("action", action.map(JSON.string)), ("where", condition)]
            .filter { $0.1 != nil }
    }

    /// Whether a commit that the bus selected is meant: the number of a user may be that of a process, or another machine's.
    package func takes(_ commit: JSON) -> Bool {
        guard let by, let number, let author = commit["by"] else { return true }
        return author["uid"]?.int == number && author["member"] == nil || author.authorNames.contains(by)
    }
}
