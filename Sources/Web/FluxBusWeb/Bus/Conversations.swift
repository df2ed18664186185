import FlyingFox
import FlyingSocks
import Synchronization

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

    /// - Parameter address: The browser's.
    func handler(_ bus: BusAccess, from address: String?) -> some WSHandler {
        Handler(conversations: self, bus: bus, address: address)
    }

    /// Ends all, and those that begin from now on.
    func end() {
        let open = state.withLock { state in
            state.isEnding = true
            return state.open.values.compactMap(\.conversation)
        }
        for conversation in open { conversation.end(Self.ending) }
    }

    private func begin(
        _ client: AsyncThrowingStream<WSFrame, any Error>, from address: String?, _ bus: BusAccess
    ) -> Conversation {
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        let conversation = Conversation(client, from: address, bus, pool) { [weak self] in
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
        let address: String?

        func makeFrames(for client: AsyncThrowingStream<WSFrame, any Error>) -> AsyncStream<WSFrame> {
            let conversation = conversations.begin(client, from: address, bus)
            return AsyncStream { await conversation.next() }
        }
    }
}
