import BusJSON
import Foundation
import TestEtcd
import TestFiles
import TestServer

/// One bus over several machines, all of them this one: etcd servers, and a daemon for each member, between which relays
/// stand that can be cut.
final class TestCluster: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let etcd: TestEtcd
    let members: [TestMember]
    /// Tokens of clients over TCP: `c0`, `c1` and so on.
    static let tokens = 64

    /// Starts the servers and the members, and returns once the bus serves on each of them.
    ///
    /// - Parameters:
    ///   - build: The path of another build's daemon, which members are until they `upgrade`.
    ///   - hasClocks: Whether each member goes by a clock that can be set.
    ///   - relayed: Who reads the shared log through whom, one that stands before it.
    ///   - rules: Lines of access rules that are in force; nil: there are none.
    init(
        _ names: [String], servers: Int = 3, lease: String = "2s", bus: String = "home", build: String? = nil,
        keepsDescriptors: Bool = false, hasClocks: Bool = false, relayed: [String: String] = [:],
        rules: String? = nil,
        starts: (String) -> Bool = { _ in true }
    ) throws {
        let etcd = try TestEtcd(servers: servers)
        self.etcd = etcd
        var made: [String: TestMember] = [:]
        members = try names.map { name in
            let member = try TestMember(
                name, etcd, bus: bus, lease: lease, build: build, keepsDescriptors: keepsDescriptors,
                clock: hasClocks ? try TestClock() : nil, from: relayed[name].flatMap { made[$0]?.address },
                rules: rules)
            made[name] = member
            return member
        }
        for member in members where starts(member.name) { try member.start() }
        for member in members where starts(member.name) { try member.waitUntilAttached() }
    }

    subscript(name: String) -> TestMember { members.first { $0.name == name }! }

    /// Tries until there is something; fails with what stands behind `what` after a time.
    static func wait<Found>(
        _ what: @autoclosure () -> String, seconds: Double = 120, _ find: () throws -> Found?
    ) throws -> Found {
        let deadline = Date().addingTimeInterval(seconds)
        while true {
            if let found = try find() { return found }
            if Date() > deadline { throw Failure(description: "There is no \(what()) in \(seconds) s.") }
            poll(nil, 0, 10)
        }
    }

    static func wait(
        until what: @autoclosure () -> String, seconds: Double = 120, _ holds: () throws -> Bool
    ) throws {
        let _: Bool = try wait(what(), seconds: seconds) { try holds() ? true : nil }
    }
}

/// A member of a bus over several machines: a daemon with its own directory and its own way to each etcd server.
final class TestMember: Sendable {
    let name: String
    let directory = TemporaryDirectory()
    /// To each server of the etcd.
    let relays: [Relay]
    let daemon: SupervisedProgram
    /// By which it goes; nil: by the machine's.
    let clock: TestClock?
    private let port: UInt16

    /// Exit codes of a daemon that wants to be started again.
    private static let again: Set<Int32> = [70, 75]

    init(
        _ name: String, _ etcd: TestEtcd, bus: String, lease: String = "2s", build: String? = nil,
        arguments: [String] = [], keepsDescriptors: Bool = false, clock: TestClock? = nil,
        from relay: String? = nil, rules: String? = nil
    ) throws {
        self.name = name
        self.clock = clock
        relays = try etcd.endpoints.map { try Relay(to: $0) }
        port = try FreePorts.take(1)[0]
        try directory.write(
            "tokens", (0..<TestCluster.tokens).map { "c\($0) \(Self.token($0))\n" }.joined())
        for (file, text) in ClusterTypes.files { try directory.write("types/\(file)", text) }
        try directory.write(
            "fluxbusd.yaml",
            """
            listen:
              - unix: s
              - tcp: 127.0.0.1:\(port)
            tokens: tokens
            types: types
            stores: [\(ClusterTypes.stores.joined(separator: ", "))]
            log: { path: bus.sqlite }
            cluster:
              bus: \(bus)
              etcd: [\(relays.map(\.endpoint).joined(separator: ", "))]
              member: \(name)
              advertise: "unix:\(directory.path)/s"
              lease: \(lease)
              \(relay.map { "from: \"\($0)\"" } ?? "")
            \(rules.map { "access:\n\($0)" } ?? "")
            """)
        let program = "\(directory.path)/fluxbusd"
        try Self.link(program, to: build ?? RunningProgram.path(of: "fluxbusd"))
        daemon = SupervisedProgram(
            [program, "--config", "\(directory.path)/fluxbusd.yaml"] + arguments,
            messages: "\(directory.path)/messages", again: Self.again, variables: clock?.variables ?? [],
            store: keepsDescriptors ? DescriptorStore() : nil)
    }

    static func token(_ number: Int) -> String { "0123456789abcdef-\(number)" }

    /// For users of this machine: root, and the daemon's own user.
    var address: String { "unix:\(directory.path)/s" }
    /// For clients that may go to another member with the same identity.
    var remote: String { "tcp:127.0.0.1:\(port)" }

    func start() throws { try daemon.start() }

    /// From its next start on it is this build.
    func upgrade() throws {
        try Self.link("\(directory.path)/fluxbusd", to: RunningProgram.path(of: "fluxbusd"))
    }

    private static func link(_ program: String, to build: String) throws {
        unlink(program)
        try FileManager.default.createSymbolicLink(atPath: program, withDestinationPath: build)
    }

    /// What it has said so far.
    var messages: String {
        (try? String(contentsOfFile: "\(directory.path)/messages", encoding: .utf8)) ?? ""
    }

    /// An operator's connection.
    func client() throws -> LineClient {
        do {
            return try LineClient(address, isResetAnEnd: true)
        } catch {
            throw TestCluster.Failure(
                description: "\(name): \(error); exits \(daemon.exits), messages:\n\(messages.suffix(1500))")
        }
    }

    /// A connection with a token, once there is one.
    func client(token number: Int, patience: Int = 60) throws -> LineClient {
        let client = try LineClient(remote, isResetAnEnd: true, patience: patience)
        let reply = try client.ask(#"{"op":"hello","token":"\#(Self.token(number))"}"#)
        guard reply.contains(#""ok":true"#) else { throw TestCluster.Failure(description: reply) }
        return client
    }

    /// What a ping says of the member; nil while nobody answers.
    var condition: JSON? { told("ping") }

    /// What the reply to a request without members says of the member; nil while nobody answers.
    private func told(_ op: String) -> JSON? {
        guard let client = try? LineClient(address, isResetAnEnd: true, patience: 3),
            let reply = try? client.ask("{\"op\":\"\(op)\"}")
        else { return nil }
        return (try? JSON(parsing: reply))?["cluster"]
    }

    /// Through which member it reads the shared log; nil: it reads from etcd, or nobody answers.
    var relay: String? { told("cluster")?["from"]?.string }

    /// The place of the shared log up to which its copy is durable; nil: nobody answers.
    var storedPlace: Int? { told("cluster")?["stored"]?.int }

    var isAttached: Bool { condition?["attached"] == true }
    /// Why its copy can't be written, if that is so.
    var suspension: String? { condition?["suspended"]?["reason"]?.string }

    func waitUntilAttached(seconds: Double = 120) throws {
        try TestCluster.wait(
            until:
                "member \(name) that is attached; exits \(daemon.exits), messages:\n\(messages.suffix(1500))",
            seconds: seconds
        ) { isAttached }
    }

    // MARK: - The ways to the shared log

    func cut() { for relay in relays { relay.cut() } }
    func mend() { for relay in relays { relay.mend() } }
    func hold(_ held: Relay.Held) { for relay in relays { relay.hold(held) } }
    func reset() { for relay in relays { relay.reset() } }
    func delay(milliseconds: Int32) { for relay in relays { relay.delay(milliseconds: milliseconds) } }
}
