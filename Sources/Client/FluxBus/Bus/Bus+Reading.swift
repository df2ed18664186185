import BusJSON

/// Reading states, types, history and counters.
extension Bus {
    /// A store's state, now or at a revision. `select` keeps only what these JSON Pointers name. Throws
    /// `unknown_store`; and, like every request that names a revision, `conflict` where the bus begins a new history meanwhile.
    public nonisolated(nonsending) func state(
        of store: String, select: [String]? = nil, at revision: Int? = nil, timeout: TimeLimit = .standard
    ) async throws(BusError) -> (state: JSON, revision: Int) {
        let page = try await get(.store(store), select: select, at: revision, timeout: timeout)
        guard let state = page.states[store] else {
            throw BusError(.unexpectedReply, "The bus answered without the state of \(store).")
        }
        return (state, page.revision)
    }

    /// One page of states by address, of the stores for which `condition` holds (a text, or an object of JsonLogic). `next` of a page is the `after` of the following page; nil at the end.
    public nonisolated(nonsending) func get(
        _ pattern: StorePattern, where condition: JSON? = nil, select: [String]? = nil,
        at revision: Int? = nil, limit: Int? = nil, after: String? = nil, timeout: TimeLimit = .standard
    ) async throws(BusError) -> StatePage {
        var request = BusRequest("get")
        let member = pattern.member
        request.set(member.name, member.value)
        request.set("where", condition)
        request.set("select", select.map { .array($0.map(JSON.string)) })
        request.set("revision", revision.map(JSON.int))
        request.set("limit", limit.map(JSON.int))
        request.set("after", after.map(JSON.string))
        let reply = try await self.request(request, timeout: timeout)
        return StatePage(
            revision: try Self.revision(of: reply), states: reply["states"]?.object ?? [:],
            next: reply["next"]?.string)
    }

    /// All states that match, page by page. Pages are read one after the other, so stores may change between them; each
    /// page is valid for its own revision.
    ///
    /// ```swift
    /// for try await page in bus.pages(of: .type("counter")) { … }
    /// ```
    public func pages(
        of pattern: StorePattern, where condition: JSON? = nil, select: [String]? = nil, limit: Int? = nil
    ) -> StatePages {
        StatePages(bus: self, pattern: pattern, condition: condition, select: select, limit: limit)
    }

    /// The existing stores, with their own revisions; `next` is the `after` of the following page.
    public nonisolated(nonsending) func stores(
        matching glob: String? = nil, where condition: JSON? = nil, limit: Int? = nil, after: String? = nil,
        timeout: TimeLimit = .standard
    ) async throws(BusError) -> (stores: [StoreEntry], next: String?) {
        let reply = try await request(
            BusRequest(
                "stores",
                [
                    "match": glob.map(JSON.string), "where": condition, "limit": limit.map(JSON.int),
                    "after": after.map(JSON.string),
                ]),
            timeout: timeout)
        return ((reply["stores"]?.array ?? []).compactMap(StoreEntry.init), reply["next"]?.string)
    }

    /// The definitions of all state types, or of one. Throws `unknown_type`.
    public nonisolated(nonsending) func types(
        _ name: String? = nil, timeout: TimeLimit = .standard
    ) async throws(BusError) -> [JSON] {
        try await request(BusRequest("types", ["type": name.map(JSON.string)]), timeout: timeout)["types"]?
            .array ?? []
    }

    /// Commits of the past: those after `since` up to `until`, from the oldest on, or from the newest back. `next` is the
    /// `since` of the following page, with the newest first its `until`; nil at the end.
    ///
    /// - Parameters:
    ///   - since: The revision that the first one comes after; nil: the oldest commit that is kept.
    ///   - until: The last revision; nil: the newest.
    ///   - newestFirst: Whether the newest come first.
    ///   - limit: The most commits of a page; nil: as many as the bus has in one.
    ///   - pattern: The stores that a commit concerns; nil: any.
    ///   - author: A value that `by` has, as a user id, a user, a token or a unit; `daemon` for the bus itself.
    ///   - action: An action's name, or `create`, `drop`, `revert`, `reload`, `schedule`, `cancel`, `timer`.
    ///   - condition: What has to hold for the payload: a text, or an object of JsonLogic.
    ///   - timeout: How long to wait for the page.
    public nonisolated(nonsending) func history(
        since: Int? = nil, until: Int? = nil, newestFirst: Bool = false, limit: Int? = nil,
        of pattern: StorePattern? = nil, by author: String? = nil, action: String? = nil,
        where condition: JSON? = nil, timeout: TimeLimit = .standard
    ) async throws(BusError) -> (commits: [JSON], next: Int?) {
        var request = BusRequest(
            "history",
            [
                "since": since.map(JSON.int), "until": until.map(JSON.int), "limit": limit.map(JSON.int),
                "order": newestFirst ? "newest" : nil, "by": author.map(JSON.string),
                "action": action.map(JSON.string), "where": condition,
            ])
        if let member = pattern?.member { request.set(member.name, member.value) }
        let reply = try await self.request(request, timeout: timeout)
        return (reply["commits"]?.array ?? [], reply["next"]?.int)
    }

    /// The commits that last changed the part of a store's state at a JSON Pointer, or each of its members, as of now or of a
    /// revision. Each object has `path` and `value`; a value that is younger than the log also has the `commit` that made it
    /// and the `old` value. Throws `unknown_store`.
    public nonisolated(nonsending) func blame(
        _ store: String, path: String? = nil, at revision: Int? = nil, timeout: TimeLimit = .standard
    ) async throws(BusError) -> [JSON] {
        let request = BusRequest(
            "blame",
            ["store": .string(store), "path": path.map(JSON.string), "revision": revision.map(JSON.int)])
        return try await self.request(request, timeout: timeout)["values"]?.array ?? []
    }

    /// The values over time of the part of a store's state at a JSON Pointer: the one at `since`, then each change. If there
    /// are more than `most`, the time is divided into that many equal steps, and each step with a change has one sample, with
    /// its `least` and its `most`. With `cause` each change says in `by` who made it.
    public nonisolated(nonsending) func samples(
        _ store: String, path: String, since: Int? = nil, until: Int? = nil, most: Int? = nil,
        cause: Bool = false, timeout: TimeLimit = .standard
    ) async throws(BusError) -> [JSON] {
        let request = BusRequest(
            "samples",
            [
                "store": .string(store), "path": .string(path), "since": since.map(JSON.int),
                "until": until.map(JSON.int), "most": most.map(JSON.int), "cause": cause ? true : nil,
            ])
        return try await self.request(request, timeout: timeout)["samples"]?.array ?? []
    }

    /// Returns when every event up to the returned revision has been delivered.
    @discardableResult
    public nonisolated(nonsending) func sync(timeout: TimeLimit = .standard) async throws(BusError) -> Int {
        try Self.revision(of: await request(BusRequest("sync"), timeout: timeout))
    }

    /// The daemon's counters, by their names: `stats()["commits"]`.
    public nonisolated(nonsending) func stats(
        timeout: TimeLimit = .standard
    ) async throws(BusError) -> JSONObject {
        guard let counters = try await request(BusRequest("stats"), timeout: timeout)["stats"]?.object else {
            throw BusError(.unexpectedReply, "The bus answered without its counters.")
        }
        return counters
    }

    /// Returns when the bus has answered.
    public nonisolated(nonsending) func ping(timeout: TimeLimit = .standard) async throws(BusError) {
        try await request(BusRequest("ping"), timeout: timeout)
    }

    /// Makes the daemon reload its definitions; returns the commit's revision. Throws `forbidden`,
    /// and `rejected` with the reason.
    @discardableResult
    public nonisolated(nonsending) func reload(timeout: TimeLimit = .standard) async throws(BusError) -> Int {
        try Self.revision(of: await request(BusRequest("reload"), timeout: timeout))
    }
}
