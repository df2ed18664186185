/// One way to harm a bus: its setup, and what hostile connections do.
struct Attack: Sendable {
    let name: String
    let summary: String
    /// What the bus holds before it begins.
    var setUp = HostileSetUp()
    /// With how many hostile connections it is run, one after the other.
    var forms = [1, 50]
    /// What the bus may rightly hold afterwards because of it, in bytes.
    var keeps = 0
    /// Whether its connections do all that a client should, so that none of them may be closed.
    var isWellBehaved = false
    /// The expected answer of the bus.
    var outcome = Outcome.success
    /// What each connection does, for this many of them.
    let scripts: @Sendable (_ connections: Int, _ world: HostileWorld) -> [AttackScript]

    /// The answer of the bus to an attack.
    enum Outcome {
        /// It executes the requests: a refusal means that the attack did no harm because it did nothing.
        case success
        /// It refuses the requests.
        case refusal
        /// It executes the requests until there is no memory for more.
        case successUntilFull
        /// It answers the requests, some in one way and some in the other.
        case either
    }

    /// The same script for every connection.
    static func each(
        _ script: @escaping @Sendable (HostileWorld) -> AttackScript
    ) -> @Sendable (Int, HostileWorld) -> [AttackScript] {
        { connections, world in
            let one = script(world)
            return Array(repeating: one, count: connections)
        }
    }

    /// That many of these, and one of the other beside them.
    static func each(
        _ script: @escaping @Sendable (HostileWorld) -> AttackScript,
        besideOne other: @escaping @Sendable (HostileWorld) -> AttackScript
    ) -> @Sendable (Int, HostileWorld) -> [AttackScript] {
        { connections, world in Array(repeating: script(world), count: connections) + [other(world)] }
    }
}

/// What a bus holds before an attack begins.
struct HostileSetUp: Sendable {
    /// Stores of a type, named `TYPE/…s0`, `TYPE/…s1` and so on.
    struct Stores: Sendable {
        let type: String
        var count = 1
        /// The prefix of their names.
        var prefix = ""
    }

    var stores: [Stores] = []
    /// Commits to the stores of `counter`, for attacks on the past; they also have a log.
    var commits = 0
    var hasLog = false
    /// Whether there are types whose definitions nearly fill a line.
    var hasWideTypes = false
    /// Whether it listens for TLS, too.
    var isSecure = false
    /// Access rules, as YAML of the configuration.
    var access = ""
    /// Whether the innocent client connects for each of its dispatches, as the command line does.
    var comesAnew = false
}

/// What scripts know of the bus that they attack.
struct HostileWorld: Sendable {
    /// The most stores that an attack has, according to the options.
    let stores: Int
    let epoch: String
    /// After everything was set up.
    let revision: Int
}
