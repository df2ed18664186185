import BusCluster
import BusHTTP
import BusSystem

/// The reading of the log: one watch, begun again where it stood whenever it breaks, and watched itself. Where the log is to be
/// read through another member, that one takes the watch's place as long as it delivers.
final class EtcdReading {
    private let link: EtcdLink
    private let keys: EtcdKeys
    private let mailbox: EtcdMailbox
    private let deliveryTime: Int
    private let relayed: RelayedReading
    private let feed: RelayFeed

    /// Of the owner's `read`; 0: none yet.
    private var reading = 0
    private var isReading = false
    /// Up to here everything was delivered.
    private var place = 0
    private var cluster: String?

    private var watch: Transfer?
    private var reader: WatchReader?
    private var cutter = LineCutter(limit: EtcdLimits.answer)
    /// What ended the watch from within.
    private var ending: EtcdFault?
    private var isDone = false
    private var lastSign = 0
    /// What is known to be in the log and is not delivered yet: its place, since when.
    private var awaited: (place: Int, since: Int)?

    /// How far the store had come at the last beat.
    private var lastBeat: Int?

    /// Entries and barriers, as they are delivered.
    var onEntry: ((OrderedEntry) -> Void)?
    var onBarrier: (([UInt8]) -> Void)?
    /// Something is to be written, to see whether the watch delivers it.
    var onDoubt: (() -> Void)?

    init(
        _ link: EtcdLink, _ keys: EtcdKeys, _ mailbox: EtcdMailbox, _ relayed: RelayedReading,
        _ feed: RelayFeed, deliveryTime: Int
    ) {
        self.link = link
        self.keys = keys
        self.mailbox = mailbox
        self.relayed = relayed
        self.feed = feed
        self.deliveryTime = deliveryTime
    }

    private var isPaused: Bool { watch?.isPaused ?? relayed.isPaused }
    private var isFed: Bool { watch != nil || relayed.delivers }

    func begin(behind place: Int, of cluster: String?, reading: Int) {
        linkIsLost()
        self.reading = reading
        self.place = place
        self.cluster = cluster
        isReading = true
        awaited = nil
        link.searchAgain()
    }

    // MARK: - The link

    func linkIsFound(_ finding: EtcdLink.Finding) {
        guard isReading else { return }
        guard finding.revision >= place, cluster ?? finding.cluster == finding.cluster else {
            isReading = false
            mailbox.put(.replaced(cluster: finding.cluster), of: reading)
            return
        }
        cluster = finding.cluster
        start()
    }

    func linkIsLost() {
        endWatch()
        if relayed.delivers { mailbox.put(.reads(from: nil, because: nil)) }
        relayed.end()
        // The log may be restored while nobody looks: what was read of the one before is passed on to nobody.
        feed.end()
    }

    private func endWatch() {
        if let watch { link.transfers.cancel(watch) }
        watch = nil
        reader = nil
    }

    // MARK: - The watch

    private func start() {
        lastSign = MonotonicClock.milliseconds
        lastBeat = nil
        if let awaited { self.awaited = (awaited.place, lastSign) }
        cutter = LineCutter(limit: EtcdLimits.answer)
        ending = nil
        isDone = false
        reader = WatchReader(keys, endpoint: link.endpoint, behind: place)
        if let cluster { feed.begin(behind: place, of: cluster) }
        watch = link.stream(
            .watch(prefix: keys.prefix, from: WatchReader.start(behind: place)),
            receive: { [weak self] bytes in self?.receive(bytes) ?? .enough },
            finish: { [weak self] fault in self?.end(fault) })
    }

    private func receive(_ bytes: UnsafeRawBufferPointer) -> Transfer.Reception {
        if mailbox.isFull { return .later }
        lastSign = MonotonicClock.milliseconds
        guard let lines = cutter.take(bytes) else {
            ending = .unexpected(link.endpoint, "a message that is too long")
            return .enough
        }
        for line in lines {
            do throws(EtcdFault) {
                guard var reader else { return .enough }
                let facts = try reader.take(line)
                self.reader = reader
                for fact in facts {
                    tell(fact)
                    if isDone { return .enough }
                }
                place = reader.place
                feed.reach(place)
            } catch {
                ending = error
                return .enough
            }
        }
        noteReached()
        return .taken
    }

    private func noteReached() { if let awaited, awaited.place <= place { self.awaited = nil } }

    private func tell(_ fact: WatchReader.Fact) {
        switch fact {
        case .created, .progress: break
        case .entry(let entry):
            // First: the owner, whom the next line wakes, looks for it there.
            feed.add(entry)
            tell(entry)
        case .barrier(let value, let place):
            onBarrier?(value)
            feed.add(barrier: value, at: place)
        case .trimmedAway(let through):
            isReading = false
            isDone = true
            mailbox.put(.trimmedAway(through: through), of: reading)
        }
    }

    private func tell(_ entry: OrderedEntry) {
        mailbox.put(.entry(entry), of: reading)
        onEntry?(entry)
    }

    func tellBarrier(_ event: OrderedLogEvent) { mailbox.put(event, of: reading) }

    private func end(_ fault: EtcdFault) {
        watch = nil
        reader = nil
        if isReading { link.fail(ending ?? fault) }
    }

    // MARK: - Relays

    private func relay(_ now: Int) {
        guard isReading, isFed, let cluster else { return }
        while let event = relayed.step(now, behind: place, of: cluster, hasRoom: !mailbox.isFull) {
            switch event {
            case .part(let part): take(part, now)
            case .lost(let failure): leaveRelay(because: failure)
            case .fails(let failure): mailbox.put(.reads(from: nil, because: failure.message))
            }
        }
    }

    /// What the watch has told meanwhile is left out. Its barriers may be heard twice, which does no harm.
    private func take(_ part: RelayedPart, _ now: Int) {
        guard let entries = OrderedEntry.decode(all: part.entries), entries.last?.place ?? 0 <= part.place
        else {
            let failure = OrderedLogFailure(
                .unexpected, "\(relayed.address) passes on what is no part of a log; see what runs there.")
            if watch == nil { relayIsLost(failure) } else { relayed.fail(failure) }
            return
        }
        if watch != nil {
            endWatch()
            feed.end()
            mailbox.put(.reads(from: relayed.address, because: nil))
        }
        for entry in entries where entry.place > place { tell(entry) }
        // One that brings nothing may be blind.
        if part.place > place { lastSign = now }
        place = max(place, part.place)
        for barrier in part.barriers { onBarrier?(Array(barrier.utf8)) }
        noteReached()
    }

    private func relayIsLost(_ failure: OrderedLogFailure) {
        relayed.fail(failure)
        leaveRelay(because: failure)
    }

    /// The search says whether the log is still the one that was read; then the watch goes on.
    private func leaveRelay(because failure: OrderedLogFailure) {
        mailbox.put(.reads(from: nil, because: failure.message))
        link.searchAgain()
    }

    // MARK: - Watching the watch

    /// Something of ours is in the log, at this place.
    func await(_ place: Int) {
        guard isReading, place > self.place else { return }
        awaited = awaited.map { (max($0.place, place), $0.since) } ?? (place, MonotonicClock.milliseconds)
    }

    /// The store has come this far, by a word that did not come through the watch. One that is still behind what it was at
    /// the beat before may be blind, or others use the same etcd: a write of our own finds out.
    func beat(_ revision: Int) {
        guard isReading, isFed, !isPaused else { return }
        if let lastBeat, lastBeat > place { onDoubt?() }
        lastBeat = revision
    }

    var deadline: Int? { [watchDeadline, isFed ? relayed.deadline : nil].compactMap { $0 }.min() }

    private var watchDeadline: Int? {
        guard isFed, !isPaused, let awaited else { return nil }
        return max(awaited.since, lastSign) + deliveryTime
    }

    func tick(_ now: Int) {
        if let watch, watch.isPaused, !mailbox.isFull { link.transfers.goOn(watch) }
        let wasPaused = relayed.isPaused
        relay(now)
        if wasPaused, !relayed.isPaused { lastSign = now }
        guard let watchDeadline, watchDeadline <= now else { return }
        if relayed.delivers {
            return relayIsLost(
                OrderedLogFailure(
                    .timedOut, "\(relayed.address) does not pass on what is in the log: see how it does."))
        }
        link.fail(
            EtcdFault(
                .server, mayHappen: false, .timedOut,
                "\(link.endpoint) does not deliver what is in the log: see how etcd does there."))
    }
}
