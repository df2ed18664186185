/// What one client sends, as far as it is passed on: whole requests within limits, one after the other; and once the answer
/// to the first is the change to WebSocket, frames in small pieces.
///
/// Pure: bytes in, bytes out. It holds at most one request's head, and behind a request for WebSocket what came with it.
package struct RequestGuard {
    package enum Phase: Equatable {
        /// Nothing of a request has come, or of the next one.
        case between
        /// A part of a request has come.
        case partial
        /// Whether it becomes a WebSocket is not known: nothing is to be read meanwhile.
        case awaitingAnswer
        case webSocket
        /// Nothing more is passed on.
        case done
    }

    private let limits: FrontLimits
    /// The client's.
    private let address: String?
    package private(set) var phase = Phase.between
    /// Heads that were passed on.
    package private(set) var requests = 0
    /// The client waits to hear that it may send the body of its first request. Later ones are not told, since an answer may be
    /// on its way then; their clients wait a second, and send it.
    package private(set) var awaitsContinue = false
    private var held: [UInt8] = []
    /// How much of `held` was searched for the head's end.
    private var searched = 0
    private var bodyLeft = 0
    private var isLast = false
    private var splitter = FrameSplitter()

    package init(_ limits: FrontLimits, address: String? = nil) {
        (self.limits, self.address) = (limits, address)
    }

    /// Takes what came from the client, and appends what is passed on.
    package mutating func receive(
        _ bytes: some Collection<UInt8>, into queue: inout ByteQueue
    ) throws(RequestHead.Refusal) {
        switch phase {
        case .done: return
        case .webSocket: return splitter.pass(bytes, into: &queue)
        case .awaitingAnswer: held.append(contentsOf: bytes)
        case .between, .partial:
            awaitsContinue = false
            held.append(contentsOf: bytes)
            try takeRequests(into: &queue)
        }
    }

    /// The server's answer to a request for WebSocket has begun.
    package mutating func answered(isWebSocket: Bool, into queue: inout ByteQueue) {
        guard phase == .awaitingAnswer else { return }
        phase = isWebSocket ? .webSocket : .done
        if isWebSocket { splitter.pass(held, into: &queue) }
        held = []
    }

    private mutating func takeRequests(into queue: inout ByteQueue) throws(RequestHead.Refusal) {
        while true {
            if bodyLeft > 0 {
                let body = held.prefix(bodyLeft)
                queue.append(body)
                bodyLeft -= body.count
                drop(body.count)
                if bodyLeft > 0 { return phase = .partial }
            }
            if isLast {
                held = []
                return phase = .done
            }
            // Empty lines before a request are allowed.
            drop(held.prefix { $0 == 0x0d || $0 == 0x0a }.count)
            guard let end = endOfHead() else {
                guard held.count <= limits.head else { throw tooLong }
                return phase = held.isEmpty ? .between : .partial
            }
            guard end <= limits.head else { throw tooLong }
            let head = try RequestHead(Array(held[..<end]), from: address, limits)
            queue.append(head.bytes)
            requests += 1
            drop(end)
            bodyLeft = head.bodyLength
            isLast = head.isLast
            awaitsContinue = head.expectsContinue && requests == 1 && held.isEmpty
            if head.isUpgrade {
                // Its answer has to be found, so it is the first of its connection, as browsers do it.
                guard requests == 1, bodyLeft == 0 else { throw .malformed }
                return phase = .awaitingAnswer
            }
        }
    }

    private var tooLong: RequestHead.Refusal {
        .init(status: 431, reason: "A request has at most \(limits.head) bytes before its body.")
    }

    /// Where the empty line behind the head ends.
    private mutating func endOfHead() -> Int? {
        var index = max(searched, 3)
        while index < held.count {
            if held[index] == 0x0a, held[(index - 3)...index].elementsEqual([0x0d, 0x0a, 0x0d, 0x0a]) {
                return index + 1
            }
            index += 1
        }
        searched = index
        return nil
    }

    private mutating func drop(_ count: Int) {
        guard count > 0 else { return }
        held.removeFirst(count)
        searched = 0
    }
}
