import BusJSON
import FluxBus

/// Rows with aligned columns. The last column takes what is left of a terminal's width; without a terminal
/// nothing is cut.
package struct Table {
    package struct Cell {
        let text: String
        let role: Style.Role

        package init(_ text: String, _ role: Style.Role = .plain) {
            self.text = ScreenText.safe(text)
            self.role = role
        }
    }

    private let headings: [String]
    private var rows: [[Cell]] = []

    package init(_ headings: String...) { self.headings = headings }

    package init(_ headings: [String]) { self.headings = headings }

    package mutating func add(_ cells: Cell...) { rows.append(cells) }

    package mutating func add(_ cells: [Cell]) { rows.append(cells) }

    package var isEmpty: Bool { rows.isEmpty }

    /// The lines, headings first (if there are any), without spaces at their ends.
    package func lines(style: Style, width: Int?) -> [String] {
        let heading = headings.map { Cell($0, .heading) }
        let all = (headings.isEmpty ? [] : [heading]) + rows
        let columns = all.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            all.map { $0.indices.contains(column) ? $0[column].text.count : 0 }.max() ?? 0
        }
        return all.map { row in
            var line = ""
            var used = 0
            let shown = row[...(row.lastIndex { !$0.text.isEmpty } ?? 0)]
            for (column, cell) in shown.enumerated() {
                let isLast = column == shown.count - 1
                let text = isLast ? fit(cell.text, after: used, width: width) : cell.text
                line += style.paint(text, cell.role)
                guard !isLast else { break }
                line += String(repeating: " ", count: widths[column] - text.count + 2)
                used += widths[column] + 2
            }
            return line
        }
    }

    private func fit(_ text: String, after used: Int, width: Int?) -> String {
        // A column too narrow to be useful is not worth cutting for.
        guard let width, width - used >= 8 else { return text }
        return ScreenText.cut(text, to: width - used)
    }
}

extension Console {
    package func table(_ table: Table) throws {
        for line in table.lines(style: style, width: width) { try self.line(line) }
    }

    /// Prints a table; an empty one as a note, so that no answer is not taken for a failure. Programs get no note.
    package func table(_ table: Table, orNote sentence: String) throws {
        guard table.isEmpty else { return try self.table(table) }
        if form == .text { try note(sentence) }
    }
}

extension CommandSession {
    /// Asks for a list, page after page, and prints it: every entry as a line of JSON, or as a row of the table. `kind`
    /// names what is listed, for the note that there is none.
    func list(
        _ operation: String, of kind: String, matching pattern: String? = nil,
        where condition: JSON? = nil, into table: inout Table, row: (JSON) -> [Table.Cell]
    ) throws {
        let match = pattern.map { JSON.string(StoreSelector($0).pattern) }
        let connection = try connect()
        var after: JSON?
        repeat {
            let reply = try ask(
                BusRequest(operation, ["match": match, "where": condition, "after": after]), on: connection)
            for entry in reply[operation]?.array ?? [] {
                if console.form == .lines { try console.line(entry) } else { table.add(row(entry)) }
            }
            after = reply["next"]
        } while after != nil && after != .null
        try console.table(
            table,
            orNote: condition != nil
                ? "There is no such \(kind)."
                : pattern.map { "There is no \(kind) that matches `\($0)`." } ?? "There is no \(kind).")
    }
}
