internal import COpenSSL

/// What the sessions of one listener, or of one client, share: certificate, key, trusted authorities.
///
/// TLS 1.2 and 1.3 only, with ciphers that give both forward secrecy and authenticated encryption; no compression, no
/// renegotiation. Sessions are never resumed: connections to a bus last long, and so each new one has its certificate verified
/// by the current context.
///
/// `@unchecked Sendable`: nothing changes after `init`, and OpenSSL counts references to a context atomically.
package final class TLSContext: @unchecked Sendable {
    let pointer: OpaquePointer

    /// The ciphers of TLS 1.2; all those of 1.3 have these properties.
    private static let ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20"
    /// OpenSSL's level for 112 bits of security: RSA keys of at least 2048 bits, and no SHA-1.
    private static let securityLevel: Int32 = 2

    deinit { SSL_CTX_free(pointer) }

    /// - Parameters:
    ///   - chain: The server's certificate, then those of its issuers.
    ///   - clients: The authorities that issue clients' certificates; if there are any, clients are asked for a certificate.
    ///   - requiresCertificate: Whether a client without a certificate is refused; matters only if there are `clients`.
    package init(
        serverWith chain: [TLSCertificate], _ key: TLSKey, clients: [TLSCertificate] = [],
        requiresCertificate: Bool = false
    ) throws(TLSFailure) {
        pointer = try Self.context(TLS_server_method())
        try show(chain, key)
        guard !clients.isEmpty else { return }
        try trust(clients)
        for authority in clients { SSL_CTX_add_client_CA(pointer, authority.pointer) }
        let mode = SSL_VERIFY_PEER | (requiresCertificate ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0)
        SSL_CTX_set_verify(pointer, mode, nil)
    }

    /// - Parameters:
    ///   - authorities: The authorities that servers' certificates must come from; nil: those that the system trusts.
    ///   - chain: The client's certificate, then those of its issuers; empty, without a key, if it has none.
    package init(
        clientTrusting authorities: [TLSCertificate]?, chain: [TLSCertificate] = [], _ key: TLSKey? = nil
    ) throws(TLSFailure) {
        pointer = try Self.context(TLS_client_method())
        if let authorities {
            try trust(authorities)
        } else {
            SSL_CTX_set_default_verify_paths(pointer)
            ERR_clear_error()
        }
        SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
        if let key { try show(chain, key) }
    }

    private static func context(_ method: OpaquePointer?) throws(TLSFailure) -> OpaquePointer {
        guard let context = SSL_CTX_new(method) else { throw .queued() }
        SSL_CTX_set_options(context, tls_options)
        SSL_CTX_set_security_level(context, securityLevel)
        tls_release_buffers(context)
        tls_forget_sessions(context)
        SSL_CTX_set_num_tickets(context, 0)
        guard tls_set_versions(context, TLS1_2_VERSION, TLS1_3_VERSION) == 1,
            SSL_CTX_set_cipher_list(context, ciphers) == 1
        else {
            SSL_CTX_free(context)
            throw .queued()
        }
        return context
    }

    private func show(_ chain: [TLSCertificate], _ key: TLSKey) throws(TLSFailure) {
        ERR_clear_error()
        guard let first = chain.first else { throw TLSFailure(.unusable, "there is no certificate in it") }
        guard SSL_CTX_use_certificate(pointer, first.pointer) == 1 else { throw .queued() }
        for issuer in chain.dropFirst() {
            guard tls_add_to_chain(pointer, issuer.pointer) == 1 else { throw .queued() }
        }
        guard SSL_CTX_use_PrivateKey(pointer, key.pointer) == 1 else { throw .queued() }
    }

    private func trust(_ authorities: [TLSCertificate]) throws(TLSFailure) {
        let store = SSL_CTX_get_cert_store(pointer)
        for authority in authorities {
            guard X509_STORE_add_cert(store, authority.pointer) == 1 else { throw .queued() }
        }
    }
}
