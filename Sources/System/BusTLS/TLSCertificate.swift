internal import COpenSSL
import Glibc

/// A certificate from a file of PEM text.
package final class TLSCertificate {
    let pointer: OpaquePointer

    /// Takes over the pointer.
    private init(_ pointer: OpaquePointer) { self.pointer = pointer }

    deinit { X509_free(pointer) }

    /// All certificates in the text, in its order; other things in it are passed over.
    package static func all(inPEM bytes: [UInt8]) throws(TLSFailure) -> [TLSCertificate] {
        var found: [TLSCertificate] = []
        let source = MemoryText(bytes)
        ERR_clear_error()
        while let pointer = PEM_read_bio_X509(source.bio, nil, PEMPassword.none, nil) {
            found.append(TLSCertificate(pointer))
        }
        // The text's end is an error of OpenSSL's, and the only one that is none.
        let isAtEnd = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE
        guard isAtEnd || ERR_peek_last_error() == 0 else { throw .queued() }
        ERR_clear_error()
        guard !found.isEmpty else { throw TLSFailure(.unusable, "there is no certificate in it") }
        return found
    }

    /// Since when it has been invalid; nil while it is valid or will be.
    package var expired: String? {
        let end = X509_get0_notAfter(pointer)
        return X509_cmp_current_time(end) < 0 ? Self.text(of: end) : nil
    }

    /// When it becomes valid; nil when it is, or was.
    package var begins: String? {
        let start = X509_get0_notBefore(pointer)
        return X509_cmp_current_time(start) > 0 ? Self.text(of: start) : nil
    }

    private static func text(of time: UnsafePointer<ASN1_TIME>?) -> String {
        let text = MemoryText()
        ASN1_TIME_print(text.bio, time)
        return text.text
    }
}

/// A private key from a file of PEM text.
package final class TLSKey {
    let pointer: OpaquePointer

    deinit { EVP_PKEY_free(pointer) }

    package init(inPEM bytes: [UInt8]) throws(TLSFailure) {
        let source = MemoryText(bytes)
        ERR_clear_error()
        guard let pointer = PEM_read_bio_PrivateKey(source.bio, nil, PEMPassword.none, nil) else {
            let reason = ERR_GET_REASON(ERR_peek_error())
            switch reason {
            case PEM_R_NO_START_LINE, Int32(ERR_R_UNSUPPORTED):
                throw TLSFailure(.unusable, "there is no private key in it")
            case PEM_R_BAD_PASSWORD_READ, PEM_R_PROBLEMS_GETTING_PASSWORD, PEM_R_BAD_DECRYPT:
                throw TLSFailure(.unusable, "it is encrypted, and nobody is there to give the password")
            default: throw .queued()
            }
        }
        ERR_clear_error()
        self.pointer = pointer
    }

    /// Whether it is the key of a certificate.
    package func fits(_ certificate: TLSCertificate) -> Bool {
        defer { ERR_clear_error() }
        return X509_check_private_key(certificate.pointer, pointer) == 1
    }
}

/// OpenSSL asks the terminal for the password of an encrypted file, unless somebody else answers: there is none.
private enum PEMPassword {
    static let none:
        @convention(c) (UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?) -> Int32 = {
            _, _, _, _ in -1
        }
}

/// Text that OpenSSL reads or writes.
final class MemoryText {
    let bio: OpaquePointer

    init(_ bytes: [UInt8] = []) {
        bio = TLSMemory.bio()
        if !bytes.isEmpty { BIO_write(bio, bytes, Int32(clamping: bytes.count)) }
    }

    deinit { BIO_free(bio) }

    var text: String {
        var start: UnsafeRawPointer?
        let count = tls_held(bio, &start)
        return String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
    }
}

enum TLSMemory {
    /// A new memory BIO. OpenSSL fails to make one only when there is no memory.
    static func bio() -> OpaquePointer {
        guard let bio = BIO_new(BIO_s_mem()) else {
            preconditionFailure("There is no memory for the text of a TLS connection.")
        }
        return bio
    }
}
