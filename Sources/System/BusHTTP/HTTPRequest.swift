import CCurl

/// A request with the method POST, and how it is sent.
package struct HTTPRequest: Sendable {
    package let url: String
    /// Lines, such as `Content-Type: application/json`.
    package let headers: [String]
    package let body: [UInt8]
    /// How long connecting may take, TLS included.
    package let connecting: Duration
    /// How long the whole may take; nil: a stream, which ends when it ends.
    package let timeout: Duration?
    /// Bytes of the longest answer.
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

/// Whose certificates are trusted, and which one we show: paths of PEM files. A server's certificate and its name are checked
/// always.
package struct HTTPTrust: Sendable {
    /// Nil: the authorities that the system trusts.
    package var authority: String?
    package var certificate: String?
    package var key: String?

    package init(authority: String?, certificate: String? = nil, key: String? = nil) {
        (self.authority, self.certificate, self.key) = (authority, certificate, key)
    }
}

/// Why there is no whole answer.
package struct HTTPFailure {
    /// `CURLE_WRITE_ERROR`: the answer is too long, or its receiver has enough.
    package let code: CURLcode
    /// What went wrong, in libcurl's words.
    package let words: String
    /// The status of HTTP; 0: none came.
    package let status: Int
    /// Something of the request has left, so the server may act on it.
    package let wasSent: Bool
}
