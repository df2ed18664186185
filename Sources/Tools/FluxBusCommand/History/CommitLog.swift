import BusJSON
import FluxBus

/// Shows commits of the log: those of the past, and those from a follower.
final class CommitLog {
    private let session: CommandSession
    private let filter: CommitFilter
    /// The store of which only what concerns it is shown.
    private let store: String?
    private let isWithDefinitions: Bool
    private var text: LogText
    /// How many more commits may be shown; nil for any number.
    private var remaining: Int?

    /// No commit has been shown so far.
    private(set) var isEmpty = true

    /// As many commits as requested have been shown.
    var isComplete: Bool { remaining == 0 }

    /// Commits that are shown together, so that their columns agree.
    private static let pageSize = 1000

    init(
        _ session: CommandSession, filter: CommitFilter, limit: Int?, target: String?, isWithDefinitions: Bool
    ) {
        self.session = session
        self.filter = filter
        remaining = limit
        store = target?.contains("/") == true ? target : nil
        self.isWithDefinitions = isWithDefinitions
        text = LogText(style: session.console.style, users: session.users, store: store)
    }

    /// Shows the commits after `since`. Where the log does not reach back that far, it begins with what there is, and
    /// says so when a revision was named.
    func show(after since: Int, through last: Int, from reader: HistoryReader) throws {
        var page: [JSON] = []
        func take(_ commit: JSON) throws -> Bool {
            guard filter.takes(commit) else { return true }
            page.append(commit)
            if page.count == Self.pageSize {
                try show(page)
                page = []
            }
            return page.count < remaining ?? .max && !isComplete
        }
        let oldest = try reader.forEachKept(after: since, through: last, take)
        if let oldest, since > 0 { try session.console.note(Self.beginning(oldest)) }
        try show(page)
    }

    /// Shows the newest commits after `since`, `count` or all.
    func showNewest(
        _ count: Int?, isNewestFirst: Bool, after since: Int, through last: Int, from reader: HistoryReader
    ) throws {
        var page: [JSON] = []
        let oldest = try reader.newest(count ?? .max, after: since, through: last, where: filter.takes) {
            page.append($0)
            if isNewestFirst, page.count == Self.pageSize {
                try show(page)
                page = []
            }
        }
        if let oldest, since > 0 { try session.console.note(Self.beginning(oldest)) }
        try show(isNewestFirst ? page : page.reversed())
    }

    /// Shows one commit if the filter selects it.
    func take(_ commit: JSON) throws {
        if filter.takes(commit) { try show([commit]) }
    }

    /// Shows some commits as they are, and counts them.
    private func show(_ commits: [JSON]) throws {
        let shown = commits.prefix(remaining ?? .max)
        if !shown.isEmpty { isEmpty = false }
        if let left = remaining { remaining = left - shown.count }
        switch session.console.form {
        case .lines: for commit in shown { try session.console.line(CommitText.line(of: concise(commit))) }
        case .text:
            let lines = text.lines(Array(shown), width: session.console.width)
            for line in lines { try session.console.line(line) }
        }
    }

    /// A commit without what is long and seldom wanted: of types that were defined the names, and of the states that this changed
    /// the store's.
    private func concise(_ commit: JSON) -> JSON {
        guard !isWithDefinitions, var members = commit.object, let types = members["definitions"]?.array
        else {
            return commit
        }
        members["definitions"] = .array(types.map { $0["type"] ?? .null })
        if let store, let states = members["states"]?.object {
            members["states"] = states[store].map { [store: $0] }
        }
        return .object(members)
    }

    static func beginning(_ oldest: Int) -> String {
        "Commits up to revision \(oldest) are no longer kept; the log begins after it."
    }
}
