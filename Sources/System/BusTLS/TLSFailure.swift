internal import COpenSSL

/// Why TLS did not come about, or ended.
package struct TLSFailure: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Kind: Sendable {
        /// A file holds no usable certificate or key.
        case unusable
        /// The peer's certificate is not issued by an authority that is trusted.
        case untrusted
        /// The peer's certificate, or one that it is issued by, is no longer valid.
        case expired
        /// The peer's certificate, or one that it is issued by, is not valid yet.
        case notYetValid
        /// The server's certificate is for another host.
        case wrongName
        /// The client shows no certificate, and has to.
        case noCertificate
        /// The peer refuses our certificate, or that there is none.
        case refusedCertificate
        /// The peer refuses something else: the version, all ciphers.
        case refused
        /// What came is no TLS, or none that is allowed here.
        case violation
    }

    package let kind: Kind
    /// In OpenSSL's words, or ours: without a full stop.
    package let description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    /// The first error in OpenSSL's queue of this thread, which is empty afterwards.
    static func queued(_ kind: Kind = .unusable) -> TLSFailure {
        let code = ERR_peek_error()
        defer { ERR_clear_error() }
        return TLSFailure(kind, reason(code))
    }

    static func reason(_ code: UInt) -> String {
        guard code != 0, let text = ERR_reason_error_string(code) else { return "no reason given" }
        return String(cString: text)
    }

    /// What ended a session.
    init(ending ssl: OpaquePointer) {
        let code = ERR_peek_error()
        defer { ERR_clear_error() }
        let reason = ERR_GET_REASON(code)
        switch reason {
        case SSL_R_CERTIFICATE_VERIFY_FAILED:
            self.init(verification: SSL_get_verify_result(ssl))
        case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
            self.init(.noCertificate, "the client shows no certificate")
        case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, SSL_R_TLSV1_ALERT_UNKNOWN_CA,
            SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE,
            SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED, SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED,
            SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, SSL_R_TLSV1_ALERT_ACCESS_DENIED:
            self.init(.refusedCertificate, Self.reason(code))
        case (SSL_AD_REASON_OFFSET + 1)...(SSL_AD_REASON_OFFSET + 255):
            self.init(.refused, Self.reason(code))
        default:
            self.init(.violation, Self.reason(code))
        }
    }

    private init(verification result: Int) {
        let kind: Kind =
            switch Int32(result) {
            case X509_V_ERR_CERT_HAS_EXPIRED: .expired
            case X509_V_ERR_CERT_NOT_YET_VALID: .notYetValid
            case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH: .wrongName
            default: .untrusted
            }
        self.init(kind, String(cString: X509_verify_cert_error_string(result)))
    }
}
