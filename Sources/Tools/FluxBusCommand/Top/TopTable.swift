/// A column of a table of `top`.
struct TopColumn<Row> {
    let title: String
    /// A column that takes what is left; numbers are aligned to the right and never cut.
    let isText: Bool
    /// The columns with the highest numbers are left out first where there is no room.
    let rank: Int
    let text: (Row) -> String
    /// Whether one row comes before another; nil for a column that is not sorted by.
    let precedes: ((Row, Row) -> Bool)?

    static func text(
        _ title: String, rank: Int, _ text: @escaping (Row) -> String, precedes: ((Row, Row) -> Bool)? = nil
    ) -> TopColumn {
        TopColumn(title: title, isText: true, rank: rank, text: text, precedes: precedes)
    }

    /// A number: the highest comes first.
    static func number(
        _ title: String, rank: Int, _ value: @escaping (Row) -> Double?,
        _ text: @escaping (Double) -> String = Quantity.count
    ) -> TopColumn {
        TopColumn(
            title: title, isText: false, rank: rank, text: { value($0).map(text) ?? "–" },
            precedes: { (value($0) ?? -1) > (value($1) ?? -1) })
    }
}

/// Rows in order of one of their columns, as many as there is room for.
struct TopTable<Row> {
    private let columns: [TopColumn<Row>]
    private let sorted: TopColumn<Row>?
    private let rows: [Row]

    /// Narrower text says nothing.
    private static var leastText: Int { 6 }
    private static var leastNumber: Int { 5 }

    /// - Parameters:
    ///   - order: The columns that can be sorted by, by their titles, the usual one first.
    ///   - sort: How often another column was asked for.
    init(_ columns: [TopColumn<Row>], order: [String], sort: Int, rows: [Row]) {
        self.columns = columns
        let title = order[sort % order.count]
        sorted = columns.first { $0.title == title }
        let precedes = sorted?.precedes
        // Equal rows stay as they are: nothing jumps.
        self.rows = rows.enumerated().sorted { left, right in
            if precedes?(left.element, right.element) == true { return true }
            if precedes?(right.element, left.element) == true { return false }
            return left.offset < right.offset
        }.map(\.element)
    }

    func lines(width: Int, height: Int) -> [ScreenLine] {
        let shown = rows.prefix(max(0, height - 1))
        let columns = fitting(width)
        let titles = columns.map { $0.title == sorted?.title ? $0.title + "▼" : $0.title }
        let cells = shown.map { row in columns.map { ScreenText.safe($0.text(row)) } }
        let widths = widths(columns, [titles] + cells, width)
        return ([titles] + cells).enumerated().map { index, texts in
            var line = ScreenLine()
            for (place, text) in texts.enumerated() {
                let text = ScreenText.cut(text, toColumns: widths[place])
                let end = line.columns + widths[place]
                if !columns[place].isText { line.pad(to: end - ScreenText.columns(of: text)) }
                line.add(text, index == 0 ? .heading : place == 0 ? .address : .plain)
                if place < texts.count - 1 { line.pad(to: end + 2) }
            }
            return line
        }
    }

    /// The columns that have room, in their order.
    private func fitting(_ width: Int) -> [TopColumn<Row>] {
        var room = width + 2
        var taken: Set<Int> = []
        for place in columns.indices.sorted(by: { columns[$0].rank < columns[$1].rank }) {
            let column = columns[place]
            let least = 2 + max(column.title.count + 1, column.isText ? Self.leastText : Self.leastNumber)
            guard least <= room else { break }
            room -= least
            taken.insert(place)
        }
        return columns.indices.filter(taken.contains).map { columns[$0] }
    }

    /// The widest of each column; then the widest texts give way.
    private func widths(_ columns: [TopColumn<Row>], _ cells: [[String]], _ width: Int) -> [Int] {
        var widths = columns.indices.map { place in
            cells.map { ScreenText.columns(of: $0[place]) }.max() ?? 0
        }
        let gaps = 2 * max(0, columns.count - 1)
        var excess = widths.reduce(gaps, +) - width
        while excess > 0 {
            let texts = columns.indices.filter { columns[$0].isText && widths[$0] > Self.leastText }
            guard let widest = texts.max(by: { widths[$0] < widths[$1] }) else { break }
            let next = texts.filter { $0 != widest }.map { widths[$0] }.max() ?? Self.leastText
            let step = min(excess, max(1, widths[widest] - max(next, Self.leastText)))
            widths[widest] -= step
            excess -= step
        }
        return widths
    }
}
