import BusJSON

/// The client's side of the protocol as a pure state machine: no clock, no socket, no thread, no randomness but
/// what follows from a seed.
///
/// Inputs are facts: a request was submitted, a connection opened, a line came, the connection is lost, the time is now
/// T. Outputs are bytes through `write`, and everything else as `effects`, to be executed in their order.
///
/// Guarantees: answers and events are delivered in the order of the bus. A request that was accepted is settled exactly
/// once. A request with a key commits exactly once however often the connection ends, or fails with `outcome_unknown`.
/// A new connection gets, in this order: the will, the ephemeral stores, in a new epoch the other stores that this program has
/// created and follows, the subscriptions at their positions, the unanswered requests in their order, and then new ones.
package struct ClientSession {
    package enum Phase {
        case disconnected
        /// `hello` is written, or about to be.
        case greeting
        /// Will, ephemeral stores and subscriptions are being sent.
        case restoring
        case open
        case ended
    }

    /// A store that is dropped with its connection and has to be created again on the next one.
    struct EphemeralStore {
        let address: String
        let state: JSON?
        let timeToLive: JSON?
        /// The request that creates it, if that is not answered yet.
        var pending: Submission?
        /// One millisecond, twice that, and so on: two seconds in all.
        static let mostTries = 11
        /// How often it may be retried while the bus has not seen the old connection's end.
        var triesLeft = Self.mostTries
        /// When to retry.
        var due: Int?
        /// A drop of it, or of stores of its type, may have taken it; whether it did is not known yet.
        var isInDoubt = false
        /// A drop of it without conditions was sent.
        var isDropped = false
        /// Whether the bus's session has it.
        var isKept = true
        /// The key by which the present session of the bus is asked to create it again, and what the client had seen at first.
        var attempt: (key: Int, after: Int)?
        var type: String { String(address.prefix { $0 != "/" }) }
    }

    let options: BusOptions
    let token: String?
    var random: SplitMix
    let keyPrefix: String
    /// The name of what this client leaves on the bus, which it takes over when it comes back.
    var sessionName: String { String(keyPrefix.dropLast()) }

    package internal(set) var phase = Phase.disconnected
    var isClosing = false
    /// More requests are queued outside, which were there before the session was closed.
    package var expectsMore = false
    var closeDeadline = Int.max
    /// Whether the bus was asked, before the end, to keep nothing, and has answered.
    var leaving = Leaving.no
    enum Leaving { case no, asked, answered }
    /// Why the connection is to be ended by its owner.
    package internal(set) var disconnectReason: BusError?
    /// The reason of a `goodbye`.
    var goodbye: BusError?
    var hasBeenOpen = false

    var attempts: ConnectionAttempts
    /// When the last byte came, and when a ping was sent since, if one was.
    var lastHeard = 0
    var probedAt: Int?

    package internal(set) var requests = SessionRequests()
    /// How many bytes have been written on the present connection.
    var written = 0
    /// The last request written wanted no acknowledgement, so nothing would show when it is done.
    var needsMarker = false
    /// Requests that are not written have timed out; they are removed once their waiters are notified.
    package var needsWithdrawal = false

    // What is known of the bus.
    var greeting: BusGreeting?
    var epoch = ""
    var lineLimit = Int.max
    var seenRevision = 0
    /// The highest revision of a reply that guarantees that all events up to it came before.
    var settledRevision = 0

    // State of a connection that is restored on the next one.
    var will: (actions: [JSON], isKept: Bool)?
    var ephemeralStores: [EphemeralStore] = []
    var restorationsLeft = 0
    var subscriptions: [Int: SubscriptionRecord] = [:]
    /// The subscriptions by their number on the present connection.
    var numbers: [Int: Int] = [:]

    package var effects: [SessionEffect] = []

    package init(
        options: BusOptions, token: String? = nil, addressCount: Int = 1, seed: UInt64, now: Int
    ) {
        self.options = options
        self.token = token
        attempts = ConnectionAttempts(addresses: addressCount, now: now)
        random = SplitMix(seed: seed)
        let letters = Array("0123456789abcdefghijklmnopqrstuvwxyz")
        var prefix = ""
        for _ in 0..<13 { prefix.append(letters[Int(random.next() % 36)]) }
        keyPrefix = prefix + "-"
        lastHeard = now
        if options.patience > .zero { attempts.patienceEnds = now + options.patience.nanoseconds }
        effects.append(.status(.connecting))
    }

    package var hasEnded: Bool { phase == .ended }

    /// Whether a connection should be opened now.
    package func wantsConnection(at now: Int) -> Bool { phase == .disconnected && now >= attempts.next }

    /// Whether no request of a caller is still to be answered.
    package var isIdle: Bool {
        !expectsMore && requests.waiting.isEmpty && requests.resending.isEmpty
            && !ephemeralStores.contains { $0.pending != nil }
            && !requests.unanswered.elements.contains { !$0.submission.role.isOwn }
    }

    /// Ends everything: unanswered requests fail, subscriptions end.
    mutating func finish(_ error: BusError?) {
        guard phase != .ended else { return }
        phase = .ended
        let closed = error ?? Self.closed
        for sent in requests.unanswered.removeAll() where !sent.submission.role.isOwn {
            effects.append(.complete(sent.submission, .failure(ending(of: sent, closed))))
        }
        for sent in requests.resending.removeAll() {
            effects.append(.complete(sent.submission, .failure(ending(of: sent, closed))))
        }
        for store in ephemeralStores {
            // The connection before, or this one, may have brought it to the bus.
            if let pending = store.pending {
                effects.append(.complete(pending, .failure(Self.outcomeUnknown(closed))))
            }
        }
        for submission in requests.waiting.removeAll() {
            effects.append(.complete(submission, .failure(closed)))
        }
        requests.waitingBytes = 0
        effects.append(.ended)
        _ = requests.own.removeAll()
        ephemeralStores = []
        for number in subscriptions.keys.sorted() {
            if let record = subscriptions[number], record.isEstablished {
                effects.append(.event(record.request, .ended(error), size: 0))
            }
        }
        subscriptions = [:]
        numbers = [:]
        effects.append(.status(.closed(error)))
    }

    /// The error of an unanswered request when no answer will come.
    private func ending(of sent: SentRequest, _ closed: BusError) -> BusError {
        guard sent.mayBeCommitted, sent.submission.repetition != .free || sent.submission.role.leavesWill
        else { return closed }
        return Self.outcomeUnknown(closed)
    }

    static let closed = BusError(
        .closed, "This connection to the bus was closed; connect again to go on.")

    static func outcomeUnknown(_ original: BusError) -> BusError {
        var details = original.details
        details["code"] = .string(original.code.rawValue)
        details["message"] = .string(original.message)
        return BusError(
            .outcomeUnknown,
            "The connection was lost before the answer came, and whether this was committed is unknown: look, then decide.",
            details: ["original": .object(details)])
    }
}

/// The requests of a session that are not settled.
package struct SessionRequests {
    var waiting = RingQueue<Submission>()
    /// About how many bytes the waiting ones take.
    package internal(set) var waitingBytes = 0
    var resending = RingQueue<SentRequest>()
    var unanswered = RingQueue<SentRequest>()
    /// The session's own requests, which come before all others.
    var own = RingQueue<Submission>()
    var earliestDeadline = Int.max
    /// Stores that went with their session, and whose drops are sent again: if one is refused, somebody misses its store.
    var droppedStores: Set<String> = []
    private var lastID = 0
    private var lastKey = 0

    mutating func add(_ submission: Submission) {
        earliestDeadline = min(earliestDeadline, submission.deadline)
        waiting.append(submission)
        waitingBytes += submission.size
    }

    /// Keeps of `droppedStores` those whose drops are sent again.
    mutating func forgetSettledDrops() {
        var repeated: Set<String> = []
        for sent in resending.elements {
            guard case .drop(let addresses, _) = sent.submission.role, !sent.submission.isSettled else {
                continue
            }
            repeated.formUnion(addresses)
        }
        droppedStores.formIntersection(repeated)
    }

    mutating func takeID() -> Int {
        lastID += 1
        return lastID
    }

    mutating func takeKey() -> Int {
        lastKey += 1
        return lastKey
    }
}

/// The attempts of a session to connect.
struct ConnectionAttempts {
    /// At how many addresses the bus may be.
    let addresses: Int
    /// How many of them an attempt has not been lost at before the bus said anything.
    var untriedAddresses: Int
    var count = 0
    /// When the next one is due.
    var next: Int
    var lastError: BusError?
    var patienceEnds: Int?
    /// Until when the bus may answer the present hello.
    var helloDeadline = Int.max

    init(addresses: Int, now: Int) {
        self.addresses = addresses
        untriedAddresses = addresses - 1
        next = now
    }
}
