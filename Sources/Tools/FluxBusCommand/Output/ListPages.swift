import BusJSON
import FluxBus

extension CommandSession {
    /// Asks for a list, page after page, and prints it: every entry as a line of JSON, or as a row of the table. `kind`
    /// names what is listed, for the note that there is none.
    func list(
        _ operation: String, of kind: String, matching pattern: String? = nil, into table: inout Table,
        row: (JSON) -> [Table.Cell]
    ) throws {
        let match = pattern.map { JSON.string(StoreSelector($0).pattern) }
        let connection = try connect()
        var after: JSON?
        repeat {
            let reply = try ask(BusRequest(operation, ["match": match, "after": after]), on: connection)
            for entry in reply[operation]?.array ?? [] {
                if console.form == .lines { try console.line(entry) } else { table.add(row(entry)) }
            }
            after = reply["next"]
        } while after != nil && after != .null
        try console.table(
            table,
            orNote: pattern.map { "There is no \(kind) that matches `\($0)`." } ?? "There is no \(kind).")
    }
}
