import BusJSON
import BusProtocol
import BusState

/// What several subscriptions have in common: the stores, the selection and the format. A change is encoded
/// once per shape and commit; its subscribers share the bytes.
final class Shape {
    /// All that makes two subscriptions alike.
    struct Key: Hashable {
        let pattern: AddressPattern
        let pointers: [[String]]?
        let format: Format
        let cause: Bool
        let actions: Bool
    }

    enum Format: String, CaseIterable { case merge, patch, state }

    let key: Key
    let selection: Selection?

    /// Wants every store of the types that the pattern names; else `members` are its stores.
    let wantsWholeTypes: Bool
    /// The stores that match, where the pattern names some of a type only.
    @exclusivity(unchecked) var members: Set<Int32> = []

    /// In no order; each knows its place.
    @exclusivity(unchecked) private(set) var subscribers: ContiguousArray<Subscription> = []
    /// How many of them lag behind and take nothing live.
    @exclusivity(unchecked) var lagging = 0

    /// The last commit that its subscribers were told of, and when, in milliseconds since 1970.
    @exclusivity(unchecked) var lastTold: Int
    @exclusivity(unchecked) var lastToldAt: Int

    /// Its place among the shapes of the commit being made; -1 outside one.
    @exclusivity(unchecked) var scratch = -1
    /// The bytes that its subscribers share in this turn.
    @exclusivity(unchecked) var run: ByteWriter?

    init(key: Key, selection: Selection?, revision: Int, now: Int) {
        self.key = key
        self.selection = selection
        wantsWholeTypes = key.pattern.name.isAny
        lastTold = revision
        lastToldAt = now
    }

    var hasLiveSubscribers: Bool { subscribers.count > lagging }

    func add(_ subscription: Subscription) {
        subscription.place = subscribers.count
        subscribers.append(subscription)
    }

    func remove(_ subscription: Subscription) {
        let last = subscribers.removeLast()
        if last !== subscription {
            subscribers[subscription.place] = last
            last.place = subscription.place
        }
    }
}
