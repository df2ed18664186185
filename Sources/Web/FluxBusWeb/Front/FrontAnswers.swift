/// The answers that the front gives itself, with the same header fields as all others.
package struct FrontAnswers {
    package let fields: [(name: String, value: String)]

    package init(fields: [(name: String, value: String)]) { self.fields = fields }

    private static let phrases = [
        400: "Bad Request", 411: "Length Required", 413: "Content Too Large", 414: "URI Too Long",
        431: "Request Header Fields Too Large", 503: "Service Unavailable",
        505: "HTTP Version Not Supported",
    ]

    package func bytes(_ refusal: RequestHead.Refusal) -> [UInt8] {
        let body = refusal.reason + "\n"
        var lines = ["HTTP/1.1 \(refusal.status) \(Self.phrases[refusal.status] ?? "Refused")"]
        lines += fields.map { "\($0.name): \($0.value)" }
        lines += [
            "Content-Type: text/plain; charset=utf-8", "Content-Length: \(body.utf8.count)",
            "Connection: close", "", body,
        ]
        return Array(lines.joined(separator: "\r\n").utf8)
    }
}
