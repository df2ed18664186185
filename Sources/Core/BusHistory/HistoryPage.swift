import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// The commits that a client wants to see.
struct HistoryFilter {
    let wish: HistoryWish
    /// Who looks; nil: one who may see everything.
    let view: Grants?
    let kept: KeptPast

    /// What of a commit is shown; nil: nothing.
    func shown(_ whole: JSONObject, _ line: UnsafeRawBufferPointer, at revision: Int) -> JSONObject? {
        guard let entry = kept.part(of: whole, line, at: revision) else { return nil }
        guard let view else { return wants(entry) ? entry : nil }
        guard let seen = view.shown(entry) else { return nil }
        return wants(seen) ? seen : nil
    }

    /// The query for all commits that are wanted; it may find others, too.
    var lookUp: IndexQuery {
        .all(
            (wish.subject.map { [CommitStep.lookUp($0)] } ?? [])
                + (wish.action.map { [.term(.action($0))] } ?? [])
                + (wish.by.map { [.any($0.map { .term(.by($0)) })] } ?? []))
    }

    /// Whether a commit has a wanted author, and one of its steps meets all other wishes.
    private func wants(_ entry: JSONObject) -> Bool {
        if let wanted = wish.by {
            let names = entry["by"]?.authorNames ?? []
            guard wanted.contains(where: { one in names.contains { UTF8Order.equal($0, one) } }) else {
                return false
            }
        }
        guard wish.subject != nil || wish.action != nil || wish.condition != nil else { return true }
        return CommitStep.all(in: entry).contains { step in
            (wish.action.map { $0 == step.name } ?? true) && (wish.subject.map(step.concerns) ?? true)
                && holds(of: step, in: entry)
        }
    }

    /// Whether the condition holds for the payload. It does not where it can't be evaluated, as when a member is missing.
    private func holds(of step: CommitStep, in entry: JSONObject) -> Bool {
        guard let condition = wish.condition else { return true }
        var budget = Budget.ofStore
        budget.reading = BusLimits.commitReading
        var address = ""
        if case .store(let store) = step.target { address = store }
        let meta: JSON = ["time": entry["time"] ?? .null, "revision": entry["revision"] ?? .null]
        return (try? condition.expression.holds(on: step.payload, of: address, meta, spending: &budget))
            ?? false
    }
}

/// One reply to `history`.
final class HistoryPage {
    private let since: Int
    private let until: Int
    private let isNewestFirst: Bool
    private let limit: Int
    private let room: Int
    private let writer = ByteWriter()
    private var count = 0
    /// The commit that was added last; at first where the page begins.
    private var last: Int
    private var isFull = false

    init(after since: Int, through until: Int, newestFirst: Bool, limit: Int, room: Int) {
        (self.since, self.until, isNewestFirst) = (since, until, newestFirst)
        last = newestFirst ? until + 1 : since
        self.limit = limit
        self.room = room
    }

    /// Adds what is wanted of an entry; false if there is no room for more, or no more is wanted.
    func add(_ line: UnsafeRawBufferPointer, _ filter: HistoryFilter) throws(PastFailure) -> Bool {
        guard let entry = (try? JSON(parsing: line, depthLimit: 1000))?.object else {
            throw PastFailure(.damaged, "The log's entry next to revision \(last) is not a JSON object.")
        }
        if entry["revision"] == nil { return true }
        guard let (first, through) = LogLines.revisions(of: entry) else {
            throw PastFailure(
                .damaged, "The log's entry next to revision \(last) has no fitting revision.")
        }
        if isNewestFirst ? through <= since : first > until { return false }
        let (start, end) = (max(first, since + 1), min(through, until))
        if isNewestFirst ? start >= last : end <= last { return true }
        // One that is not shown does not count in `next` either, which would tell that it was there.
        guard let shown = filter.shown(entry, line, at: through) else { return true }
        let text = Self.text(of: shown)
        if isNewestFirst {
            while last > start, !isFull { try add(min(end, last - 1), text) }
        } else {
            while last < end, !isFull { try add(max(start, last + 1), text) }
        }
        return !isFull
    }

    private func add(_ revision: Int, _ text: [UInt8]) throws(PastFailure) {
        guard count < limit, writer.count + text.count + 32 <= room else {
            guard count > 0 else {
                throw PastFailure(
                    .tooLarge,
                    "Commit \(revision) is too long for a line; continue "
                        + (isNewestFirst
                            ? "before it, with `until` \(revision - 1)."
                            : "after it, with `since` \(revision)."))
            }
            isFull = true
            return
        }
        writer.append(count == 0 ? "{\"revision\":" : ",{\"revision\":")
        writer.append(decimal: revision)
        text.withUnsafeBytes { writer.append($0) }
        count += 1
        last = revision
    }

    private static func text(of entry: JSONObject) -> [UInt8] {
        let writer = ByteWriter()
        for member in told(entry).members {
            writer.append(UInt8(ascii: ","))
            writer.append(quoted: member.key)
            writer.append(UInt8(ascii: ":"))
            writer.append(json: member.value)
        }
        writer.append(UInt8(ascii: "}"))
        return Array(writer.bytes)
    }

    /// A commit without its revision and the members that only the log needs.
    static func told(_ entry: JSONObject) -> JSONObject {
        var told: JSONObject = [:]
        for member in entry.members {
            switch member.key {
            case "revision", "times", "digest", "ended": continue
            case "connection": told["ephemeral"] = true
            case "linger":
                told["linger"] = member.value.int.map { DurationText.seconds($0) } ?? member.value
            default: told[member.key] = member.value
            }
        }
        return told
    }

    /// - Parameter found: The revision with which it begins, where that was found for a time.
    func members(oldest: Int, found: Int?) -> [UInt8] {
        let reply = ByteWriter()
        reply.append(",\"commits\":[")
        reply.append(writer.bytes)
        reply.append("],\"oldest\":", decimal: oldest)
        if let found {
            reply.append(isNewestFirst ? ",\"until\":" : ",\"since\":", decimal: found)
        }
        if isFull {
            reply.append(",\"next\":", decimal: isNewestFirst ? last - 1 : last)
        }
        return Array(reply.bytes)
    }
}
