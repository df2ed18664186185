import FlyingFox
import FlyingSocks
import Synchronization

/// Who asks.
struct Caller: Sendable {
    /// Where from; nil where that is not known, as on a Unix socket.
    let address: String?
    /// The token of the bus that it brings; nil: it acts as this server, or brings it in a line of its own.
    var token: String?
    /// What the bus is told that it is.
    var client = "fluxbus-web"
    /// Whether its session goes on; asked for everything that passes.
    var isSignedIn: @Sendable () -> Bool = { true }
}

/// What is told to a client as long as both stay: over WebSocket, or as server-sent events.
protocol Talk: AnyObject, Sendable {
    /// This server ends.
    func end()
    func endIfSignedOut()
}

/// All conversations that go on, to end them together.
final class Conversations: Sendable {
    private struct State {
        var last = 0
        var open: [Int: Weak] = [:]
        var isEnding = false
    }

    private struct Weak { weak var talk: (any Talk)? }

    let pool: any AsyncSocketPool
    private let guesses: Guesses
    private let state = Mutex(State())

    init(_ pool: any AsyncSocketPool, _ guesses: Guesses) { (self.pool, self.guesses) = (pool, guesses) }

    /// How many there are.
    var count: Int { state.withLock { $0.open.count } }

    func handler(_ bus: BusAccess, with browser: Caller) -> some WSHandler {
        Handler(conversations: self, bus: bus, browser: browser)
    }

    /// Ends all, and those that begin from now on.
    func end() {
        let open = state.withLock { state in
            state.isEnding = true
            return state.open.values.compactMap(\.talk)
        }
        for talk in open { talk.end() }
    }

    /// Ends those of browsers that have been signed out.
    func endSignedOut() {
        let open = state.withLock { $0.open.values.compactMap(\.talk) }
        for talk in open { talk.endIfSignedOut() }
    }

    /// Makes a talk, which says when it is over.
    func begin<Kind: Talk>(_ make: (_ whenOver: @escaping @Sendable () -> Void) -> Kind) -> Kind {
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        let talk = make { [weak self] in self?.state.withLock { _ = $0.open.removeValue(forKey: number) } }
        let isEnding = state.withLock { state in
            state.open[number] = Weak(talk: talk)
            return state.isEnding
        }
        if isEnding { talk.end() }
        return talk
    }

    private struct Handler: WSHandler {
        let conversations: Conversations
        let bus: BusAccess
        let browser: Caller

        func makeFrames(for client: AsyncThrowingStream<WSFrame, any Error>) -> AsyncStream<WSFrame> {
            let conversation = conversations.begin {
                Conversation(
                    client, with: browser, bus, conversations.pool, conversations.guesses, whenOver: $0)
            }
            return AsyncStream { await conversation.next() }
        }
    }
}
