import BusJSON
import Flux

/// Dispatches: of one action, of several as one commit, as a dry run, and without waiting for a reply.
extension Bus {
    /// Dispatches an action. Returns when it is committed and its changes have been delivered to all subscriptions of this bus.
    ///
    /// ```swift
    /// let reply = try await bus.dispatch("increment", to: .store("counter/kitchen"), payload: ["by": 2])
    /// ```
    ///
    /// For one store, `ifRevision` and `if` set conditions: the action commits only if the store has that revision, and only if
    /// the expression (a text, or an object of JsonLogic) holds for its state. Otherwise `conflict` is thrown, whose `details`
    /// hold the actual `revision`. The revision is taken for one of the epoch of ``greeting`` when this is called, and in a later
    /// epoch the action never commits. For a type, `where` selects the stores for which an expression holds. `traceparent` (W3C
    /// Trace Context) is passed on to events, to the log and to what follows from the action. `usesKey` overrides the option
    /// `usesKeys`.
    ///
    /// Throws the bus's refusal (`rejected`, `invalid_payload`, `unknown_store`, …), `timed_out`, `cancelled`, `closed` or
    /// `outcome_unknown`.
    @discardableResult
    public nonisolated(nonsending) func dispatch(
        _ action: String, to target: DispatchTarget, payload: JSONObject = [:], ifRevision: Int? = nil,
        if condition: JSON? = nil, where filter: JSON? = nil, traceparent: String? = nil,
        usesKey: Bool? = nil, timeout: TimeLimit = .standard
    ) async throws(BusError) -> DispatchReply {
        try await startDispatch(
            action, to: target, payload: payload, ifRevision: ifRevision, if: condition, where: filter,
            traceparent: traceparent, usesKey: usesKey, timeout: timeout
        ).dispatched
    }

    /// Submits a dispatch, and returns as soon as there is room for it. The reply is still to come.
    public nonisolated(nonsending) func startDispatch(
        _ action: String, to target: DispatchTarget, payload: JSONObject = [:], ifRevision: Int? = nil,
        if condition: JSON? = nil, where filter: JSON? = nil, traceparent: String? = nil,
        usesKey: Bool? = nil, timeout: TimeLimit = .standard
    ) async -> PendingReply {
        let submission = dispatchSubmission(
            action, target, payload, ifRevision: ifRevision, if: condition, where: filter,
            traceparent: traceparent, usesKey: usesKey, timeout: timeout)
        await core.submit(submission)
        return PendingReply(submission: submission, core: core)
    }

    /// Dispatches an action without waiting for room, for callers that can't wait; see `post`. A mutation can't, and fails.
    public func postDispatch(
        _ action: String, to target: DispatchTarget, payload: JSONObject = [:], ifRevision: Int? = nil,
        usesKey: Bool? = nil, timeout: TimeLimit = .standard,
        onReply: @escaping @Sendable (Result<DispatchReply, BusError>) -> Void = { _ in }
    ) {
        if let refusal = Self.refusal(of: action) { return onReply(.failure(refusal)) }
        core.post(
            dispatchSubmission(
                action, target, payload, ifRevision: ifRevision, usesKey: usesKey, timeout: timeout
            ) { onReply($0.dispatch) })
    }

    /// Dispatches an action, and returns as soon as there is room. The bus answers only if the dispatch fails, which a notice
    /// `dispatchFailed` reports. With the option `usesKeys`, the action commits exactly once even if the connection is lost.
    public nonisolated(nonsending) func dispatchUnacknowledged(
        _ action: String, to target: DispatchTarget, payload: JSONObject = [:]
    ) async throws(BusError) {
        let submission = dispatchSubmission(
            action, target, payload, ifRevision: nil, usesKey: nil, timeout: .never, isAcknowledged: false)
        await core.submit(submission)
        if let error = submission.refusal { throw error }
    }

    /// Dispatches several actions as one commit: all or none.
    ///
    /// ```swift
    /// try await bus.dispatch([
    ///     ActionRequest("decrement", to: .store("counter/a")), ActionRequest("increment", to: .store("counter/b")),
    /// ])
    /// ```
    ///
    /// `traceparent` (W3C Trace Context) goes along into events, the log and what follows.
    @discardableResult
    public nonisolated(nonsending) func dispatch(
        _ actions: [ActionRequest], traceparent: String? = nil, usesKey: Bool? = nil,
        timeout: TimeLimit = .standard
    ) async throws(BusError) -> DispatchReply {
        let request = BusRequest(
            "dispatch",
            ["actions": .array(actions.map(\.json)), "traceparent": traceparent.map(JSON.string)])
        let submission = submission(request, timeout: timeout, usesKey: usesKey)
        await core.submit(submission)
        return try await PendingReply(submission: submission, core: core).dispatched
    }

    /// Dispatches several actions as one commit, without waiting. `onReply` is called with the outcome on the bus's thread, and
    /// must not block. A mutation can't dispatch, and fails.
    public func postDispatch(
        _ actions: [ActionRequest], usesKey: Bool? = nil, timeout: TimeLimit = .standard,
        onReply: @escaping @Sendable (Result<DispatchReply, BusError>) -> Void = { _ in }
    ) {
        if let first = actions.first, let refusal = Self.refusal(of: first.action) {
            return onReply(.failure(refusal))
        }
        let request = BusRequest("dispatch", ["actions": .array(actions.map(\.json))])
        core.post(submission(request, timeout: timeout, usesKey: usesKey) { onReply($0.dispatch) })
    }

    /// Dispatches actions, and creates and drops stores, as one commit: all, in their order, or none.
    ///
    /// ```swift
    /// try await bus.dispatch([
    ///     .create("order/17", state: ["item": "tea"]),
    ///     .action("take", to: .store("stock/tea"), if: "count > 0"),
    /// ])
    /// ```
    @discardableResult
    public nonisolated(nonsending) func dispatch(
        _ steps: [BatchStep], usesKey: Bool? = nil, timeout: TimeLimit = .standard
    ) async throws(BusError) -> DispatchReply {
        let submission = submission(BatchStep.request(steps), timeout: timeout, usesKey: usesKey)
        await core.submit(submission)
        return try await PendingReply(submission: submission, core: core).dispatched
    }

    /// Dispatches a batch as one commit, and returns what it changed. Besides `revision`, `matched` and `changed`, the reply
    /// holds `changes` or `states`, as asked for, and the addresses of dropped stores in `dropped`. These are missing if they
    /// are too long for a line (`omitted`), or if the first reply was lost and the bus answered again (`duplicate`).
    public nonisolated(nonsending) func dispatch(
        _ steps: [BatchStep], returning form: ReturnedForm, usesKey: Bool? = nil,
        timeout: TimeLimit = .standard
    ) async throws(BusError) -> JSONObject {
        var request = BatchStep.request(steps)
        request.set("return", .string(form.rawValue))
        let submission = submission(request, timeout: timeout, usesKey: usesKey)
        await core.submit(submission)
        return try await PendingReply(submission: submission, core: core).value
    }

    /// Returns what a dispatch would do, without committing it: `revision`, `matched`, `changed`, and the
    /// `changes` or `states` it would make.
    public nonisolated(nonsending) func tryOut(
        _ actions: [ActionRequest], timeout: TimeLimit = .standard
    ) async throws(BusError) -> JSONObject {
        try await tryOut(actions.map(BatchStep.init), timeout: timeout)
    }

    /// Returns what a batch would do, without committing it. `dropped` holds the stores that it would drop, and `states` those
    /// that it would create.
    public nonisolated(nonsending) func tryOut(
        _ steps: [BatchStep], timeout: TimeLimit = .standard
    ) async throws(BusError) -> JSONObject {
        var request = BatchStep.request(steps)
        request.set("dryRun", true)
        return try await self.request(request, timeout: timeout)
    }

    /// The error of a dispatch inside a mutation, which then fails, too; nil outside.
    private static func refusal(of action: String) -> BusError? {
        Mutating.refusal(of: action).map { BusError(.invalidRequest, "\($0)") }
    }

    func dispatchSubmission(
        _ action: String, _ target: DispatchTarget, _ payload: JSONObject, ifRevision: Int?,
        if condition: JSON? = nil, where filter: JSON? = nil, traceparent: String? = nil, usesKey: Bool?,
        timeout: TimeLimit, isAcknowledged: Bool = true,
        epoch: String? = nil, onOutcome: (@Sendable (ReplyOutcome) -> Void)? = nil
    ) -> Submission {
        let body = RequestBody.DispatchBody(
            action: action, target: target, payload: payload, ifRevision: ifRevision, condition: condition,
            filter: filter, traceparent: traceparent)
        return Submission(
            .dispatch(body), repetition: usesKey ?? core.options.usesKeys ? .keyed : .never,
            isAcknowledged: isAcknowledged, deadline: deadline(timeout),
            epoch: ifRevision == nil ? nil : epoch ?? core.epoch, onOutcome: onOutcome)
    }
}
