/// What one client sends, as far as it is passed on: whole requests within limits, one after the other; and once the answer
/// to the first is the change to WebSocket, frames in small pieces. A request whose body comes in chunks is passed on when it
/// is complete, with its length, so that nothing behind knows chunks.
///
/// It is shown the answers, too: what may be said to the client depends on which requests are answered.
///
/// Pure: bytes in, bytes out. It holds at most one request's head, a body that comes in chunks, and behind a request for
/// WebSocket what came with it.
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
    /// Heads that were taken.
    package private(set) var requests = 0
    private var answers = AnswerReader()
    /// The client waits to hear that it may send a body.
    private var awaitsContinue = false
    private var held: [UInt8] = []
    /// The head that was taken last.
    private var head: [UInt8] = []
    /// How much of `held` was searched for the head's end.
    private var searched = 0
    private var bodyLeft = 0
    /// A request whose body comes in chunks.
    private var chunked: (head: RequestHead, body: ChunkedBody)?
    private var isLast = false
    private var splitter = FrameSplitter()

    package init(_ limits: FrontLimits, address: String? = nil) {
        (self.limits, self.address) = (limits, address)
    }

    /// The origin of the page that asked last, also where it was refused.
    var origin: String? { RequestHead.origin(in: head) }

    /// Whether a body comes in chunks that is not complete.
    package var isInChunks: Bool { chunked != nil }

    /// How many bytes of it have come.
    package var heldBody: Int { chunked?.body.content.count ?? 0 }

    /// Requests that were passed on and are not answered to the end.
    var answersLeft: Int { answers.left }

    /// Whether the answer being passed on comes in chunks, and may never end.
    var isStreaming: Bool { answers.isStream }

    /// Takes what came from the client, and appends what is passed on; after a refusal, nothing more.
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
            do throws(RequestHead.Refusal) {
                try takeRequests(into: &queue)
            } catch {
                stop()
                throw error
            }
        }
    }

    /// Takes what came from the server, and appends what is passed on to it because of that.
    mutating func receiveAnswer(_ bytes: some Collection<UInt8>, into queue: inout ByteQueue) {
        guard phase != .webSocket else { return }
        answers.take(bytes)
        guard phase == .awaitingAnswer else { return }
        if answers.isWebSocket {
            phase = .webSocket
            splitter.pass(held, into: &queue)
            held = []
        } else if answers.left == 0 {
            stop()
        }
    }

    /// Whether to tell the client now that it may send its body, as all before is answered. True only once.
    mutating func takeContinue() -> Bool {
        // The head of a request with a length has been passed on.
        guard awaitsContinue, !answers.hasBegun, answers.left == (isInChunks ? 0 : 1) else { return false }
        awaitsContinue = false
        return true
    }

    /// Nothing more is passed on.
    mutating func stop() { (phase, held, chunked, awaitsContinue) = (.done, [], nil, false) }

    private mutating func takeRequests(into queue: inout ByteQueue) throws(RequestHead.Refusal) {
        while true {
            if bodyLeft > 0 {
                let body = held.prefix(bodyLeft)
                queue.append(body)
                bodyLeft -= body.count
                drop(body.count)
                if bodyLeft > 0 { return phase = .partial }
            }
            guard try takeChunks(into: &queue) else { return phase = .partial }
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
            self.head = Array(held[..<end])
            guard end <= limits.head else { throw tooLong }
            let head = try RequestHead(self.head, from: address, limits)
            requests += 1
            drop(end)
            isLast = head.isLast
            awaitsContinue = head.expectsContinue && held.isEmpty
            if head.isUpgrade {
                // It is the first of its connection, as browsers do it.
                guard requests == 1, head.framing == .length(0) else { throw .malformed }
                pass(head, into: &queue)
                return phase = .awaitingAnswer
            }
            switch head.framing {
            case .length(let length):
                pass(head, into: &queue)
                bodyLeft = length
            case .chunked(let most):
                chunked = (head, ChunkedBody(atMost: most, extras: limits.head))
            }
        }
    }

    /// False while a body that comes in chunks is not complete.
    private mutating func takeChunks(into queue: inout ByteQueue) throws(RequestHead.Refusal) -> Bool {
        guard chunked != nil else { return true }
        drop(try chunked?.body.take(held[...]) ?? 0)
        guard let (head, body) = chunked, body.isComplete else { return false }
        pass(head, withLength: body.content.count, into: &queue)
        queue.append(body.content)
        chunked = nil
        return true
    }

    private mutating func pass(
        _ head: RequestHead, withLength length: Int? = nil, into queue: inout ByteQueue
    ) {
        queue.append(head.bytes(withLength: length))
        answers.expect(isHead: head.isHead)
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
