import BusJSON

/// What a request came to.
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
