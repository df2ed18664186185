import FlyingFox
import FoundationEssentials

extension HTTPResponse {
    /// An answer with the header fields that all have.
    static func make(
        _ status: HTTPStatusCode, _ body: Data = Data(), type: String = "text/plain; charset=utf-8",
        fields: [(name: String, value: String)] = SecurityFields.data
    ) -> HTTPResponse {
        var headers = HTTPHeaders()
        for field in fields { headers[HTTPHeader(field.name)] = field.value }
        if !body.isEmpty { headers[.contentType] = type }
        return HTTPResponse(statusCode: status, headers: headers, body: body)
    }

    /// One sentence.
    static func sentence(_ status: HTTPStatusCode, _ text: String) -> HTTPResponse {
        make(status, Data((text + "\n").utf8))
    }

    /// The same without its body, whose length it still tells: for HEAD, and for what a browser has already.
    func withoutBody() -> HTTPResponse {
        guard case .httpBody(let body) = payload else { return self }
        var headers = headers
        headers[.contentLength] = String(body.count ?? 0)
        return HTTPResponse(statusCode: statusCode, headers: headers)
    }
}
