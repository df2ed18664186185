import FlyingFox
import FlyingSocks
import Synchronization

/// Whom a conversation is with.
struct Browser: Sendable {
    /// Where it is.
    let address: String?
    /// Whether its session goes on; asked for everything that passes.
    let isSignedIn: @Sendable () -> Bool
}

/// All conversations that go on, to end them together.
final class Conversations: Sendable {
    private struct State {
        var last = 0
        var open: [Int: Weak] = [:]
        var isEnding = false
    }

    private struct Weak { weak var conversation: Conversation? }

    private let pool: any AsyncSocketPool
    private let state = Mutex(State())

    init(_ pool: any AsyncSocketPool) { self.pool = pool }

    private static let ending = WSCloseCode(1001, reason: "fluxbus-web is shutting down.")

    /// How many there are.
    var count: Int { state.withLock { $0.open.count } }

    func handler(_ bus: BusAccess, with browser: Browser) -> some WSHandler {
        Handler(conversations: self, bus: bus, browser: browser)
    }

    /// Ends all, and those that begin from now on.
    func end() {
        let open = state.withLock { state in
            state.isEnding = true
            return state.open.values.compactMap(\.conversation)
        }
        for conversation in open { conversation.end(Self.ending) }
    }

    /// Ends those of browsers that have been signed out.
    func endSignedOut() {
        let open = state.withLock { $0.open.values.compactMap(\.conversation) }
        for conversation in open { conversation.endIfSignedOut() }
    }

    private func begin(
        _ client: AsyncThrowingStream<WSFrame, any Error>, with browser: Browser, _ bus: BusAccess
    ) -> Conversation {
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        let conversation = Conversation(client, with: browser, bus, pool) { [weak self] in
            self?.state.withLock { _ = $0.open.removeValue(forKey: number) }
        }
        let isEnding = state.withLock { state in
            state.open[number] = Weak(conversation: conversation)
            return state.isEnding
        }
        if isEnding { conversation.end(Self.ending) }
        return conversation
    }

    private struct Handler: WSHandler {
        let conversations: Conversations
        let bus: BusAccess
        let browser: Browser

        func makeFrames(for client: AsyncThrowingStream<WSFrame, any Error>) -> AsyncStream<WSFrame> {
            let conversation = conversations.begin(client, with: browser, bus)
            return AsyncStream { await conversation.next() }
        }
    }
}
