import BusEffects
import FluxBus

/// A request up to its empty line, checked: a request that HTTP forbids, or that two readers could understand differently, is
/// refused before anything else reads it.
package struct RequestHead: Equatable {
    /// The answer to a request that is refused.
    package struct Refusal: Error, Equatable {
        package let status: Int
        /// One sentence.
        package let reason: String

        /// The error code of the answer, as under `/v1`.
        package var code: BusError.Code {
            switch status {
            case 404: .unknownOperation
            case 413, 414, 431: .tooLarge
            case 503: .unavailable
            default: .invalidRequest
            }
        }

        package static let malformed = Refusal(status: 400, reason: "This is not an HTTP request.")
        static func bodyTooLarge(_ most: Int) -> Refusal {
            .init(status: 413, reason: "A request's body has at most \(most) bytes.")
        }
    }

    /// How the end of a request's body is found.
    package enum Framing: Equatable {
        case length(Int)
        /// The body is chunked; its content may have this many bytes.
        case chunked(atMost: Int)
    }

    /// The lines that are passed on, without those that say where a chunked body ends.
    private let lines: [String]
    package let framing: Framing
    /// The answer has no body.
    let isHead: Bool
    /// The connection shall become a WebSocket. Who offers another protocol is served in this one.
    package let isUpgrade: Bool
    /// The client sends its body when it hears that it may.
    package let expectsContinue: Bool
    /// The client wants no other request on this connection.
    package let isLast: Bool

    /// Those that the server behind knows.
    static let methods: Set<String> = [
        "GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT",
    ]

    /// Fields that a request may have only once.
    private static let single: Set<String> = [
        "host", "origin", "content-length", "transfer-encoding", "authorization", "upgrade", "cookie",
        "sec-websocket-key",
        "sec-websocket-version", "if-match", "if-none-match", "accept", "idempotency-key", "last-event-id",
    ]

    /// The field in which the client's address is passed on.
    package static let addressField = "x-client-address"

    /// Fields that are about a chunked body, which is passed on with its length, and without trailers.
    private static let chunking: Set<String> = ["transfer-encoding", "trailer"]

    /// - Parameters:
    ///   - text: The lines, each with its end, and the empty one.
    ///   - address: That of the client; nil where it has none, as on a Unix socket.
    package init(_ text: [UInt8], from address: String?, _ limits: FrontLimits) throws(Refusal) {
        var lines = try Self.lines(of: text)[...]
        let (method, target, isOld) = try Self.requestLine(lines.removeFirst(), limits)
        guard lines.count <= limits.fields else {
            throw Refusal(status: 431, reason: "A request has at most \(limits.fields) header fields.")
        }
        let hookFields = target.path.hasPrefix("/hooks/") ? limits.hookFields() : []
        var fields: [String: String] = [:]
        var passed = ["\(method) \(target.path) HTTP/1.\(isOld ? 0 : 1)"]
        if let authority = target.authority { passed.append("host: \(authority)") }
        for line in lines {
            let (name, bytes) = try Self.field(line)
            let isSingle = Self.single.contains(name) || hookFields.contains(name)
            let value = try Self.text(bytes, of: name, isSingle)
            if let other = fields[name] {
                guard !isSingle else {
                    throw Refusal(status: 400, reason: "The field \(name) has one value: send it once.")
                }
                fields[name] = other + "," + value
            } else {
                fields[name] = value
            }
            if name == Self.addressField || name == "expect" || Self.chunking.contains(name) { continue }
            if name == "host", target.authority != nil { continue }
            passed.append("\(name): \(value)")
        }
        if let address { passed.append("\(Self.addressField): \(address)") }
        guard fields["host"] != nil || (isOld && target.authority != nil) else {
            throw Refusal(status: 400, reason: "A request must name its host in the field Host.")
        }
        let isForBus = target.path.hasPrefix("/v1/") || target.path.hasPrefix("/hooks/")
        framing = try Self.framing(fields, isOld, atMost: isForBus ? limits.apiBody : limits.body)
        let options = Self.words(fields["connection"])
        let expectation = isOld ? nil : fields["expect"]?.lowercased()
        guard expectation == nil || expectation == "100-continue" else {
            throw Refusal(status: 417, reason: "The only expectation that is known is 100-continue.")
        }
        expectsContinue = expectation != nil && framing != .length(0)
        isHead = method == "HEAD"
        isUpgrade =
            method == "GET" && fields["upgrade"]?.lowercased() == "websocket" && options.contains("upgrade")
        isLast = options.contains("close") || (isOld && !options.contains("keep-alive"))
        if fields["upgrade"] != nil, !isUpgrade {
            passed.removeAll { $0.hasPrefix("upgrade: ") || $0.hasPrefix("connection: ") }
            passed.append("connection: \(isLast ? "close" : "keep-alive")")
        }
        self.lines = passed
    }

    /// The field Origin, also of a request that is refused; nil without one, and where there are several.
    static func origin(in text: [UInt8]) -> String? {
        let fields = ((try? lines(of: text)) ?? []).compactMap { try? field($0) }
        let values = fields.filter { $0.name == "origin" }.map(\.value)
        return values.count == 1 ? String(decoding: values[0], as: UTF8.self) : nil
    }

    /// What is passed on of a request.
    /// - Parameter length: That of the body, if it came in chunks.
    package func bytes(withLength length: Int? = nil) -> [UInt8] {
        let all = lines + (length.map { ["content-length: \($0)"] } ?? []) + ["", ""]
        return Array(all.joined(separator: "\r\n").utf8)
    }

    private static func lines(of text: [UInt8]) throws(Refusal) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        var start = 0
        while start < text.count - 2 {
            guard let end = text[start...].firstIndex(of: 0x0a), end > start, text[end - 1] == 0x0d else {
                throw .malformed
            }
            lines.append(Array(text[start..<(end - 1)]))
            start = end + 1
        }
        guard let first = lines.first, !first.isEmpty else { throw .malformed }
        return lines
    }

    private static func requestLine(
        _ line: [UInt8], _ limits: FrontLimits
    ) throws(Refusal) -> (method: String, target: RequestTarget, isOld: Bool) {
        let words = line.split(separator: 0x20, omittingEmptySubsequences: false)
        guard words.count == 3, !words[0].isEmpty, words[0].allSatisfy({ (0x41...0x5a).contains($0) }),
            !words[1].isEmpty, words[1].allSatisfy({ (0x21...0x7e).contains($0) })
        else { throw .malformed }
        let method = String(decoding: words[0], as: UTF8.self)
        guard methods.contains(method) else {
            throw Refusal(status: 501, reason: "This method is not known.")
        }
        guard words[1].count <= limits.target else {
            throw Refusal(status: 414, reason: "A request's target has at most \(limits.target) bytes.")
        }
        let version = String(decoding: words[2], as: UTF8.self)
        guard version == "HTTP/1.1" || version == "HTTP/1.0" else {
            throw Refusal(status: 505, reason: "Only HTTP/1.1 is supported.")
        }
        let target = try RequestTarget(String(decoding: words[1], as: UTF8.self))
        return (method, target, version == "HTTP/1.0")
    }

    static func field(_ line: [UInt8]) throws(Refusal) -> (name: String, value: [UInt8]) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0,
            line[..<colon].allSatisfy({ HTTPAddress.isToken(Unicode.Scalar($0)) })
        else { throw .malformed }
        let blank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        let value = line[(colon + 1)...].drop(while: blank).reversed().drop(while: blank).reversed()
        guard value.allSatisfy(isTextByte) else { throw .malformed }
        return (String(decoding: line[..<colon], as: UTF8.self).lowercased(), Array(value))
    }

    /// Only text is passed on, so that values that differ stay different. What this server knows is ASCII, as
    /// the library behind cuts off other blanks.
    private static func text(
        _ value: [UInt8], of name: String, _ isSingle: Bool
    ) throws(Refusal) -> String {
        let isASCII = value.allSatisfy { $0 < 0x80 }
        // A neighbour's cookie may hold bytes in another encoding; ours never does.
        if name == "cookie", !isASCII {
            return String(decoding: value.map { $0 < 0x80 ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
        }
        if isASCII || !isSingle, let text = String(validating: value, as: UTF8.self) {
            return text
        }
        let coding = isSingle ? "ASCII" : "UTF-8"
        throw Refusal(status: 400, reason: "The header field \(name) holds bytes that are not \(coding).")
    }

    /// No control character but a tab.
    static func isTextByte(_ byte: UInt8) -> Bool { (byte >= 0x20 && byte != 0x7f) || byte == 0x09 }

    private static func framing(
        _ fields: [String: String], _ isOld: Bool, atMost most: Int
    ) throws(Refusal) -> Framing {
        if let coding = fields["transfer-encoding"] {
            guard !isOld, fields["content-length"] == nil else { throw .malformed }
            if coding.lowercased() == "chunked" { return .chunked(atMost: most) }
            guard words(coding).contains(where: { $0 != "chunked" }) else { throw .malformed }
            throw Refusal(status: 501, reason: "The only transfer coding that is known is chunked.")
        }
        guard let text = fields["content-length"] else { return .length(0) }
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { throw .malformed }
        guard let length = Int(text), length <= most else { throw .bodyTooLarge(most) }
        return .length(length)
    }

    private static func words(_ text: String?) -> [String] {
        (text ?? "").split(separator: ",").map { word in
            String(word.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()).lowercased()
        }
    }
}
