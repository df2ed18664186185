import BusJSON

/// Creating, dropping and reverting stores, and the will.
extension Bus {
    /// Creates a store. `state` replaces members of the type's initial state. One with a `timeToLive` is dropped by the bus
    /// when no dispatch has matched it for that long. An ephemeral one is dropped when this client goes, as a will is applied
    /// (``setWill(_:timeout:)``). If it comes back later than that, it creates the store again with the same `state` and
    /// `timeToLive`, unless it has dropped it: also one that somebody else has dropped, or whose time was over.
    ///
    /// Returns its revision, and whether it was created now: with `ifMissing`, an existing one is fine too. Throws
    /// `exists`, `unknown_type`, `invalid_payload`, `limit`.
    @discardableResult
    public nonisolated(nonsending) func create(
        _ store: String, state: JSONObject? = nil, isEphemeral: Bool = false, ifMissing: Bool = false,
        timeToLive: Duration? = nil, usesKey: Bool? = nil, timeout: TimeLimit = .standard
    ) async throws(BusError) -> (revision: Int, isNew: Bool) {
        let request = BusRequest(
            "create",
            [
                "store": .string(store), "state": state.map(JSON.object),
                "ephemeral": isEphemeral ? true : nil, "ifMissing": ifMissing ? true : nil,
                "ttl": timeToLive.map { DispatchTime.after($0).member.value },
            ])
        let submission = submission(request, timeout: timeout, usesKey: usesKey)
        await core.submit(submission)
        let reply = try await PendingReply(submission: submission, core: core).value
        return (try Self.revision(of: reply), reply["created"]?.bool ?? true)
    }

    /// Drops a store; returns the commit's revision. Throws `unknown_store`, `forbidden`, and `conflict` unless it has the
    /// revision `ifRevision`, and the expression `if` holds for its state.
    @discardableResult
    public nonisolated(nonsending) func drop(
        _ store: String, ifRevision: Int? = nil, if condition: JSON? = nil, usesKey: Bool? = nil,
        timeout: TimeLimit = .standard
    ) async throws(BusError) -> Int {
        let request = BusRequest(
            "drop",
            ["store": .string(store), "ifRevision": ifRevision.map(JSON.int), "if": condition])
        let submission = submission(request, timeout: timeout, usesKey: usesKey)
        await core.submit(submission)
        return try Self.revision(of: await PendingReply(submission: submission, core: core).value)
    }

    /// Drops all stores of a type for which the expression holds in the commit, and returns how many these were; `"true"` is
    /// all of them. Throws `unknown_type`, `forbidden` where one of them is not this client's to drop, and `limit` where they
    /// are more than one commit may drop.
    @discardableResult
    public nonisolated(nonsending) func drop(
        type: String, where filter: JSON, usesKey: Bool? = nil, timeout: TimeLimit = .standard
    ) async throws(BusError) -> DispatchReply {
        let submission = submission(
            BusRequest("drop", ["type": .string(type), "where": filter]), timeout: timeout, usesKey: usesKey)
        await core.submit(submission)
        return try await PendingReply(submission: submission, core: core).dispatched
    }

    /// Reverts a store to the state it had at a revision, as a new commit, whose revision it returns. It carries no
    /// key: if the connection is lost before the answer, it fails with `outcome_unknown`. Throws `conflict` unless it has the
    /// revision `ifRevision`, and the expression `if` holds for its state.
    @discardableResult
    public nonisolated(nonsending) func revert(
        _ store: String, to revision: Int, ifRevision: Int? = nil, if condition: JSON? = nil,
        timeout: TimeLimit = .standard
    ) async throws(BusError) -> Int {
        let reply = try await request(
            BusRequest(
                "revert",
                [
                    "store": .string(store), "revision": .int(revision),
                    "ifRevision": ifRevision.map(JSON.int), "if": condition,
                ]), timeout: timeout)
        return try Self.revision(of: reply)
    }

    /// The actions that the bus dispatches when this client goes; an empty list clears them.
    ///
    /// It goes when it closes the bus, or when it has not come back for `linger` of the options after its connection was lost,
    /// also because its process ended. One that is back in time has not been away. If it comes back later, the will has been
    /// applied, and is set again.
    public nonisolated(nonsending) func setWill(
        _ actions: [ActionRequest], timeout: TimeLimit = .standard
    ) async throws(BusError) {
        try await request(ClientSession.willRequest(actions.map(\.json)), timeout: timeout)
    }

    static func revision(of reply: JSONObject) throws(BusError) -> Int {
        guard let revision = reply["revision"]?.int else {
            throw BusError(.unexpectedReply, "A reply came without its revision.")
        }
        return revision
    }
}
