import BusCluster
import BusHTTP
import BusSystem

/// The reading of the log: one watch, begun again where it stood whenever it breaks, and watched itself.
final class EtcdReading {
    private let link: EtcdLink
    private let keys: EtcdKeys
    private let mailbox: EtcdMailbox
    private let deliveryTime: Int

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

    init(_ link: EtcdLink, _ keys: EtcdKeys, _ mailbox: EtcdMailbox, deliveryTime: Int) {
        self.link = link
        self.keys = keys
        self.mailbox = mailbox
        self.deliveryTime = deliveryTime
    }

    private var isPaused: Bool { watch?.isPaused ?? false }

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
            } catch {
                ending = error
                return .enough
            }
        }
        if let awaited, awaited.place <= place { self.awaited = nil }
        return .taken
    }

    private func tell(_ fact: WatchReader.Fact) {
        switch fact {
        case .created, .progress: break
        case .entry(let entry):
            mailbox.put(.entry(entry), of: reading)
            onEntry?(entry)
        case .barrier(let value): onBarrier?(value)
        case .trimmedAway(let through):
            isReading = false
            isDone = true
            mailbox.put(.trimmedAway(through: through), of: reading)
        }
    }

    func tellBarrier(_ event: OrderedLogEvent) { mailbox.put(event, of: reading) }

    private func end(_ fault: EtcdFault) {
        watch = nil
        reader = nil
        if isReading { link.fail(ending ?? fault) }
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
        guard isReading, watch != nil, !isPaused else { return }
        if let lastBeat, lastBeat > place { onDoubt?() }
        lastBeat = revision
    }

    var deadline: Int? {
        guard watch != nil, !isPaused, let awaited else { return nil }
        return max(awaited.since, lastSign) + deliveryTime
    }

    func tick(_ now: Int) {
        if let watch, watch.isPaused, !mailbox.isFull { link.transfers.goOn(watch) }
        guard let deadline, deadline <= now else { return }
        link.fail(
            EtcdFault(
                .server, mayHappen: false, .timedOut,
                "\(link.endpoint) does not deliver what is in the log: see how etcd does there."))
    }
}
