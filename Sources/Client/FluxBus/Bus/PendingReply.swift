import BusJSON

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
