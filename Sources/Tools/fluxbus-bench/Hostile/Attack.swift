/// One way to harm a bus: what there must be before, and what hostile connections do.
struct Attack: Sendable {
    let name: String
    let summary: String
    /// What the bus holds before it begins.
    var setUp = HostileSetUp()
    /// With how many hostile connections it is carried out, one after the other.
    var forms = [1, 50]
    /// What the bus may rightly hold afterwards because of it, in bytes.
    var keeps = 0
    /// Whether its connections do all that a client should, so that none of them may be cut off.
    var isWellBehaved = false
    /// What the bus should answer.
    var outcome = Outcome.success
    /// What each connection does, for this many of them.
    let scripts: @Sendable (_ connections: Int, _ world: HostileWorld) -> [AttackScript]

    /// What the bus answers to an attack.
    enum Outcome {
        /// It carries out what is asked: a refusal means that the attack did no harm because it did nothing.
        case success
        /// It refuses what is asked.
        case refusal
        /// It carries out what is asked until there is no memory for more.
        case successUntilFull
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
        /// What their names begin with.
        var prefix = ""
    }

    var stores: [Stores] = []
    /// Commits to the stores of `counter`, for attacks on what was; they also have a log.
    var commits = 0
    var hasLog = false
    /// Whether there are types whose definitions nearly fill a line.
    var hasWideTypes = false
}

/// What scripts may know of the bus that they attack.
struct HostileWorld: Sendable {
    /// The most stores that an attack has, as the options say.
    let stores: Int
    let epoch: String
    /// After everything was set up.
    let revision: Int
}
