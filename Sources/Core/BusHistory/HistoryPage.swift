import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// The commits that a client wants to see.
struct HistoryFilter {
    /// Nil: all.
    let subject: HistorySubject?
    /// Who looks; nil: one who may see everything.
    let view: Grants?

    /// What of a commit is shown; nil: nothing.
    func shown(_ entry: JSONObject) -> JSONObject? {
        guard let view else { return wants(entry) ? entry : nil }
        guard let seen = view.shown(entry) else { return nil }
        return wants(seen) ? seen : nil
    }

    /// Whether a commit concerns it: an action addressed to it, to its type, or to every type that has the action; stores
    /// created, dropped or replaced; or a definition of its type that came, changed or went.
    func wants(_ entry: JSONObject) -> Bool {
        subject.map { Self.isAbout(entry, $0) } ?? true
    }

    /// A commit concerns a view if it concerns one of its sources.
    private static func isAbout(_ entry: JSONObject, _ subject: HistorySubject) -> Bool {
        if subject.sources.contains(where: { isAbout(entry, $0) }) { return true }
        func concerns(_ action: JSON) -> Bool { Self.concerns(action, subject) }
        func matches(_ address: String) -> Bool { Self.matches(address, subject) }
        for definition in entry["definitions"]?.array ?? []
        where definition["type"]?.string == subject.type { return true }
        for name in entry["undefined"]?.array ?? [] where name.string == subject.type { return true }
        for action in entry["actions"]?.array ?? [] where concerns(action) { return true }
        for name in ["created", "states"] {
            for member in entry[name]?.object?.members.map({ $0 }) ?? [] where matches(member.key) {
                return true
            }
        }
        for name in ["scheduled", "cancelled", "fired"] {
            if let timer = entry[name], concerns(timer) { return true }
        }
        for address in entry["dropped"]?.array ?? [] where matches(address.string ?? "") { return true }
        return false
    }

    private static func concerns(_ action: JSON, _ subject: HistorySubject) -> Bool {
        if let store = action["store"]?.string { return matches(store, subject) }
        guard let named = action["type"]?.string else { return false }
        if named != "*" { return named == subject.type }
        guard let actions = subject.actions, let name = action["action"]?.string else { return true }
        return actions.contains(name)
    }

    private static func matches(_ address: String, _ subject: HistorySubject) -> Bool {
        if let store = subject.store { return address == store }
        return type(of: address) == subject.type
    }

    private static func type(of address: String) -> String {
        String(address.prefix { $0 != "/" })
    }
}

/// One reply to `history`.
final class HistoryPage {
    private let until: Int
    private let limit: Int
    private let room: Int
    private let writer = ByteWriter()
    private var count = 0
    /// Everything up to this revision has been looked at.
    private(set) var last: Int
    private(set) var isFull = false
    /// Where to go on in the group in which the time was over, known by its first revision.
    private var resumption: (group: Int, offset: Int)?

    /// Lines between two looks whether there is time.
    private static let linesPerLook = 16

    init(after: Int, until: Int, limit: Int, room: Int) {
        last = after
        self.until = until
        self.limit = limit
        self.room = room
    }

    /// Adds what is wanted of a group; false if there was no time for all of it. Then it is to be added again.
    func add(
        _ group: PastGroup, _ filter: HistoryFilter, hasTime: () -> Bool
    ) throws(PastFailure) -> Bool {
        var lines = LogLines.Cursor(group.entries)
        if let resumption, resumption.group == group.first { lines.offset = resumption.offset }
        resumption = nil
        var count = 0
        while !isFull, last < until, let line = lines.next() {
            try add(line, filter)
            count += 1
            if count % Self.linesPerLook == 0, !hasTime() {
                resumption = (group.first, lines.offset)
                return false
            }
        }
        return true
    }

    private func add(_ line: UnsafeRawBufferPointer, _ filter: HistoryFilter) throws(PastFailure) {
        guard let entry = (try? JSON(parsing: line, depthLimit: 1000))?.object else {
            throw PastFailure(.damaged, "The log's entry after revision \(last) is not a JSON object.")
        }
        if entry["revision"] == nil { return }
        guard let (first, through) = LogLines.revisions(of: entry) else {
            throw PastFailure(
                .damaged, "The log's entry after revision \(last) has no fitting revision.")
        }
        let end = min(through, until)
        if end <= last { return }
        if let shown = filter.shown(entry) {
            let text = Self.text(of: shown)
            while last < end, !isFull { try add(max(first, last + 1), text) }
        } else {
            last = end
        }
    }

    private func add(_ revision: Int, _ text: [UInt8]) throws(PastFailure) {
        guard count < limit, writer.count + text.count + 32 <= room else {
            guard count > 0 else {
                throw PastFailure(
                    .tooLarge,
                    "Commit \(revision) is too long for a line; continue after it, with `since` \(revision).")
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

    /// A commit without its revision and the members that only the log needs.
    private static func text(of entry: JSONObject) -> [UInt8] {
        let writer = ByteWriter()
        for member in entry.members {
            switch member.key {
            case "revision", "times", "digest", "ended": continue
            case "connection": writer.append(",\"ephemeral\":true")
            case "linger":
                writer.append(",\"linger\":")
                writer.append(json: member.value.int.map { DurationText.seconds($0) } ?? member.value)
            default:
                writer.append(UInt8(ascii: ","))
                writer.append(quoted: member.key)
                writer.append(UInt8(ascii: ":"))
                writer.append(json: member.value)
            }
        }
        writer.append(UInt8(ascii: "}"))
        return Array(writer.bytes)
    }

    /// - Parameter since: The revision after which it begins, where that was found for a time.
    func members(oldest: Int, since: Int?) -> [UInt8] {
        let reply = ByteWriter()
        reply.append(",\"commits\":[")
        reply.append(writer.bytes)
        reply.append("],\"oldest\":", decimal: oldest)
        if let since {
            reply.append(",\"since\":", decimal: since)
        }
        if isFull {
            reply.append(",\"next\":", decimal: last)
        }
        return Array(reply.bytes)
    }
}
