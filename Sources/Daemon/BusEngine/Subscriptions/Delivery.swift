/// What a connection subscribes to, and when it is next told.
struct Delivery {
    /// In ascending order of their numbers.
    private(set) var subscriptions = SubscriptionList()
    private(set) var nextNumber = 1
    /// The entries of the log that are at hand, while subscriptions still receive past actions.
    private(set) var past: PastEntries?
    /// Until when the subscriptions take no live changes, in milliseconds since 1970: there are too many like them to
    /// notify each at once.
    private(set) var restsUntil = 0
    /// The connection is in the list of those that wait for that time.
    private(set) var isResting = false
    /// The events written for it.
    private(set) var events = 0

    @inline(__always)
    mutating func note(events: Int = 1) { self.events &+= events }

    mutating func takeNumber() -> Int {
        defer { nextNumber += 1 }
        return nextNumber
    }

    /// Numbers below this one were used in another daemon.
    mutating func begin(at number: Int) { nextNumber = number }

    mutating func add(_ subscription: Subscription) { subscriptions.append(subscription) }
    mutating func replace(at place: Int, by subscription: Subscription) {
        subscriptions[place] = subscription
    }
    mutating func remove(where isLeaving: (Subscription) -> Bool) {
        subscriptions.removeAll(where: isLeaving)
    }

    mutating func keep(_ entries: PastEntries?) { past = entries }

    mutating func rest(until time: Int) { restsUntil = max(restsUntil, time) }

    /// True if it was not resting before.
    mutating func beginRest() -> Bool {
        defer { isResting = true }
        return !isResting
    }

    mutating func endRest() { isResting = false }
}
