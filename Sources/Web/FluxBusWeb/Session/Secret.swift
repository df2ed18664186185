import COpenSSL

/// Random bytes, hashes, and comparisons that tell nothing by the time they take.
package enum Secret {
    /// 256 bits: nobody guesses them.
    package static func random(count: Int = 32) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    package static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef")
        return bytes.reduce(into: "") { text, byte in
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
    }

    package static func isSame(_ one: some Collection<UInt8>, _ other: some Collection<UInt8>) -> Bool {
        let (one, other) = (Array(one), Array(other))
        return one.count == other.count && CRYPTO_memcmp(one, other, one.count) == 0
    }

    /// The SHA-256 of bytes.
    package static func hash(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        var length = 0
        let isDone = EVP_Q_digest(nil, "SHA256", nil, bytes.baseAddress, bytes.count, &digest, &length)
        precondition(isDone == 1 && length == 32, "OpenSSL has no SHA-256.")
        return digest
    }

    /// HMAC with SHA-256.
    package static func signature(of text: String, with key: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: 32)
        var length = 0
        let bytes = Array(text.utf8)
        let result = EVP_Q_mac(
            nil, "HMAC", nil, "SHA256", nil, key, key.count, bytes, bytes.count, &code, code.count, &length)
        precondition(result != nil && length == 32, "OpenSSL has no HMAC.")
        return code
    }
}
