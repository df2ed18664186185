internal import COpenSSL

/// One end of a TLS connection, without a socket: what came from the peer goes in by `receive`, what is to be sent to it
/// stands in `output`; plain bytes come out by `read` and go in by `write`. Nothing here waits.
///
/// After each call there may be output, also after one that throws: the alert that tells the peer why. After a failure the
/// session gives nothing but that output.
///
/// Confined to one owner at a time.
package final class TLSSession {
    package enum Side {
        case server
        /// The server's certificate has to be for this host, a name or an address.
        case client(host: String)
    }

    /// The result of reading.
    package enum Reading: Equatable {
        case bytes(Int)
        /// There is no more before the peer sends more.
        case nothingYet
        /// The peer has finished sending.
        case end
    }

    /// The most bytes that one record carries.
    package static let record = 16 << 10

    private let ssl: OpaquePointer
    /// They belong to `ssl`.
    private let fromPeer = TLSMemory.bio()
    private let toPeer = TLSMemory.bio()
    private var hasFailed = false
    /// Both ends agree on keys, and each one's certificate is verified as far as it has to be.
    package private(set) var isEstablished = false

    package init(_ context: TLSContext, as side: Side) {
        guard let ssl = SSL_new(context.pointer) else {
            preconditionFailure("There is no memory for a TLS connection.")
        }
        self.ssl = ssl
        SSL_set_bio(ssl, fromPeer, toPeer)
        switch side {
        case .server: SSL_set_accept_state(ssl)
        case .client(let host):
            SSL_set_connect_state(ssl)
            expect(host)
        }
    }

    deinit { SSL_free(ssl) }

    private func expect(_ host: String) {
        let parameters = SSL_get0_param(ssl)
        X509_VERIFY_PARAM_set_hostflags(parameters, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
        if X509_VERIFY_PARAM_set1_ip_asc(parameters, host) == 1 { return }
        ERR_clear_error()
        let isSet = X509_VERIFY_PARAM_set1_host(parameters, host, host.utf8.count)
        precondition(isSet == 1, "There is no memory for a host's name.")
        _ = tls_set_server_name(ssl, host)
    }

    // MARK: - The peer's side

    /// Takes what the peer has sent.
    package func receive(_ bytes: UnsafeRawBufferPointer) {
        if !bytes.isEmpty, !hasFailed { BIO_write(fromPeer, bytes.baseAddress, Int32(clamping: bytes.count)) }
    }

    /// What is to be sent to the peer; valid until the next call.
    package var output: UnsafeRawBufferPointer {
        var start: UnsafeRawPointer?
        let count = tls_held(toPeer, &start)
        return UnsafeRawBufferPointer(start: start, count: count)
    }

    package var hasOutput: Bool { BIO_ctrl_pending(toPeer) > 0 }

    /// So many bytes of the output have been sent.
    package func sent(_ count: Int) {
        withUnsafeTemporaryAllocation(byteCount: max(1, min(count, Self.record)), alignment: 16) { space in
            var left = count
            while left > 0 {
                let taken = BIO_read(toPeer, space.baseAddress, Int32(min(left, space.count)))
                precondition(taken > 0, "More was sent to a TLS peer than there was.")
                left -= Int(taken)
            }
        }
    }

    // MARK: - Our side

    /// Goes on with the handshake as far as the peer's bytes allow; true once it is complete.
    package func shakeHands() throws(TLSFailure) -> Bool {
        if isEstablished { return true }
        guard !hasFailed else { throw Self.failedBefore }
        ERR_clear_error()
        let result = SSL_do_handshake(ssl)
        if result == 1 {
            isEstablished = true
            return true
        }
        if try outcome(of: result) == .end {
            throw fail(TLSFailure(.violation, "the peer ended the handshake"))
        }
        return false
    }

    /// Decrypts at most so many bytes.
    package func read(into space: UnsafeMutableRawBufferPointer) throws(TLSFailure) -> Reading {
        guard !hasFailed else { throw Self.failedBefore }
        ERR_clear_error()
        let count = SSL_read(ssl, space.baseAddress, Int32(clamping: space.count))
        return count > 0 ? .bytes(Int(count)) : try outcome(of: count)
    }

    /// Encrypts all of it.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(TLSFailure) {
        guard !hasFailed else { throw Self.failedBefore }
        precondition(isEstablished, "Nothing can be written before the handshake is complete.")
        var written = 0
        while written < bytes.count {
            ERR_clear_error()
            let piece = UnsafeRawBufferPointer(rebasing: bytes[written...].prefix(Self.record))
            let count = SSL_write(ssl, piece.baseAddress, Int32(piece.count))
            // Memory always has room.
            guard count > 0 else { throw fail(TLSFailure(ending: ssl)) }
            written += Int(count)
        }
    }

    /// Tells the peer that nothing more will be written. What it sends can still be read.
    package func finish() {
        guard isEstablished, !hasFailed else { return }
        ERR_clear_error()
        SSL_shutdown(ssl)
        ERR_clear_error()
    }

    /// Who the peer is, where its certificate was verified.
    package var peer: TLSPeer? {
        guard isEstablished, SSL_get_verify_result(ssl) == Int(X509_V_OK),
            let certificate = SSL_get0_peer_certificate(ssl)
        else { return nil }
        return TLSPeer(certificate)
    }

    /// `TLSv1.3`, and the cipher.
    package var summary: String {
        let cipher = SSL_get_current_cipher(ssl).map { String(cString: SSL_CIPHER_get_name($0)) }
        return "\(String(cString: SSL_get_version(ssl))) \(cipher ?? "")"
    }

    private func outcome(of result: Int32) throws(TLSFailure) -> Reading {
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .nothingYet
        case SSL_ERROR_ZERO_RETURN: return .end
        default: throw fail(TLSFailure(ending: ssl))
        }
    }

    private func fail(_ failure: TLSFailure) -> TLSFailure {
        hasFailed = true
        return failure
    }

    private static let failedBefore = TLSFailure(.violation, "the connection has failed before")
}
