/// Follows the server's answers, so that the front knows which requests are answered to the end.
///
/// It trusts the server and checks nothing: an answer whose end it can't find lasts as long as the
/// connection.
///
/// Pure. It holds at most one answer's head.
package struct AnswerReader {
    private enum Part {
        case head
        case body(left: Int)
        case chunks(ChunkedBody)
        /// Frames of a WebSocket, or a body that ends with the connection.
        case rest
    }

    private var part = Part.head
    private var head: [UInt8] = []
    /// For each request that is not answered to the end: whether its answer has no body.
    private var asked: ArraySlice<Bool> = []
    /// The connection became a WebSocket.
    package private(set) var isWebSocket = false

    package init() {}

    /// Requests that are not answered to the end.
    package var left: Int { asked.count }

    /// Whether the present answer has begun.
    var hasBegun: Bool { if case .head = part { !head.isEmpty } else { true } }

    /// Whether the answer being read comes in chunks, and may never end.
    var isStream: Bool { if case .chunks = part { true } else { false } }

    /// A request was passed on; one for the head alone is answered without a body.
    package mutating func expect(isHead: Bool) { asked.append(isHead) }

    package mutating func take(_ bytes: some Collection<UInt8>) {
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            switch part {
            case .head: takeHead(&rest)
            case .body(let left):
                let taken = rest.prefix(left).count
                rest = rest.dropFirst(taken)
                if taken == left { end() } else { part = .body(left: left - taken) }
            case .chunks(var body):
                guard let taken = try? body.take(rest) else { return part = .rest }
                rest = rest.dropFirst(taken)
                body.forgetContent()
                if body.isComplete { end() } else { part = .chunks(body) }
            case .rest: return
            }
        }
    }

    private mutating func takeHead(_ bytes: inout ArraySlice<UInt8>) {
        while let byte = bytes.popFirst() {
            head.append(byte)
            if byte == 0x0a, head.suffix(4).elementsEqual([0x0d, 0x0a, 0x0d, 0x0a]) { return begin() }
        }
    }

    private mutating func begin() {
        let lines = String(decoding: head, as: UTF8.self).lowercased().split(separator: "\r\n")
        head = []
        func field(_ name: String) -> String? {
            lines.first { $0.hasPrefix(name + ":") }
                .map { String($0.dropFirst(name.count + 1).drop { $0 == " " }) }
        }
        let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        switch status {
        case 101: (part, isWebSocket) = (.rest, true)
        // The answer itself is still to come.
        case 100..<200: return
        case _ where asked.first == true, 204, 304: end()
        case _ where field("transfer-encoding") != nil:
            part = .chunks(ChunkedBody(atMost: .max, extras: .max))
        default:
            guard let length = field("content-length").flatMap({ Int($0) }) else { return part = .rest }
            if length == 0 { end() } else { part = .body(left: length) }
        }
    }

    private mutating func end() {
        part = .head
        _ = asked.popFirst()
    }
}
