import CLinux
import FluxBus
import Glibc

/// The measuring loop: one thread, one epoll, non-blocking sockets.
///
/// What a connection sends is a block of prepared lines, again and again, so that topping it up is one write. Of received
/// bytes only line ends are counted; times come from rings that the counts index. Nothing is allocated while it runs. Events
/// in several lines are parsed more closely.
final class LoadRunner {
    /// When to stop sending.
    enum Extent {
        case requests(Int)
        case nanoseconds(UInt64)
    }

    /// The result.
    struct Tally {
        var requests = 0
        /// Those among them that commit.
        var commits = 0
        var replies = 0
        var deliveries = 0
        var elapsed: UInt64 = 0
        var replyTimes: Histogram?
        var deliveryTimes: Histogram?
        /// Why it ended before everything had come, or what is wrong with the counts.
        var shortfall: String?
    }

    /// Without progress for this long, what is missing will not come.
    private static let patience: UInt64 = 3_000_000_000
    /// How long to listen on for replies and deliveries that should not come.
    private static let surplusWait: UInt64 = 30_000_000

    private let load: Load
    /// What each dispatcher sends.
    private let blocks: [LineBlock]
    private let extent: Extent
    /// At most this many requests may be undelivered, so that the bus need not merge changes.
    private let longestLag: Int
    private let isSpinning: Bool
    private let epoll: Int32

    /// The dispatchers, then the subscribers. Plain memory: the loop touches nothing that is checked or counted.
    private let links: UnsafeMutableBufferPointer<Link>
    /// Send times of each dispatcher's requests.
    private let times: [TimeRing]
    /// Send times by request number; nil unless one connection sends and all of it commits, since only then the order
    /// identifies requests.
    private let history: TimeRing?
    /// One for each link; none where every line of a subscriber is an event.
    private var counters: [EventCounter]
    private var waiting: [Int] = []
    private var tally = Tally()
    private let replyTimes = Histogram()
    private let deliveryTimes = Histogram()
    private var limit = Int.max
    private var stopAt = UInt64.max
    private var lastArrival: UInt64 = 0
    /// The connections of all links, where their bytes have to pass TLS; else empty.
    private var secured: [BusConnection] = []
    private let space = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 64)

    init(
        load: Load, blocks: [LineBlock], dispatchers: [BusConnection], subscribers: [BusConnection],
        extent: Extent,
        longestLag: Int, hasParts: Bool, isSpinning: Bool
    ) {
        self.load = load
        self.extent = extent
        self.longestLag = longestLag
        self.isSpinning = isSpinning
        self.blocks = blocks
        links = .allocate(capacity: dispatchers.count + subscribers.count)
        _ = links.initialize(
            from: dispatchers.map { Link(descriptor: $0.descriptor, isSubscriber: false) }
                + subscribers.map { Link(descriptor: $0.descriptor, isSubscriber: true) })
        if case .tls? = dispatchers.first?.address { secured = dispatchers + subscribers }
        times = dispatchers.map { _ in TimeRing(holding: load.pipeline) }
        let knowsOrder = dispatchers.count == 1 && !subscribers.isEmpty && blocks[0].alwaysCommits
        history = knowsOrder ? TimeRing(holding: 2 * (longestLag + load.pipeline + 2)) : nil
        counters = hasParts ? Array(repeating: EventCounter(), count: links.count) : []
        waiting.reserveCapacity(dispatchers.count)
        epoll = linux_epoll_create()
        for (index, link) in links.enumerated() {
            linux_epoll_add(epoll, link.descriptor, linux_epoll_in, UInt64(index))
        }
    }

    deinit {
        close(epoll)
        space.deallocate()
        links.deallocate()
    }

    func run() -> Tally {
        let start = nanoseconds()
        lastArrival = start
        switch extent {
        case .requests(let count): limit = count
        case .nanoseconds(let length): stopAt = start + length
        }
        for index in 0..<load.connections { queue(index) }
        topUp()
        loop()
        tally.elapsed = max(1, lastArrival - start)
        tally.replyTimes = replyTimes
        tally.deliveryTimes = deliveryTimes
        if tally.shortfall == nil { awaitSurplus() }
        if tally.shortfall == nil { checkEach() }
        return tally
    }

    private var isComplete: Bool {
        tally.requests >= limit && tally.replies == tally.requests
            && tally.deliveries == tally.commits * load.subscribers
    }

    private func loop() {
        var events = [linux_epoll_event](repeating: linux_epoll_event(), count: 2048)
        while !isComplete {
            let ready = linux_epoll_wait(epoll, &events, Int32(events.count), isSpinning ? 0 : 100)
            for position in 0..<max(0, Int(ready)) {
                let index = Int(linux_epoll_token(&events[position]))
                guard serve(index, linux_epoll_events(&events[position])) else { return }
            }
            topUp()
            if ready <= 0 { noteSilence() }
            if tally.shortfall != nil { return }
        }
    }

    /// Reads and writes one connection; false when it is lost.
    private func serve(_ index: Int, _ events: UInt32) -> Bool {
        if events & (linux_epoll_in | linux_epoll_hup | linux_epoll_err) != 0 {
            guard drain(index) else {
                let who = links[index].isSubscriber ? "a subscriber" : "a dispatching connection"
                tally.shortfall = "the bus ended \(who)"
                return false
            }
        }
        if !links[index].isSubscriber { queue(index) }
        return true
    }

    private func noteSilence() {
        let now = nanoseconds()
        // The time may be over while nothing moves.
        if now >= stopAt, limit == Int.max { limit = tally.requests }
        guard now &- lastArrival > Self.patience, now > lastArrival else { return }
        let deliveries = tally.commits * load.subscribers
        tally.shortfall =
            "\(tally.requests - tally.replies) replies and \(deliveries - tally.deliveries) deliveries are missing"
    }

    // MARK: - Out

    private func queue(_ index: Int) {
        guard !links[index].isQueued else { return }
        links[index].isQueued = true
        waiting.append(index)
    }

    /// Sends what may be sent on every connection that has room; after a whole batch of events, so that no connection
    /// is served twice before others are once.
    private func topUp() {
        var kept = 0
        for position in 0..<waiting.count {
            let index = waiting[position]
            fill(index)
            let hasRoom = links[index].sent - links[index].done < load.pipeline
            if hasRoom, tally.requests < limit {
                // Held back by the lag: tried again after the next batch.
                waiting[kept] = index
                kept += 1
            } else {
                links[index].isQueued = false
            }
        }
        waiting.removeSubrange(kept...)
    }

    private func fill(_ index: Int) {
        let room = min(load.pipeline - (links[index].sent - links[index].done), allowance)
        if room > 0 {
            let now = nanoseconds()
            if now >= stopAt {
                limit = tally.requests
            } else {
                note(index, room, at: now)
            }
        }
        if links[index].unsent > 0 { flush(index) }
    }

    /// How many requests may be sent now, by the extent, the lag and lock-step.
    private var allowance: Int {
        let left = limit - tally.requests
        if left <= 0 { return 0 }
        if load.isLockStep {
            let isSettled =
                tally.replies == tally.requests && tally.deliveries == tally.commits * load.subscribers
            return isSettled ? 1 : 0
        }
        guard load.subscribers > 0 else { return left }
        let lag = tally.commits - tally.deliveries / load.subscribers
        return min(left, longestLag - lag)
    }

    private func note(_ index: Int, _ count: Int, at now: UInt64) {
        let sent = links[index].sent
        times[index].set(sent..<sent + count, to: now)
        history?.set(tally.requests..<tally.requests + count, to: now)
        links[index].sent += count
        let share = blocks[index].take(count)
        links[index].unsent += share.bytes
        tally.requests += count
        tally.commits += share.commits
    }

    private func flush(_ index: Int) {
        let descriptor = links[index].descriptor
        while links[index].unsent > 0 {
            let piece = blocks[index].rest(links[index].unsent)
            let count =
                secured.isEmpty
                ? send(descriptor, piece.baseAddress, piece.count, Int32(MSG_NOSIGNAL))
                : (try? secured[index].write(plain: piece)) ?? 0
            if count <= 0 {
                if count < 0, errno == EINTR { continue }
                break
            }
            links[index].unsent -= count
        }
        let awaitsRoom = links[index].unsent > 0 || (!secured.isEmpty && secured[index].awaitsRoom)
        if awaitsRoom != links[index].awaitsRoom {
            links[index].awaitsRoom = awaitsRoom
            let events = awaitsRoom ? linux_epoll_in | linux_epoll_out : linux_epoll_in
            linux_epoll_modify(epoll, descriptor, events, UInt64(index))
        }
    }

    // MARK: - In

    /// Reads all available bytes; false at the end of the connection.
    private func drain(_ index: Int) -> Bool {
        if !secured.isEmpty {
            return (try? secured[index].read(plain: { if !$0.isEmpty { count(index, $0) } })) ?? false
        }
        while true {
            let count = recv(links[index].descriptor, space.baseAddress, space.count, 0)
            if count < 0 {
                if errno == EINTR { continue }
                return errno == EAGAIN
            }
            if count == 0 { return false }
            self.count(index, UnsafeRawBufferPointer(rebasing: space[..<count]))
            if count < space.count { return true }
        }
    }

    private func count(_ index: Int, _ bytes: UnsafeRawBufferPointer) {
        let isInParts = !counters.isEmpty && links[index].isSubscriber
        let arrived = isInParts ? counters[index].count(bytes) : newlineCount(bytes)
        if arrived > 0 { take(index, arrived, at: nanoseconds()) } else { lastArrival = nanoseconds() }
    }

    /// This many replies or deliveries have come.
    private func take(_ index: Int, _ arrived: Int, at now: UInt64) {
        lastArrival = now
        let first = links[index].done
        links[index].done += arrived
        if links[index].isSubscriber {
            tally.deliveries += arrived
            history?.record(first..<min(first + arrived, tally.requests), at: now, in: deliveryTimes)
        } else {
            tally.replies += arrived
            times[index].record(first..<min(first + arrived, links[index].sent), at: now, in: replyTimes)
        }
    }

    // MARK: - At the end

    private func awaitSurplus() {
        let replies = tally.replies
        let deliveries = tally.deliveries
        let arrival = lastArrival
        var events = [linux_epoll_event](repeating: linux_epoll_event(), count: 64)
        let end = nanoseconds() + Self.surplusWait
        while true {
            let now = nanoseconds()
            if now >= end { break }
            let ready = linux_epoll_wait(
                epoll, &events, Int32(events.count), Int32((end - now) / 1_000_000) + 1)
            for position in 0..<max(0, Int(ready)) {
                guard drain(Int(linux_epoll_token(&events[position]))) else {
                    tally.shortfall = "the bus ended a connection when all was done"
                    return
                }
            }
        }
        lastArrival = arrival
        if tally.replies != replies || tally.deliveries != deliveries {
            tally.shortfall =
                "\(tally.replies - replies) replies and \(tally.deliveries - deliveries) deliveries too many came"
        }
    }

    /// The sums are right; so must be each connection's own.
    private func checkEach() {
        for link in links {
            let wanted = link.isSubscriber ? tally.commits : link.sent
            guard link.done != wanted else { continue }
            let what = link.isSubscriber ? "deliveries" : "replies"
            tally.shortfall = "a connection got \(link.done) \(what) instead of \(wanted)"
            return
        }
    }
}

/// One connection under load: what it has been sent and what came back, in numbers only.
struct Link {
    let descriptor: Int32
    let isSubscriber: Bool
    /// Requests handed to the socket, or waiting for it.
    var sent = 0
    /// Replies, or deliveries.
    var done = 0
    /// Bytes of requests that the socket has not accepted yet.
    var unsent = 0
    /// Whether the loop asks for room to write.
    var awaitsRoom = false
    /// Whether it is in the list of those to be topped up.
    var isQueued = false
}
