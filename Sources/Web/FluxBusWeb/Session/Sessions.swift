import COpenSSL
import Synchronization

/// Who has signed in, where the bus is reached as the user who runs this program: whoever has the link that was printed, and
/// then the browser that used it.
final class Sessions: Sendable {
    enum SignIn: Equatable {
        /// The value of the cookie.
        case cookie(String)
        case wrong
        /// There were too many wrong tokens: ask again after so many seconds.
        case tooMany(Int)
    }

    private struct State {
        var key: SessionKey
        /// Nil once it was used.
        var token: String?
        var guesses = AttemptLimit()
    }

    private let directory: String
    private let state: Mutex<State>
    private let now: @Sendable () -> Int
    /// What the link holds.
    let token: String

    /// - Parameters:
    ///   - directory: Where the key is kept.
    ///   - now: Seconds since 1970.
    init(in directory: String?, now: @escaping @Sendable () -> Int) throws(WebFailure) {
        guard let directory else {
            throw WebFailure(
                .configuration,
                "There is no place for the key that signs sessions; set STATE_DIRECTORY, XDG_STATE_HOME or HOME."
            )
        }
        self.directory = directory
        self.now = now
        token = Secret.hexadecimal(Secret.random())
        state = Mutex(State(key: try SessionKey(in: directory), token: token))
    }

    /// A token of 256 bits can't be guessed, so the one that is right is let in also while wrong ones are turned away:
    /// nobody keeps its owner out by guessing.
    func signIn(_ given: [UInt8]) -> SignIn {
        let time = now()
        return state.withLock { state in
            if let token = state.token, Secret.isSame(given, token.utf8) {
                state.token = nil
                return .cookie(SessionCookie(state.key.bytes).value(now: time))
            }
            if let wait = state.guesses.wait(now: time) { return .tooMany(wait) }
            state.guesses.addWrong(now: time)
            return .wrong
        }
    }

    /// - Parameter field: The header field Cookie.
    func isSignedIn(_ field: String?) -> Bool {
        let time = now()
        let cookie = state.withLock { SessionCookie($0.key.bytes) }
        return SessionCookie.values(in: field).contains { cookie.isGood($0, now: time) }
    }

    /// Ends all sessions, since a cookie may have been copied: their key is replaced.
    func signOut() throws(WebFailure) {
        let key = try SessionKey.replace(in: directory)
        state.withLock { $0.key = key }
    }
}

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
    package static func signature(of bytes: some Collection<UInt8>, with key: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: 32)
        var length = 0
        let bytes = Array(bytes)
        let result = EVP_Q_mac(
            nil, "HMAC", nil, "SHA256", nil, key, key.count, bytes, bytes.count, &code, code.count, &length)
        precondition(result != nil && length == 32, "OpenSSL has no HMAC.")
        return code
    }
}

/// What a browser shows that has signed in: when that ends, signed by the key. Pure.
package struct SessionCookie {
    package static let name = "fluxbus-session"
    package static let lifetime = 12 * 3600

    private let key: [UInt8]

    package init(_ key: [UInt8]) { self.key = key }

    /// A new value.
    ///
    /// - Parameter now: Seconds since 1970.
    package func value(now: Int) -> String {
        let text = "\(now + Self.lifetime).\(Secret.hexadecimal(Secret.random(count: 8)))"
        return "\(text).\(signature(of: text))"
    }

    package func isGood(_ value: some StringProtocol, now: Int) -> Bool {
        guard let dot = value.lastIndex(of: ".") else { return false }
        let (text, given) = (value[..<dot], value[value.index(after: dot)...])
        guard Secret.isSame(given.utf8, signature(of: String(text)).utf8) else { return false }
        guard let end = text.split(separator: ".").first.flatMap({ Int($0) }) else { return false }
        // One that is too far away was made by a clock that was wrong.
        return now < end && end <= now + Self.lifetime
    }

    private func signature(of text: String) -> String {
        Secret.hexadecimal(Secret.signature(of: "fluxbus web session 1\n\(text)".utf8, with: key))
    }

    /// The value in the header field Cookie, which may hold others of the same host.
    package static func values(in field: String?) -> [Substring] {
        (field ?? "").split(separator: ";").compactMap { pair in
            let pair = pair.drop { $0 == " " }
            return pair.hasPrefix(name + "=") ? pair.dropFirst(name.count + 1) : nil
        }
    }
}

/// How many wrong guesses there may be within a time. Pure; times are seconds.
package struct AttemptLimit {
    private static let most = 10
    private static let window = 60
    private var wrong: [Int] = []

    package init() {}

    /// Seconds until another guess is looked at; nil: now.
    package mutating func wait(now: Int) -> Int? {
        wrong.removeAll { $0 <= now - Self.window || $0 > now }
        guard wrong.count >= Self.most, let oldest = wrong.first else { return nil }
        return max(1, oldest + Self.window - now)
    }

    package mutating func addWrong(now: Int) { wrong.append(now) }

    /// One that was added at this time was not wrong.
    mutating func takeBack(_ time: Int) {
        if let index = wrong.lastIndex(of: time) { wrong.remove(at: index) }
    }

    /// Whether none counts any more.
    func isEmpty(now: Int) -> Bool { wrong.allSatisfy { $0 <= now - Self.window || $0 > now } }
}
