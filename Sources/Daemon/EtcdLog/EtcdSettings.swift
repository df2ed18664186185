import BusCluster

/// Where a bus's etcd is, and how to speak to it.
///
/// The etcd serves this bus alone, and compacts nothing by itself (`auto-compaction-retention` stays 0): its history is the
/// log.
package struct EtcdSettings: Sendable {
    /// Addresses of its servers, such as `https://10.0.0.1:2379`.
    package var endpoints: [String]
    /// The bus's name: its keys stand under `/fluxbus/<bus>/`.
    package var bus: String
    /// A PEM file with the authorities that its servers' certificates are issued by; nil: those that the system trusts.
    package var authority: String?
    /// PEM files with our certificate and its key.
    package var certificate: String?
    package var key: String?
    /// Who we are; nil: etcd asks nobody, or knows us by our certificate.
    package var user: String?
    package var password = ""
    /// How long a member may be silent before it has ended.
    package var lease = Duration.seconds(10)
    /// Off: a member falls silent once it has joined, as one whose machine hangs. For tests.
    package var keepsAlive = true
    package var times = EtcdTimes()
    /// Members to read the log through, in the order in which they are tried. While none of them delivers, it is read from etcd.
    package var relays: [Relay] = []

    package init(endpoints: [String], bus: String) {
        self.endpoints = endpoints
        self.bus = bus
    }

    /// Refuses what could never work.
    func check() throws(OrderedLogFailure) {
        guard !endpoints.isEmpty else {
            throw OrderedLogFailure(.unusable, "No etcd is named: give its addresses in `etcd` of `cluster`.")
        }
        for endpoint in endpoints {
            guard endpoint.hasPrefix("http://") || endpoint.hasPrefix("https://"), !endpoint.hasSuffix("/")
            else {
                throw OrderedLogFailure(
                    .unusable,
                    "\(endpoint) is not an address of an etcd: write it as https://HOST:2379, without a slash at the end."
                )
            }
        }
        guard ProposalName.isMemberName(bus) else {
            throw OrderedLogFailure(
                .unusable,
                "\(bus) can't be a bus's name: use at most \(OrderedLogLimits.memberName) of a-z, 0-9, `.`, `_`, `-`."
            )
        }
        guard (certificate == nil) == (key == nil) else {
            throw OrderedLogFailure(
                .unusable,
                "A certificate needs its key: give both `certificate` and `key` of `cluster`, or none.")
        }
    }
}

/// How long what is waited for. Each is a deadline; none is a delay in good times.
package struct EtcdTimes: Sendable {
    /// To connect to a server, TLS included.
    package var connecting = Duration.seconds(1)
    /// For an answer. A server that has just lost its leader finds another in one to two seconds, and forgets what it was
    /// asked meanwhile: so the first attempt is shorter than that, and each further one twice as long, up to the last.
    package var firstAnswer = Duration.milliseconds(1200)
    package var answer = Duration.seconds(3)
    /// For the watch to deliver what is known to be in the log: beyond it, the watch is stale.
    package var delivery = Duration.seconds(2)
    /// Between attempts while no server can be reached: the first wait, doubled up to the last.
    package var firstRetry = Duration.milliseconds(50)
    package var lastRetry = Duration.seconds(1)

    package init() {}
}

/// Every bound on what comes from outside or waits for its owner. Sizes are in bytes.
enum EtcdLimits {
    /// The longest answer, and the longest line of a watch: one part of it has at most 1.5 MB and some, in base64.
    static let answer = 16 << 20
    /// The most of an answer's own words that a message shows.
    static let words = 200
    /// Entries that wait for their owner; beyond it the watch is not read on. Twice the largest proposal and more.
    static let waiting = 8 << 20
    /// What is taken at once: a turn's worth.
    static let takenEntries = 256
    static let takenBytes = 1 << 20
    /// Calls that wait for a server to be found: a few kinds, each made one by one.
    static let heldCalls = 1024
    /// Connections that are kept: for the watch, a proposal, the lease and two for the rest.
    static let keptConnections = 5
}
