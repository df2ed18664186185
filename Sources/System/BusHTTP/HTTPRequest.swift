import CCurl

/// A POST request, and how to send it.
package struct HTTPRequest: Sendable {
    package let url: String
    /// Header lines, such as `Content-Type: application/json`.
    package let headers: [String]
    package let body: [UInt8]
    /// How long connecting may take, TLS included.
    package let connecting: Duration
    /// How long the whole exchange may take; nil for a stream, which has no limit.
    package let timeout: Duration?
    /// The longest answer that is accepted, in bytes.
    package let longestAnswer: Int
    package let trust: HTTPTrust

    package init(
        _ url: String, headers: [String], body: [UInt8], connecting: Duration, timeout: Duration?,
        longestAnswer: Int, trust: HTTPTrust
    ) {
        (self.url, self.headers, self.body) = (url, headers, body)
        (self.connecting, self.timeout, self.longestAnswer) = (connecting, timeout, longestAnswer)
        self.trust = trust
    }
}

/// Whose certificates are trusted, and which one is presented: paths of PEM files. A server's certificate and name are always
/// checked.
package struct HTTPTrust: Sendable {
    /// If nil, the authorities that the system trusts.
    package var authority: String?
    package var certificate: String?
    package var key: String?

    package init(authority: String?, certificate: String? = nil, key: String? = nil) {
        (self.authority, self.certificate, self.key) = (authority, certificate, key)
    }
}

/// Why there is no complete answer.
package struct HTTPFailure {
    /// `CURLE_WRITE_ERROR`: the answer is too long, or its receiver wants no more.
    package let code: CURLcode
    /// What went wrong, in libcurl's words.
    package let words: String
    /// The HTTP status; 0 if none came.
    package let status: Int
    /// Whether any of the request was sent, so that the server may act on it.
    package let wasSent: Bool
}
