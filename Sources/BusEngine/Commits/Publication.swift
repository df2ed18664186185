import BusJSON
import BusState

/// What one commit tells: per touched shape the encoded changes, kept until all subscribers have them. Its
/// storage serves all commits.
final class Publication {
    /// How many stores differ at the commit's end.
    @exclusivity(unchecked) var changed = 0
    /// The shapes that have something to tell, in the order they were touched. The engine holds them meanwhile.
    let shapes = Stack<Unmanaged<Shape>>()
    /// What each of them tells; reused, so there may be more than shapes.
    let contents = Stack<ShapeContent>()
    /// `"cause":{…}`, made when the first subscriber wants it.
    @exclusivity(unchecked) var cause: ByteWriter?
    /// Subscriptions of connections that have several, to be served in order of their numbers.
    @exclusivity(unchecked) var ordered: [Subscription] = []
}

/// What a shape's subscribers are told of one commit. Every item begins with its comma.
final class ShapeContent {
    let changes = ItemList()
    let states = ItemList()
    let dropped = ItemList()
    /// Whole action events behind `"sub":N`, for shapes that want actions.
    let actions = ItemList()
    /// For shapes with a selection: the stores that are told of.
    @exclusivity(unchecked) var selected: [Int32] = []

    func clear() {
        if !selected.isEmpty { selected.removeAll(keepingCapacity: selected.count <= 4096) }
        changes.clear()
        states.clear()
        dropped.clear()
        actions.clear()
    }

    /// Gives back what an unusually large commit took.
    func relax() {
        clear()
        for list in [changes, states, dropped, actions] where list.bytes.reserved > Self.usual {
            list.bytes.shrink()
        }
    }

    /// Bytes for each of the lists that are kept for good.
    private static let usual = 64 << 10

    var size: Int { changes.bytes.count + states.bytes.count + dropped.bytes.count }
    var isCut: Bool { !changes.cuts.isEmpty || !states.cuts.isEmpty || !dropped.cuts.isEmpty }
}

/// Encoded items, each behind a comma, and where they have to be cut to fit into lines.
final class ItemList {
    let bytes = ByteWriter(capacity: 256)
    /// Where a further part begins.
    @exclusivity(unchecked) private(set) var cuts: [Int] = []
    @exclusivity(unchecked) private var partStart = 0

    func clear() {
        bytes.clear()
        if !cuts.isEmpty { cuts = [] }
        partStart = 0
    }

    var isEmpty: Bool { bytes.isEmpty }

    /// An item has been written since `start`: it opens a new part if the part before would grow past `limit`.
    @inline(__always)
    func itemEnded(startingAt start: Int, limit: Int) {
        if bytes.count - partStart > limit, start > partStart {
            cuts.append(start)
            partStart = start
        }
    }

    /// Takes back an item that was begun at `start`.
    func cutBack(to start: Int) {
        bytes.truncate(to: start)
        while let last = cuts.last, last >= start { cuts.removeLast() }
        partStart = cuts.last ?? 0
    }

    /// Marks the end of an item where parts are always cut: one action event each.
    func cutHere() { cuts.append(bytes.count) }

    /// The parts, without the comma before the first item of each, or with it.
    func forEachPart(comma: Bool = false, _ body: (UnsafeRawBufferPointer) -> Void) {
        var start = 0
        for cut in cuts + [bytes.count] where cut > start {
            body(UnsafeRawBufferPointer(rebasing: bytes.bytes[(comma ? start : start + 1)..<cut]))
            start = cut
        }
    }

    /// Everything, without the first comma.
    var whole: UnsafeRawBufferPointer {
        isEmpty ? bytes.bytes : UnsafeRawBufferPointer(rebasing: bytes.bytes[1...])
    }
}
