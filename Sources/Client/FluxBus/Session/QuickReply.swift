import BusJSON

/// The reply to a plain dispatch, parsed without building a value: by far the most frequent line. Any other line, and
/// this one in any other order of members, is left to the general parser.
struct QuickReply {
    let id: Int
    let dispatch: DispatchReply

    init?(_ line: UnsafeRawBufferPointer) {
        var cursor = Cursor(line)
        guard cursor.take("{\"id\":"), let id = cursor.number(),
            cursor.take(",\"ok\":true,\"revision\":"), let revision = cursor.number(),
            cursor.take(",\"matched\":"), let matched = cursor.number(),
            cursor.take(",\"changed\":"), let changed = cursor.number()
        else { return nil }
        let isDuplicate = cursor.take(",\"duplicate\":true")
        guard cursor.take("}"), cursor.isAtEnd else { return nil }
        self.id = id
        dispatch = DispatchReply(
            revision: revision, matched: matched, changed: changed, isDuplicate: isDuplicate)
    }

    private struct Cursor {
        private let bytes: UnsafeRawBufferPointer
        private var place = 0

        init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

        var isAtEnd: Bool { place == bytes.count }

        @inline(__always)
        mutating func take(_ word: StaticString) -> Bool {
            let length = word.utf8CodeUnitCount
            guard bytes.count &- place >= length else { return false }
            for index in 0..<length where bytes[place &+ index] != word.utf8Start[index] { return false }
            place &+= length
            return true
        }

        @inline(__always)
        mutating func number() -> Int? {
            let start = place
            var value = 0
            while place < bytes.count {
                let digit = bytes[place] &- 0x30
                guard digit < 10 else { break }
                value = value &* 10 &+ Int(digit)
                place &+= 1
            }
            return place > start && place &- start < 19 ? value : nil
        }
    }
}

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
    /// A request is settled that has no place in the window, or keeps it because the bus still owes its answer.
    case settle(Submission, ReplyOutcome)
    /// Every request is settled and none is accepted any more: those queued outside fail, before the subscriptions end.
    case ended
    case event(SubscriptionRequest, SubscriptionEvent, size: Int)
    case greeted(BusGreeting)
    case status(BusStatus)
    case notice(BusNotice)
}
