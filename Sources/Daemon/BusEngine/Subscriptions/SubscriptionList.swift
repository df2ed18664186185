/// The subscriptions of one connection. Most have one, which is kept here; only more take room of their own.
struct SubscriptionList: RandomAccessCollection {
    private(set) var first: Subscription?
    private var others: ContiguousArray<Subscription> = []

    /// Whether there are more than one.
    @inline(__always)
    var areSeveral: Bool { !others.isEmpty }

    var startIndex: Int { 0 }
    var endIndex: Int { first == nil ? 0 : others.count &+ 1 }

    subscript(place: Int) -> Subscription {
        get { place == 0 ? first! : others[place - 1] }
        set { if place == 0 { first = newValue } else { others[place - 1] = newValue } }
    }

    mutating func append(_ subscription: Subscription) {
        if first == nil { first = subscription } else { others.append(subscription) }
    }

    mutating func removeAll(where isLeaving: (Subscription) -> Bool) {
        let staying = filter { !isLeaving($0) }
        (first, others) = (staying.first, ContiguousArray(staying.dropFirst()))
    }
}
