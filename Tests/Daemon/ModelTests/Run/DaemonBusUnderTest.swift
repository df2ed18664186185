import BusJSON
import Glibc
import TestEtcd
import TestFiles
import TestServer

/// The daemon as a process, or one for each member of a bus over several machines, all of them this one.
///
/// Time is the machine's; all clients are the user that the test runs as.
final class DaemonBusUnderTest: BusUnderTest {
    private struct Member {
        let directory = TemporaryDirectory()
        var daemon: RunningProgram?
        /// One that joins a bus keeps what it does from then on.
        var oldest = 0
        var address: String { "unix:\(directory.path)/s" }

        mutating func start() throws {
            let program = try RunningProgram("fluxbusd", ["--config", "\(directory.path)/fluxbusd.yaml"])
            guard program.waitFor("listening on") else {
                throw Failure(description: try program.wait().errors)
            }
            daemon = program
        }
    }

    struct Failure: Error {
        let description: String
    }

    let hasManualTime = false
    let ownUID = Int(getuid())
    let now = 0
    var isShared: Bool { etcd != nil }
    var begun: Int? { etcd == nil ? nil : now }
    private(set) var epoch = ""
    private let etcd: TestEtcd?
    private var members: [Member]
    private var clients: [Int: LineClient] = [:]
    /// Sees how far the bus is.
    private var observer: LineClient
    /// The sessions of members that were killed end when their leases do.
    var canCrash: Bool { etcd == nil }

    /// - Parameter members: How many machines there are; nil for one that shares its bus with nobody.
    init(types: [JSON], stores: [String], members count: Int? = nil) throws {
        let etcd = try count.map { _ in try TestEtcd() }
        var members = (0..<(count ?? 1)).map { _ in Member() }
        for index in members.indices {
            let directory = members[index].directory
            try directory.write("fluxbusd.yaml", Self.configuration(stores, etcd, index))
            try Self.write(types, to: directory)
            try members[index].start()
        }
        observer = try LineClient(members[0].address)
        epoch = try JSON(parsing: observer.reply(to: #"{"op":"hello"}"#))["epoch"]?.string ?? ""
        self.etcd = etcd
        self.members = members
        try settle(through: stores.count + (begun == nil ? 0 : 1))
        for index in members.indices {
            let reply = try LineClient(members[index].address).reply(to: #"{"op":"history","limit":1}"#)
            self.members[index].oldest = try JSON(parsing: reply)["oldest"]?.int ?? 0
        }
    }

    private static func configuration(_ stores: [String], _ etcd: TestEtcd?, _ index: Int) -> String {
        var text = """
            listen: [{ unix: s }]
            types: types
            stores: [\(stores.map { "\"\($0)\"" }.joined(separator: ", "))]
            log: { path: bus.sqlite, sync: never }

            """
        if let etcd {
            text +=
                "cluster: { bus: model, etcd: [\(etcd.endpoints.joined(separator: ", "))], member: m\(index), lease: 5s }\n"
        }
        return text
    }

    func connect(_ client: Int, uid: Int) throws {
        clients[client] = try LineClient(members[client % members.count].address)
    }

    func oldest(_ client: Int) -> Int { members[client % members.count].oldest }
    func close(_ client: Int) { clients.removeValue(forKey: client)?.close() }
    func setReading(_ client: Int, _ isReading: Bool) {}
    func advance(milliseconds: Int) {}
    func handOver(_ definitions: [JSON]) {}

    func exchange(_ client: Int, _ line: String) throws -> [JSON] {
        guard let client = clients[client] else { return [] }
        try client.send(line)
        return try synced(client).lines
    }

    func received(_ client: Int, through revision: Int) throws -> [JSON] {
        guard let client = clients[client] else { return [] }
        return try synced(client).lines
    }

    func settle(through revision: Int) throws {
        for _ in 0..<2000 {
            if try synced(observer).revision >= revision { return }
            poll(nil, 0, 5)
        }
    }

    /// All that comes before the reply to a `sync`, and that one's revision.
    private func synced(_ client: LineClient) throws -> (lines: [JSON], revision: Int) {
        try client.send(#"{"op":"sync","id":"model"}"#)
        var lines: [JSON] = []
        while let text = try client.line() {
            let line = try JSON(parsing: text)
            if line["id"] == "model" { return (lines, line["revision"]?.int ?? 0) }
            lines.append(line)
        }
        throw Failure(description: "The connection ended: \(lines)")
    }

    /// Ends the daemon, and starts another on its log.
    func crash(now: Int) throws {
        for index in members.indices {
            members[index].daemon?.signal(SIGKILL)
            _ = try members[index].daemon?.wait()
        }
        clients = [:]
        for index in members.indices { try members[index].start() }
        observer = try LineClient(members[0].address)
    }

    func setDefinitions(_ definitions: [JSON]) throws {
        for member in members { try Self.write(definitions, to: member.directory) }
    }

    private static func write(_ definitions: [JSON], to directory: TemporaryDirectory) throws {
        for definition in definitions {
            try directory.write("types/\(definition["type"]?.string ?? "").yaml", definition.encoded)
        }
    }
}
