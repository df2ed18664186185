import BusMachine
import BusState

/// What several subscriptions have in common: the stores, the selection and the format. A change is encoded
/// once per group and commit; its subscribers share the bytes.
final class SubscriberGroup {
    let key: SubscriptionFilter
    /// The expression that chooses its stores; nil where all that match are wanted. Then `members` are those for which it
    /// holds now.
    let test: StoreTest?
    /// Those that were members, for subscribers that lag.
    @exclusivity(unchecked) private(set) var departures: DropLog
    /// Of one that wants actions: how many members it has of each type.
    private var membersOfTypes: [Int32: Int] = [:]
    private let selection: Selection?
    /// Where the access rules decide: what its subscribers see and want of each of its stores. Stores that are not in it
    /// are seen as a whole.
    private var partsSeen: [Int32: Selection] = [:]
    /// The group's serial number: the order of groups, where one is needed.
    let number: Int
    /// Who subscribed so first: it counts among what that user has, as long as there is any such subscription.
    unowned(unsafe) let maker: User
    let hasSelection: Bool
    /// Parts of some stores are all that its subscribers see.
    let seesParts: Bool
    /// Takes changes of whole states as merge patches, without a cause: what most subscriptions ask for.
    let isPlain: Bool

    /// Wants every store of the types that the pattern names; else `members` are its stores.
    let wantsWholeTypes: Bool
    /// The stores that match, where the pattern names some of a type only.
    @exclusivity(unchecked) private(set) var members: Set<Int32> = []

    /// Each knows its place. Those that take live changes come first, in no order; the others lag behind.
    @exclusivity(unchecked) private(set) var subscribers: ContiguousArray<Subscription> = []
    /// How many take live changes.
    @exclusivity(unchecked) private(set) var liveCount = 0
    /// It is among the groups with very many subscribers.
    @exclusivity(unchecked) var isCrowd = false
    /// How far the search for its stores has come; nil when it is done.
    @exclusivity(unchecked) var search: MemberSearch?
    /// It has no subscribers any more: it only has to leave its stores, and this is how far that has come.
    @exclusivity(unchecked) var isDeserted = false
    @exclusivity(unchecked) var sweptTo: Set<Int32>.Index?
    /// Its expression was not held against all that the commit being made has changed.
    @exclusivity(unchecked) var isOverdue = false
    /// What changed of what it selects, while one of its subscribers lags.
    @exclusivity(unchecked) var selectedChanges: SelectedChanges?

    /// The last commit that its subscribers were notified of, and when, in milliseconds since 1970.
    @exclusivity(unchecked) var lastNotified: Int
    @exclusivity(unchecked) var lastNotifiedAt: Int

    /// Its place among those that wait for a bookmark.
    @exclusivity(unchecked) var bookmarkPlace: BookmarkQueue.Place?
    /// The last action, of all that were ever published, that it was found to want.
    @exclusivity(unchecked) var lastAction = 0

    /// What it delivers of the commit being made, held by the publication; nil where that is nothing.
    @exclusivity(unchecked) unowned(unsafe) var content: GroupContent?
    /// Those of its subscribers that receive the same in this turn; nil before its first event.
    @exclusivity(unchecked) var multicast: MulticastGroup?

    init(
        key: SubscriptionFilter, _ test: StoreTest?, selection: Selection?, number: Int, revision: Int,
        now: Int, maker: User
    ) {
        self.key = key
        self.test = test
        departures = DropLog(forgottenThrough: revision, limit: DaemonLimits.departures)
        self.maker = maker
        self.number = number
        self.selection = selection
        seesParts = !key.actions && key.view?.showsParts ?? false
        hasSelection = selection != nil || key.view != nil && !key.actions
        isPlain = !hasSelection && test == nil && key.format == .merge && !key.cause && !key.actions
        wantsWholeTypes =
            key.pattern.name.isAny && test == nil
            && (key.view == nil || key.actions && key.view!.knowsHistory(of: key.pattern))
        lastNotified = revision
        lastNotifiedAt = now
    }

    @inline(__always)
    var hasLiveSubscribers: Bool { liveCount > 0 }
    var hasLaggingSubscribers: Bool { liveCount < subscribers.count }

    /// What is selected of a store; nil: all of it.
    func selection(of store: Int32) -> Selection? {
        key.view == nil ? selection : partsSeen[store]
    }

    /// A member is seen in parts.
    func see(_ parts: Selection?, of store: Int32) { partsSeen[store] = parts }

    /// True if the store was none of its members before.
    func join(_ store: Int32) -> Bool { members.insert(store).inserted }

    func leave(_ store: Int32) {
        // The sweep holds an index into the set.
        if isDeserted { return }
        members.remove(store)
        if key.view != nil { partsSeen[store] = nil }
    }

    func removeAll() {
        members = []
        partsSeen = [:]
        membersOfTypes = [:]
    }

    // MARK: Members by value

    /// Whether it is about a store, whatever that is like.
    func isAbout(_ name: String, ofType type: String) -> Bool {
        key.pattern.type.matches(type) && key.pattern.name.matches(name) && key.shows(name, ofType: type)
    }

    /// It has a member more or less of a type.
    func countMember(ofType type: Int32, _ sign: Int) {
        if key.actions, test != nil { membersOfTypes[type, default: 0] += sign }
    }

    /// Whether an action to all stores of a type may be about one of its members.
    func hasMembers(ofType type: Int32) -> Bool { search != nil || membersOfTypes[type] ?? 0 > 0 }

    /// A store is no member from here on. Returns how many more are remembered now. Where nobody lags, only those of one
    /// commit are: somebody may begin to lag in its midst.
    func noteDeparture(of name: String, ofType type: Int32, at revision: Int) -> Int {
        let before = departures.known
        if !hasLaggingSubscribers, let newest = departures.newest, newest < revision {
            forgetDepartures(through: revision - 1)
        }
        departures.note(.init(revision: revision, type: type, name: name))
        return departures.known - before
    }

    /// Returns how many were remembered.
    @discardableResult
    func forgetDepartures(through revision: Int) -> Int {
        defer { departures = DropLog(forgottenThrough: revision, limit: DaemonLimits.departures) }
        return departures.known
    }

    func add(_ subscription: Subscription) {
        subscription.place = subscribers.count
        subscribers.append(subscription)
        goLive(subscription)
    }

    func remove(_ subscription: Subscription) {
        if subscription.place < liveCount { lag(subscription) }
        swap(subscription.place, subscribers.count - 1)
        subscribers.removeLast()
    }

    /// A subscription takes no live changes from here on.
    func lag(_ subscription: Subscription) {
        precondition(subscription.place < liveCount, "A subscription that lags can't begin to.")
        liveCount -= 1
        swap(subscription.place, liveCount)
    }

    /// A subscription takes live changes from here on.
    func goLive(_ subscription: Subscription) {
        precondition(
            subscription.place >= liveCount, "A subscription that takes live changes can't begin to.")
        swap(subscription.place, liveCount)
        liveCount += 1
    }

    private func swap(_ one: Int, _ other: Int) {
        if one == other { return }
        subscribers.swapAt(one, other)
        subscribers[one].place = one
        subscribers[other].place = other
    }
}

/// How far a subscriber group with a pattern has come in the search for its stores. New
/// stores are added to it meanwhile.
struct MemberSearch {
    /// The types that match, and the one being searched.
    var types: [Int32]
    var type = 0
    /// The last name that was looked at in that type.
    var lastName: String?
    /// What all names that match begin with.
    let prefix: String
}
