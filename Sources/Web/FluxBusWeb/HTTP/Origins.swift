import FlyingFox

/// Pages of other servers that may use `/v1` from a browser, by their origins: none, unless they are named. They bring a token; no
/// cookie counts for them.
package struct Origins: Sendable {
    private let named: Set<String>

    /// - Parameter named: As `init(parsing:)` has taken them.
    package init(_ named: [String]) { self.named = Set(named) }

    /// An origin as browsers write it: scheme, name and port, without a path; nil where a text is none.
    package static func parse(_ text: String) -> String? {
        let text = text.lowercased()
        guard let scheme = ["https://", "http://"].first(where: text.hasPrefix) else { return nil }
        let host = text.dropFirst(scheme.count)
        let isHost = host.utf8.allSatisfy { (0x21...0x7e).contains($0) && !"/?#@*,\"\\".utf8.contains($0) }
        return isHost && !host.isEmpty && host.first != ":" && host.last != ":" ? text : nil
    }

    /// The origin of the page that asks, if it is one of these.
    private func origin(of request: HTTPRequest) -> String? {
        guard let origin = request.headers[HTTPHeader("Origin")], named.contains(origin) else { return nil }
        return origin
    }

    /// The answer to what a page asks, with the header fields by which its browser shows it.
    ///
    /// - Parameter body: Answers the request, which has no cookie where it is from such a page.
    func answer(_ request: HTTPRequest, _ body: (HTTPRequest) async -> HTTPResponse) async -> HTTPResponse {
        guard !named.isEmpty else { return await body(request) }
        guard let origin = origin(of: request) else {
            var response = await body(request)
            response.headers[HTTPHeader("Vary")] = "Origin"
            return response
        }
        var response: HTTPResponse
        if request.method == .OPTIONS {
            // Before a request with a token a browser asks whether it may be sent.
            response = .make(.noContent)
            for (name, value) in Self.preflight { response.headers[HTTPHeader(name)] = value }
        } else {
            var request = request
            request.headers[.cookie] = nil
            response = await body(request)
            response.headers[HTTPHeader("Access-Control-Expose-Headers")] = "ETag, Retry-After"
            response.headers[HTTPHeader("Cross-Origin-Resource-Policy")] = "cross-origin"
        }
        response.headers[HTTPHeader("Access-Control-Allow-Origin")] = origin
        response.headers[HTTPHeader("Vary")] = "Origin"
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
