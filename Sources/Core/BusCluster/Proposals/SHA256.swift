internal import COpenSSL

/// SHA-256, as OpenSSL computes it: what chains members to one history has to be hard to bring about otherwise, because
/// clients choose what goes in.
package struct SHA256: ~Copyable {
    private let context: OpaquePointer

    package init() {
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
            preconditionFailure("There is no memory for a hash.")
        }
        self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    package mutating func add(_ bytes: UnsafeRawBufferPointer) {
        let isAdded = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
        precondition(isAdded == 1, "A hash that is not finished takes any bytes.")
    }

    package mutating func add(_ bytes: [UInt8]) { bytes.withUnsafeBytes { add($0) } }

    /// Adds a number, eight bytes long, so that what follows can't be taken for a part of it.
    package mutating func add(_ number: Int) {
        withUnsafeBytes(of: UInt64(bitPattern: Int64(number)).bigEndian) { add($0) }
    }

    /// The digest of all that was added; 32 bytes. Once only.
    package mutating func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        let isDone = EVP_DigestFinal_ex(context, &digest, nil)
        precondition(isDone == 1, "A hash is finished once.")
        return digest
    }
}
