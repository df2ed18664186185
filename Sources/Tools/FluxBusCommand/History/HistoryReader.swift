import BusJSON
import FluxBus

/// Reads the action log of a bus over one connection, page by page, oldest first.
final class HistoryReader {
    private let session: CommandSession
    private let connection: BusConnection
    /// The member of `history` that filters commits; nil for all.
    private let filter: (name: String, value: JSON)?
    /// Commits requested at a time; fewer once a reply with this many was too long for a line.
    private var pageSize = 1000

    /// Reads all commits, or those that concern a type or store.
    init(_ session: CommandSession, _ connection: BusConnection, target: String? = nil) {
        self.session = session
        self.connection = connection
        filter = target.map { ($0.contains("/") ? "store" : "type", .string($0)) }
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

    /// Passes each commit after `since`, through `until` or the newest, to `body`, until that returns false.
    func forEach(after since: Int, through until: Int? = nil, _ body: (JSON) throws -> Bool) throws {
        var since = since
        while true {
            let reply: JSONObject
            do {
                reply = try session.ask(request(after: since, through: until), on: connection)
            } catch let error as BusError where error.code == .tooLarge && pageSize > 1 {
                pageSize /= 2
                continue
            }
            for commit in reply["commits"]?.array ?? [] {
                guard try body(commit) else { return }
            }
            guard let next = reply["next"]?.int else { return }
            // A page that does not advance would be read for ever.
            guard next > since else { throw Self.strange("history") }
            since = next
        }
    }

    private func request(after since: Int, through until: Int?) -> BusRequest {
        var request = BusRequest(
            "history", ["since": .int(since), "until": until.map(JSON.int), "limit": .int(pageSize)])
        if let filter { request.set(filter.name, filter.value) }
        return request
    }

    /// Returns the newest `count` commits through `last` that `isWanted` selects, oldest first. Reads
    /// backwards in windows that double, so that it costs little when they are many, and no more than the
    /// whole log when they are few.
    func newest(_ count: Int, through last: Int, where isWanted: (JSON) -> Bool) throws -> [JSON] {
        var found: [JSON] = []
        var windows = HistoryWindows(endingWith: last, width: max(count, 64))
        while found.count < count, let window = windows.next {
            var matches: [JSON] = []
            let room = count - found.count
            do {
                try forEach(after: window.lowerBound, through: window.upperBound) { commit in
                    if isWanted(commit) { matches.append(commit) }
                    if matches.count > 2 * room { matches.removeFirst(matches.count - room) }
                    return true
                }
            } catch let error as BusError {
                guard let oldest = Self.oldest(in: error), windows.raise(to: oldest) else { throw error }
                continue
            }
            found.insert(contentsOf: matches.suffix(room), at: 0)
            windows.turn()
        }
        return found
    }

    /// Where history begins, when an error says that it does not reach back as far as requested.
    static func oldest(in error: BusError) -> Int? {
        error.code == .conflict ? error.details["oldest"]?.int : nil
    }

    private static func strange(_ op: String) -> CommandFailure {
        CommandFailure(
            .internal, "The bus sent no usable answer to \(op): use a fluxbus of the daemon's version.")
    }
}

/// Windows over revisions, from the newest backwards, each twice as wide as the previous one; together they cover
/// every revision exactly once.
struct HistoryWindows {
    private var end: Int
    private var width: Int
    /// Nothing before it can be read.
    private(set) var floor = 0

    /// The first window has `width` revisions and ends with `last`.
    init(endingWith last: Int, width: Int) {
        end = last
        self.width = width
    }

    /// The window to read: the revisions after its lower bound, through its upper one. Nil when all have been read.
    var next: ClosedRange<Int>? {
        end > floor ? max(floor, end - width)...end : nil
    }

    /// The window has been read: the next one lies before it.
    mutating func turn() {
        end = max(floor, end - width)
        width *= 2
    }

    /// History begins only after `oldest`; false when that was known already, so that reading the same window
    /// again would end the same way.
    mutating func raise(to oldest: Int) -> Bool {
        guard let window = next, oldest > window.lowerBound else { return false }
        floor = oldest
        return true
    }
}

/// Selects commits, beside the filters of the bus itself.
package struct CommitFilter {
    /// The principal: a user's name, a uid, a pid, a token's name, `daemon`, or a part of a unit's name.
    package var by: String?
    /// An action's name, or `create`, `drop`, `revert`, `reload`.
    package var action: String?
    private let users: UserNames

    package init(by: String? = nil, action: String? = nil, users: UserNames = .none) {
        self.by = by
        self.action = action
        self.users = users
    }

    package func takes(_ commit: JSON) -> Bool {
        if let action, !CommitText.steps(of: commit).contains(where: { $0.name == action }) { return false }
        if let by { return isBy(by, commit["by"]) }
        return true
    }

    private func isBy(_ text: String, _ by: JSON?) -> Bool {
        guard let by else { return false }
        if by["daemon"]?.bool == true { return text == "daemon" }
        if let unit = by["unit"]?.string, unit.contains(text) { return true }
        if by["user"]?.string == text { return true }
        if let uid = by["uid"]?.int, by["member"] == nil, users.name(of: uid) == text { return true }
        // A number is compared whole: uid 100 is not uid 1000.
        return by["uid"]?.encoded == text || by["pid"]?.encoded == text || by["token"]?.string == text
    }
}
