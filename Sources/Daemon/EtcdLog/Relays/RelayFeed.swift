import BusCluster
import BusJSON
import BusSystem
import Synchronization

/// What this member has read of the shared log last, for members that read it from here. Nothing is kept before somebody asks,
/// nor when nobody has asked for a minute.
package final class RelayFeed: Sendable {
    package enum Answer {
        case part(RelayedPart)
        /// There is nothing behind that place yet: ask again when the bell has rung.
        case nothing
        /// It can't be had here, as this sentence says.
        case refused(String)
    }

    private enum Item {
        case entry([UInt8])
        case barrier(String)

        var size: Int {
            switch self {
            case .entry(let bytes): 64 + bytes.count
            case .barrier(let value): 64 + value.utf8.count
            }
        }

        /// In a reply.
        var length: Int {
            switch self {
            case .entry(let bytes): (bytes.count + 2) / 3 * 4
            case .barrier(let value): JSON.string(value).encodedSize + 1
            }
        }
    }

    private struct Contents {
        /// The log; nil: it is not read from etcd itself now.
        var cluster: String?
        var reading = 0
        /// Everything behind this place, up to `place`, is in `items`.
        var base = 0
        var place = 0
        var items: ArraySlice<(place: Int, item: Item)> = []
        var bytes = 0
        /// When somebody asked last, in monotonic milliseconds; nil: nobody, so nothing is kept.
        var asked: Int?

        mutating func forget() {
            items = []
            bytes = 0
            base = place
        }
    }

    private let contents = Mutex(Contents())
    private let bell: @Sendable () -> Void

    /// In bytes, what is kept: a reader that is further behind reads from etcd until it is not.
    private static let kept = 8 << 20
    /// The most bytes of one part in a reply, unless the entries of one place have more.
    package static let part = 1 << 20
    /// Of a reply, beside its entries and barriers.
    private static let overhead = 160
    /// In milliseconds, how long nobody has to have asked.
    private static let patience = 60_000

    package init(bell: @escaping @Sendable () -> Void) { self.bell = bell }

    // MARK: - The reading's side

    /// The log is read from etcd itself, behind a place.
    package func begin(behind place: Int, of cluster: String) {
        contents.withLock { contents in
            contents.cluster = cluster
            contents.reading = .random(in: 0..<1 << 32)
            contents.place = place
            contents.forget()
        }
    }

    /// It is not read, or is read through another member. No member reads through one that does: then none reads in a circle.
    package func end() {
        let wasAsked = contents.withLock { contents in
            contents.cluster = nil
            contents.forget()
            return contents.asked != nil
        }
        if wasAsked { bell() }
    }

    package func add(_ entry: OrderedEntry) { add(at: entry.place) { .entry(entry.encoded) } }

    package func add(barrier value: [UInt8], at place: Int) {
        // What nobody of ours has written nobody waits for.
        guard let text = String(validating: value, as: UTF8.self) else { return }
        if add(at: place, { .barrier(text) }) { bell() }
    }

    /// All entries up to a place have been added.
    package func reach(_ place: Int) { contents.withLock { $0.place = max($0.place, place) } }

    @discardableResult
    private func add(at place: Int, _ item: () -> Item) -> Bool {
        contents.withLock { contents in
            guard contents.cluster != nil else { return false }
            contents.place = max(contents.place, place)
            guard let asked = contents.asked else { return false }
            if MonotonicClock.milliseconds - asked > Self.patience {
                contents.asked = nil
                contents.forget()
                return false
            }
            let item = item()
            contents.items.append((place, item))
            contents.bytes += item.size
            while contents.bytes > Self.kept, let first = contents.items.first {
                contents.bytes -= first.item.size
                contents.base = first.place
                // Freed here: a slice holds on to removed elements until its storage is copied.
                contents.items[contents.items.startIndex].item = .barrier("")
                contents.items.removeFirst()
            }
            return true
        }
    }

    // MARK: - The readers' side

    /// What there is behind a place.
    ///
    /// - Parameter room: How many bytes a part may take in a reply, unless the entries of one place have more.
    package func answer(behind place: Int, room: Int = RelayFeed.part) -> Answer {
        contents.withLock { contents in
            guard let cluster = contents.cluster else {
                return .refused(
                    "This member does not read the shared log from etcd itself; read it from another one.")
            }
            if contents.asked == nil { contents.forget() }
            contents.asked = MonotonicClock.milliseconds
            guard place >= contents.base else {
                return .refused(
                    "This member passes on what stands behind place \(contents.base) of the shared log; read from etcd up to there."
                )
            }
            guard place < contents.place else { return .nothing }
            var start = contents.items.endIndex
            while start > contents.items.startIndex, contents.items[start - 1].place > place { start -= 1 }
            var entries: [UInt8] = []
            var barriers: [String] = []
            var last = place
            var end = contents.place
            var room = min(room, Self.part) - Self.overhead
            for (index, (place, item)) in zip(start..., contents.items[start...]) {
                room -= item.length
                if room < 0, place > last, index > start {
                    end = last
                    break
                }
                last = place
                switch item {
                case .entry(let bytes): entries += bytes
                case .barrier(let value): barriers.append(value)
                }
            }
            return .part(
                RelayedPart(
                    cluster: cluster, reading: contents.reading, entries: entries, barriers: barriers,
                    place: end))
        }
    }

    /// A part without anything, so that who waits knows that this member is there; nil where it does not read.
    package func nothing(behind place: Int) -> RelayedPart? {
        contents.withLock { contents in
            contents.cluster.map {
                RelayedPart(cluster: $0, reading: contents.reading, entries: [], barriers: [], place: place)
            }
        }
    }
}
