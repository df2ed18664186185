import BusJSON

/// Dispatches that come later.
extension Bus {
    /// Has the bus carry out a dispatch later, whether or not this client is still there then. Names and payload are checked
    /// now; what is rejected when it is due is gone.
    ///
    /// ```swift
    /// let off = try await bus.dispatch("switchOff", to: .store("light/hall"), when: .after(.seconds(300)))
    /// try await bus.cancel(off.timer, of: .store("light/hall"))
    /// ```
    ///
    /// A `timer` of the same name and target is set again. Throws the bus's refusal (`invalid_payload`, `unknown_store`,
    /// `limit`, …), `timed_out`, `cancelled`, `closed`, `outcome_unknown`.
    @discardableResult
    public nonisolated(nonsending) func dispatch(
        _ action: String, to target: DispatchTarget, payload: JSONObject = [:], when time: DispatchTime,
        timer: String? = nil, ifRevision: Int? = nil, if condition: JSON? = nil, usesKey: Bool? = nil,
        timeout: TimeLimit = .standard
    ) async throws(BusError) -> ScheduledDispatch {
        var request = BusRequest("dispatch")
        request.set(target.member.name, .string(target.member.value))
        request.set("action", .string(action))
        if !payload.isEmpty { request.set("payload", .object(payload)) }
        request.set(time.member.name, time.member.value)
        request.set("timer", timer.map(JSON.string))
        request.set("ifRevision", ifRevision.map(JSON.int))
        request.set("if", condition)
        let submission = submission(request, timeout: timeout, usesKey: usesKey)
        await core.submit(submission)
        return try ScheduledDispatch(try await PendingReply(submission: submission, core: core).value)
    }

    /// The timers of stores that match, in the order in which they are due; `next` is the `after` of the following page.
    public nonisolated(nonsending) func timers(
        matching glob: String? = nil, limit: Int? = nil, after: String? = nil, timeout: TimeLimit = .standard
    ) async throws(BusError) -> (timers: [PendingTimer], next: String?) {
        let reply = try await request(
            BusRequest(
                "timers",
                [
                    "match": glob.map(JSON.string), "limit": limit.map(JSON.int),
                    "after": after.map(JSON.string),
                ]),
            timeout: timeout)
        return ((reply["timers"]?.array ?? []).compactMap(PendingTimer.init), reply["next"]?.string)
    }

    /// Takes a timer away; returns the commit's revision. Throws `unknown_timer` where it has fired, or was never set.
    @discardableResult
    public nonisolated(nonsending) func cancel(
        _ timer: String, of target: DispatchTarget, usesKey: Bool? = nil, timeout: TimeLimit = .standard
    ) async throws(BusError) -> Int {
        let request = BusRequest(
            "cancel", [target.member.name: .string(target.member.value), "timer": .string(timer)])
        let submission = submission(request, timeout: timeout, usesKey: usesKey)
        await core.submit(submission)
        return try Self.revision(of: await PendingReply(submission: submission, core: core).value)
    }
}
