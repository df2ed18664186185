import BusJSON
import FluxBus

/// Reads states page by page, ascending by address, as they are now or were at a revision.
final class StateReader {
    private let session: CommandSession
    private let connection: BusConnection
    private let selector: StoreSelector
    private let condition: JSON?
    private let select: [String]
    private let revision: Int?
    private var page: ArraySlice<JSONObject.Member> = []
    private var after: JSON?
    private var isLastPage = false
    /// Types that match and had no past at that revision, each with what the log keeps of it.
    private(set) var gone: [String: String] = [:]
    /// States requested at a time; nil lets the bus decide.
    private var pageSize: Int?

    /// Reads the states that `selector` names, those for which `condition` holds, at `revision` or now; with pointers in `select` only these parts.
    init(
        _ session: CommandSession, _ connection: BusConnection, _ selector: StoreSelector,
        where condition: JSON? = nil, select: [String] = [], revision: Int? = nil
    ) {
        self.condition = condition
        self.session = session
        self.connection = connection
        self.selector = selector
        self.select = select
        self.revision = revision
    }

    /// The next store; nil after the last one. A single store that does not exist throws `unknown_store`.
    func next() throws -> (address: String, state: JSON)? {
        while page.isEmpty {
            guard !isLastPage else { return nil }
            try turn()
        }
        return page.popFirst().map { ($0.key, $0.value) }
    }

    private func turn() throws {
        do {
            let reply = try session.ask(request, on: connection)
            page = (reply["states"]?.object ?? [:]).members[...]
            for type in reply["gone"]?.object ?? [:] { gone[type.key] = type.value.string ?? "" }
            after = reply["next"]
            isLastPage = after?.string == nil
        } catch let error as BusError where error.code == .tooLarge && pageSize != 1 {
            // This many states are longer than a line: fewer may fit.
            if case .store = selector { throw error }
            pageSize = max(1, (pageSize ?? 1000) / 4)
        }
    }

    private var request: BusRequest {
        BusRequest(
            "get",
            [
                selector.member.name: selector.member.value,
                "where": condition,
                "select": select.isEmpty ? nil : .array(select.map(JSON.string)),
                "revision": revision.map(JSON.int),
                "limit": pageSize.map(JSON.int),
                "after": after,
            ])
    }

    /// Says which types are left out because their past does not reach back as far, those without any past, too, or not.
    func noteGone(on console: Console, withUnkept: Bool = true) throws {
        let names = gone.filter { withUnkept || $0.value != "none" }.keys.sorted()
        if names.isEmpty { return }
        let list = names.joined(separator: ", ")
        try console.note(
            "Left out: \(list); the log does not keep so much of the past of \(names.count == 1 ? "it" : "them")."
        )
    }

    /// Prints all remaining states: one object per line for programs; for people a table, or the one store requested.
    func printAll(to console: Console) throws {
        var table = Table("STORE", "STATE")
        while let (address, state) = try next() {
            if console.form == .lines {
                try console.row(["store": .string(address), "state": state])
            } else if case .store = selector {
                for line in IndentedJSON.lines(state, style: console.style) { try console.line(line) }
            } else {
                table.add(.init(address, .address), .init(state.encoded))
            }
        }
        try noteGone(on: console)
        if case .store = selector { return }
        if !gone.isEmpty, table.isEmpty { return }
        try console.table(table, orNote: "There is no store that matches \(selector.pattern).")
    }
}
