/// How a `Bus` behaves; every member has a default that suits a service on the same machine.
///
/// ```swift
/// var options = BusOptions()
/// options.client = "heating"
/// options.timeout = .seconds(5)
/// let bus = try await Bus.connect(options: options)
/// ```
public struct BusOptions: Sendable {
    /// The name of this program in its `hello`, for the daemon's log.
    public var client: String?
    /// The secret for a bus on TCP; nil takes `$FLUXBUS_TOKEN`.
    public var token: String?
    /// For a bus behind TLS: whom to trust, and this program's certificate.
    public var tls = TLSOptions()
    /// How long a request may take, including the time spent waiting for room and for a lost connection; nil: as long
    /// as it takes. A request can override it.
    public var timeout: Duration? = .seconds(30)
    /// How long one attempt to connect may take until the bus has answered the `hello`. Several addresses share it.
    public var connectTimeout: Duration = .seconds(5)
    /// How long the first connection is retried while nothing answers; zero: one attempt. Later connections are
    /// retried until the bus is closed.
    public var patience: Duration = .zero
    /// The waits between attempts to reconnect.
    public var backOff = BackOff()
    /// How many requests may be unanswered; further senders wait for room, first come, first served.
    public var window = 1024
    /// How many bytes of requests may wait to be sent; further senders wait for room.
    public var unsentBytes = 1 << 20
    /// How many bytes of unanswered requests are kept to be sent again; further senders wait for room.
    public var unansweredBytes = 16 << 20
    /// How many requests of `post`, which does not wait, may be queued for room.
    public var postLimit = 65_536
    /// What the sequence form of a subscription keeps for a consumer that lags behind: events and their bytes. Beyond
    /// either the subscription pauses on the bus and continues, without loss, when half of it was taken.
    public var bufferedEvents = 1024
    public var bufferedBytes = 4 << 20
    /// The shortest time between two reads while no request is unanswered. It saves wake-ups where many events come and few
    /// matter, and may delay an event by as much. Zero: no delay.
    public var readInterval: Duration = .zero
    /// Whether dispatches, creations and drops carry a key, by which they commit exactly once also when the connection
    /// is lost meanwhile. Without one they fail with `outcome_unknown` then.
    public var usesKeys = true
    /// After this long without a byte the client sends a ping; after twice as long the
    /// connection counts as lost. Nil: never.
    public var keepAlive: Duration? = .seconds(30)
    /// How long the bus keeps this client's will and ephemeral stores when the connection is lost, at most a day: a
    /// client that is back in time has not been away. `close` ends them at once. Nil, or without `usesKeys`: they end with the
    /// connection.
    public var linger: Duration? = .seconds(10)
    /// How long `close` waits for submitted requests.
    public var closeTimeout: Duration = .seconds(5)
    /// The seed of random waits and keys; nil: the system's randomness. Fixed in tests only, because two clients of one
    /// user with one seed have the same keys.
    public var seed: UInt64?

    public init() {}
}
