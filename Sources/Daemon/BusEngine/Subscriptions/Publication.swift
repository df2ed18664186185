import BusJSON
import BusMachine
import BusState

/// What one commit delivers: per group that it reaches the encoded changes, kept until all subscribers have them. Its
/// storage is reused by all commits.
final class Publication {
    /// Up to where on the turn's clock of work subscribers are notified of the commit live; later ones lag behind.
    @exclusivity(unchecked) var liveUntil = 0
    /// What has been encoded for all groups.
    @exclusivity(unchecked) var bytes = 0
    /// The groups that have something to deliver, in the order in which they were reached.
    /// The hub holds them meanwhile.
    let groups = Stack<Unmanaged<SubscriberGroup>>()
    /// The content of each of them; reused, so there may be more than groups.
    let contents = Stack<GroupContent>()
    /// `"cause":{…}`, made when the first subscriber wants it.
    @exclusivity(unchecked) var cause: ByteWriter?
    /// The commit that it is the cause of.
    @exclusivity(unchecked) var causeRevision = 0
    /// Somebody who wants it is notified later.
    @exclusivity(unchecked) var isCauseAwaited = false
    /// The actions as events behind `"sub":N`, written once for all that want them, one behind
    /// the other, and where each ends.
    let actions = ByteWriter(capacity: 256)
    @exclusivity(unchecked) var actionEnds: [Int] = []
    /// Counts the changes that were held against expressions.
    @exclusivity(unchecked) var tested = 0
    /// Stores that groups which want actions no longer want after this commit.
    @exclusivity(unchecked) var leaving: [(group: SubscriberGroup, store: Int32)] = []
    /// Subscriptions of connections that have several, to be served in the order of their numbers.
    @exclusivity(unchecked) var ordered: [Subscription] = []

    /// One action's event.
    func action(_ place: Int) -> UnsafeRawBufferPointer {
        let start = place == 0 ? 0 : actionEnds[place - 1]
        return UnsafeRawBufferPointer(rebasing: actions.bytes[start..<actionEnds[place]])
    }
}

/// What a group's subscribers receive of one commit. Every item begins with its comma.
final class GroupContent {
    let changes = ItemList()
    let states = ItemList()
    let dropped = ItemList()
    /// For groups that want actions: the places, in the publication's list, of those they want.
    @exclusivity(unchecked) var actions: [Int] = []
    /// The group's subscribers lag behind this commit, which would have taken too much to deliver live.
    @exclusivity(unchecked) var isAbandoned = false
    /// For groups with a selection: the stores that are delivered.
    @exclusivity(unchecked) var selected: [Int32] = []

    func clear() {
        if !selected.isEmpty { selected.removeAll(keepingCapacity: selected.count <= 4096) }
        changes.clear()
        states.clear()
        dropped.clear()
        if !actions.isEmpty { actions.removeAll(keepingCapacity: true) }
        isAbandoned = false
    }

    /// Releases what an unusually large commit took.
    func relax() {
        clear()
        for list in [changes, states, dropped] where list.bytes.reserved > Self.usual {
            list.bytes.shrink()
        }
    }

    /// Bytes for each of the lists that are kept permanently.
    private static let usual = 64 << 10

    var size: Int { changes.bytes.count + states.bytes.count + dropped.bytes.count }
    var isCut: Bool { !changes.cuts.isEmpty || !states.cuts.isEmpty || !dropped.cuts.isEmpty }
}

/// Encoded items, each behind a comma, and where they have to be cut to fit into lines.
final class ItemList: CountedOutput {
    let bytes = ByteWriter(capacity: 256)
    /// What it counts as in the memory of the bus, while it is kept.
    @exclusivity(unchecked) var countedBytes = 0
    /// Where a further part begins.
    @exclusivity(unchecked) private(set) var cuts: [Int] = []
    @exclusivity(unchecked) private var partStart = 0

    func clear() {
        bytes.clear()
        if !cuts.isEmpty { cuts = [] }
        partStart = 0
    }

    var isEmpty: Bool { bytes.isEmpty }

    /// An item has been written since `start`: it opens a new part if the previous one would grow past `limit`.
    @inline(__always)
    func itemEnded(startingAt start: Int, limit: Int) {
        if bytes.count - partStart > limit, start > partStart {
            cuts.append(start)
            partStart = start
        }
    }

    /// Truncates an item that was begun at `start`.
    func cutBack(to start: Int) {
        bytes.truncate(to: start)
        while let last = cuts.last, last >= start { cuts.removeLast() }
        partStart = cuts.last ?? 0
    }

    /// The parts, without the comma before the first item of each.
    func forEachPart(_ body: (UnsafeRawBufferPointer) -> Void) {
        var start = 0
        for cut in cuts + [bytes.count] where cut > start {
            body(UnsafeRawBufferPointer(rebasing: bytes.bytes[start + 1..<cut]))
            start = cut
        }
    }

    /// Everything, without the first comma.
    var whole: UnsafeRawBufferPointer {
        isEmpty ? bytes.bytes : UnsafeRawBufferPointer(rebasing: bytes.bytes[1...])
    }
}
