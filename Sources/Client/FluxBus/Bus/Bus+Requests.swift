import BusJSON
internal import BusTime

/// Requests of any kind, and many at a time.
extension Bus {
    /// A time limit: that of the options, or one of its own.
    public enum TimeLimit: Sendable {
        case standard
        case after(Duration)
        case never
    }

    /// Sends a request and returns its reply. Throws the bus's error, `timed_out`, `cancelled`,
    /// `closed` or `outcome_unknown`.
    ///
    /// ```swift
    /// let reply = try await bus.request(BusRequest("stats"))
    /// ```
    ///
    /// `hello`, `subscribe` and `unsubscribe` are reserved for the client itself and refused with `invalid_request`.
    @discardableResult
    public nonisolated(nonsending) func request(
        _ request: BusRequest, timeout: TimeLimit = .standard
    ) async throws(BusError) -> JSONObject {
        try await start(request, timeout: timeout).value
    }

    /// Submits a request and returns at once, or, when the window is full, as soon as there is room. Failures are
    /// reported by the reply. Requests of one task keep their order.
    public nonisolated(nonsending) func start(
        _ request: BusRequest, timeout: TimeLimit = .standard
    ) async -> PendingReply {
        let submission = submission(request, timeout: timeout)
        await core.submit(submission)
        return PendingReply(submission: submission, core: core)
    }

    /// Submits a request; `onReply` is called on the bus's thread at the reply's place in the stream: after all events
    /// before it, before all that come later. It must not block.
    public nonisolated(nonsending) func start(
        _ request: BusRequest, timeout: TimeLimit = .standard,
        onReply: @escaping @Sendable (Result<JSONObject, BusError>) -> Void
    ) async {
        await core.submit(submission(request, timeout: timeout) { onReply($0.object) })
    }

    /// The same without waiting for room, for callers that can't: requests without room are queued, in order, up to
    /// `postLimit` of the options; beyond it, `onReply` is called with `limit` before this returns.
    public func post(
        _ request: BusRequest, timeout: TimeLimit = .standard,
        onReply: @escaping @Sendable (Result<JSONObject, BusError>) -> Void = { _ in }
    ) {
        core.post(submission(request, timeout: timeout) { onReply($0.object) })
    }

    // MARK: - Submissions

    func deadline(_ timeout: TimeLimit) -> Int {
        switch timeout {
        case .standard: MonotonicClock.moment(after: core.options.timeout)
        case .after(let duration): MonotonicClock.moment(after: duration)
        case .never: .max
        }
    }

    func submission(
        _ request: BusRequest, timeout: TimeLimit, usesKey: Bool? = nil,
        onOutcome: (@Sendable (ReplyOutcome) -> Void)? = nil
    ) -> Submission {
        let submission = Submission(
            .request(request), role: role(of: request),
            repetition: Repetition(request, usesKeys: usesKey ?? core.options.usesKeys),
            isAcknowledged: true, deadline: deadline(timeout),
            epoch: Self.namesRevision(request) ? core.epoch : nil, onOutcome: onOutcome)
        if ["hello", "subscribe", "unsubscribe"].contains(request.op) {
            submission.settle(
                .failure(
                    BusError(
                        .invalidRequest,
                        "`\(request.op)` is done by the client itself; use connect, subscribe and cancel.")))
        } else if request["id"] != nil {
            submission.settle(
                .failure(
                    BusError(
                        .invalidRequest, "The client numbers its requests itself: leave out `id`.")))
        } else if request.op == "dispatch", request["ack"] == false {
            submission.settle(
                .failure(
                    BusError(
                        .invalidRequest,
                        "A request with `ack` false has no reply; use dispatchUnacknowledged."))
            )
        }
        return submission
    }

    /// Whether it is about a revision, which is one of an epoch.
    private static func namesRevision(_ request: BusRequest) -> Bool {
        ["ifRevision", "revision", "since", "until"].contains { request[$0] != nil }
            || (request["actions"]?.array ?? []).contains { $0["ifRevision"] != nil }
    }

    private func role(of request: BusRequest) -> Submission.Role {
        switch request.op {
        case "create":
            guard request["ephemeral"] == true, let store = request["store"]?.string else { return .plain }
            return .createEphemeral(store, state: request["state"], timeToLive: request["ttl"])
        case "drop":
            let (store, type) = (request["store"]?.string, request["type"]?.string)
            return .drop(store.map { [$0] } ?? [], ofTypes: type.map { [$0] } ?? [])
        case "dispatch" where request["dryRun"] != true:
            let drops = (request["actions"]?.array ?? []).filter { $0["op"] == "drop" }
            if drops.isEmpty { return .plain }
            return .drop(
                drops.compactMap { $0["store"]?.string }, ofTypes: drops.compactMap { $0["type"]?.string })
        case "will": return request["actions"]?.array.map(Submission.Role.will) ?? .plain
        default: return .plain
        }
    }
}

/// The answer to a request that was submitted.
///
/// ```swift
/// let replies = await [bus.start(first), bus.start(second)]   // both are on their way
/// for reply in replies { print(try await reply.value) }
/// ```
///
/// It may be awaited by any number of tasks, or by none. When a task that awaits it is cancelled, the await ends with
/// `cancelled`: a request that has not been written is withdrawn, the answer to any other is ignored when it comes.
public struct PendingReply: Sendable {
    let submission: Submission
    let core: BusCore

    /// The members of the reply. Throws the bus's error, `timed_out`, `cancelled`, `closed` or `outcome_unknown`.
    public nonisolated(nonsending) var value: JSONObject {
        get async throws(BusError) { try await outcome().object.get() }
    }

    /// The reply to a dispatch, parsed.
    public nonisolated(nonsending) var dispatched: DispatchReply {
        get async throws(BusError) { try await outcome().dispatch.get() }
    }

    /// True when the reply is there and awaiting it does not suspend.
    public var isSettled: Bool { submission.told != nil }

    nonisolated(nonsending) func outcome() async -> ReplyOutcome {
        if let outcome = submission.told { return outcome }
        return await withTaskCancellationHandler {
            await submission.wait()
        } onCancel: {
            submission.settle(.failure(BusCore.cancelled))
            core.hand(over: .withdrawSettled)
        }
    }
}
