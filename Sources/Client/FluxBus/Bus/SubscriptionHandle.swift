import Synchronization

/// The lifetime of a subscription: it ends when this is cancelled or released.
public final class SubscriptionHandle: Sendable {
    /// Raised once, read by the bus's thread.
    final class Flag: Sendable {
        private let state = Atomic<Bool>(false)
        var isRaised: Bool { state.load(ordering: .acquiring) }
        /// True for the first call only.
        func raise() -> Bool { !state.exchange(true, ordering: .acquiringAndReleasing) }
    }

    /// Its number among the subscriptions of one bus, as in notices.
    public let number: Int
    let flag = Flag()
    private let core: BusCore

    init(number: Int, core: BusCore) {
        self.number = number
        self.core = core
    }

    deinit { cancel() }

    /// Ends the subscription. A callback that runs at this moment is not waited for; none begins afterwards.
    public func cancel() {
        if flag.raise() { core.hand(over: .cancelSubscription(number)) }
    }
}
