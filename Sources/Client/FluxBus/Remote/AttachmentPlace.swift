import Flux
import Synchronization

/// Where an attachment's events find its local stores. They are tied after the subscription is there and its events have
/// begun to come; it holds them weakly, so that a lost attachment unties itself.
final class AttachmentPlace<State: Flux.State>: Sendable {
    private struct Weak {
        weak var store: StoreAttachment<State>?
    }

    private let content = Mutex(Weak())

    var store: StoreAttachment<State>? {
        get { content.withLock { $0.store } }
        set { content.withLock { $0.store = newValue } }
    }
}
