import BusJSON

/// Commits as `log` shows them to people: one line each, in columns that stay where they are while more come.
struct LogText {
    private let style: Style
    private let users: UserNames
    private var widths = [8, 23, 0]
    private var hasHeading = false

    /// A longer name does not push the column further.
    private static let widestName = 40

    init(style: Style, users: UserNames) {
        self.style = style
        self.users = users
    }

    /// The lines of some commits that are shown together; before the first ones come the headings.
    mutating func lines(_ commits: [JSON], width: Int?) -> [String] {
        guard !commits.isEmpty else { return [] }
        var rows = commits.map { commit in
            [
                commit["revision"]?.encoded ?? "", CommitText.time(of: commit),
                CommitText.identity(of: commit, users), CommitText.summary(of: commit),
            ].map(ScreenText.safe)
        }
        if !hasHeading { rows.insert(["REVISION", "TIME", "BY", "ACTIONS"], at: 0) }
        for column in widths.indices {
            let widest = rows.map { $0[column].count }.max() ?? 0
            widths[column] = max(widths[column], min(widest, Self.widestName))
        }
        defer { hasHeading = true }
        return rows.enumerated().map { index, row in
            line(row, isHeading: !hasHeading && index == 0, width: width)
        }
    }

    private func line(_ row: [String], isHeading: Bool, width: Int?) -> String {
        let roles: [Style.Role] = isHeading ? [.heading, .heading, .heading] : [.address, .faint, .faint]
        var line = ""
        var used = 0
        for (column, role) in roles.enumerated() {
            let gap = max(0, widths[column] - row[column].count) + 2
            line += style.paint(row[column], role) + String(repeating: " ", count: gap)
            used += row[column].count + gap
        }
        let room = width.map { $0 - used }
        let last = room.map { $0 >= 8 ? ScreenText.cut(row[3], to: $0) : row[3] } ?? row[3]
        return line + (isHeading ? style.paint(last, .heading) : last)
    }
}
