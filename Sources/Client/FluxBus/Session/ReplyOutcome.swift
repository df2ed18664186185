import BusJSON

/// The outcome of a request.
package enum ReplyOutcome: Sendable {
    case dispatch(DispatchReply)
    case object(JSONObject)
    case failure(BusError)

    package var object: Result<JSONObject, BusError> {
        switch self {
        case .dispatch(let reply): .success(reply.object)
        case .object(let object): .success(object)
        case .failure(let error): .failure(error)
        }
    }

    package var dispatch: Result<DispatchReply, BusError> {
        switch self {
        case .dispatch(let reply): return .success(reply)
        case .object(let object):
            do throws(BusError) { return .success(try DispatchReply(object)) } catch {
                return .failure(error)
            }
        case .failure(let error): return .failure(error)
        }
    }
}

/// What the session's owner has to execute, in this order.
package enum SessionEffect {
    /// A request has left the session; its place in the window is free.
    case complete(Submission, ReplyOutcome)
    /// A request is settled, but the bus still owes its answer.
    case settle(Submission, ReplyOutcome)
    case event(SubscriptionRequest, SubscriptionEvent, size: Int)
    case greeted(BusGreeting)
    case status(BusStatus)
    case notice(BusNotice)
}
