import FlyingFox

/// Pages of other servers that may use `/v1` from a browser, by their origins: none, unless they are named. They bring a token; no
/// cookie counts for them.
package struct Origins: Sendable {
    private let named: Set<String>

    /// - Parameter named: As `init(parsing:)` has taken them.
    package init(_ named: [String]) { self.named = Set(named) }

    /// An origin as browsers write it: scheme, name and port, unless that is the scheme's own, without a path; nil where a text is none.
    package static func parse(_ text: String) -> String? {
        let text = text.lowercased()
        guard let scheme = ["https://", "http://"].first(where: text.hasPrefix) else { return nil }
        let host = text.dropFirst(scheme.count)
        let isHost = host.utf8.allSatisfy { (0x21...0x7e).contains($0) && !"/?#@*,\"\\".utf8.contains($0) }
        guard isHost, !host.isEmpty, host.first != ":", host.last != ":" else { return nil }
        let port = scheme == "https://" ? ":443" : ":80"
        return text.hasSuffix(port) ? String(text.dropLast(port.count)) : text
    }

    /// The header fields by which a browser shows an answer to the page that asks, if its origin is one of these.
    package func fields(for origin: String?) -> [(name: String, value: String)] {
        if named.isEmpty { return [] }
        guard let origin, named.contains(origin) else { return [("Vary", "Origin")] }
        return [
            ("Vary", "Origin"), ("Access-Control-Allow-Origin", origin),
            ("Access-Control-Expose-Headers", "ETag, Retry-After"),
            ("Cross-Origin-Resource-Policy", "cross-origin"),
        ]
    }

    /// The answer to what a page asks, with the header fields by which its browser shows it.
    ///
    /// - Parameter body: Answers the request, which has no cookie where it is from such a page.
    func answer(_ request: HTTPRequest, _ body: (HTTPRequest) async -> HTTPResponse) async -> HTTPResponse {
        let origin = request.headers[HTTPHeader("Origin")]
        var (request, response) = (request, HTTPResponse.make(.noContent))
        let isNamed = origin.map(named.contains) ?? false
        if isNamed { request.headers[.cookie] = nil }
        if isNamed, request.method == .OPTIONS {
            // Before a request with a token a browser asks whether it may be sent.
            for (name, value) in Self.preflight { response.headers[HTTPHeader(name)] = value }
        } else {
            response = await body(request)
        }
        for (name, value) in fields(for: origin) { response.headers[HTTPHeader(name)] = value }
        return response
    }

    private static let preflight = [
        ("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, DELETE"),
        (
            "Access-Control-Allow-Headers",
            "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, traceparent"
        ), ("Access-Control-Max-Age", "600"),
    ]
}
