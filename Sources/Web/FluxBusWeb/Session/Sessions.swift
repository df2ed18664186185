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
