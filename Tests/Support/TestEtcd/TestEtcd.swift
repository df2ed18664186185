import BusSystem
import Foundation
import Synchronization
import TestFiles
import TestServer

/// An etcd of one test, of one server or several on loopback, with its data in a directory of its own. Its servers are killed
/// when it is let go, and with the process at the latest.
package final class TestEtcd: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// What its servers show and want to see, as paths of PEM files.
    package struct Certificates: Sendable {
        package let authority: String
        package let certificate: String
        package let key: String

        package init(authority: String, certificate: String, key: String) {
            self.authority = authority
            self.certificate = certificate
            self.key = key
        }
    }

    package static let isInstalled =
        access(path(of: "etcd"), X_OK) == 0 && access(path(of: "etcdctl"), X_OK) == 0
    /// For tests that are skipped.
    package static let isMissing = "etcd is missing; deploy/prepare etcd-server etcd-client installs it."

    /// Where clients reach its servers.
    package let endpoints: [String]
    private let peers: [String]
    private let directory = TemporaryDirectory(in: "FLUXBUS_ETCD_DIRECTORY")
    private let certificates: Certificates?
    private let processes: Mutex<[Int: Int32]> = Mutex([:])

    /// Those that run, so that none outlives the process.
    private static let running: Mutex<Set<Int32>> = {
        atexit { for process in TestEtcd.running.withLock({ $0 }) { Glibc.kill(process, SIGKILL) } }
        return Mutex([])
    }()

    /// Starts the servers and does not wait: clients try until they are there.
    package init(servers count: Int = 1, certificates: Certificates? = nil) throws {
        let ports = try FreePorts.take(2 * count)
        let scheme = certificates == nil ? "http" : "https"
        endpoints = ports[..<count].map { "\(scheme)://127.0.0.1:\($0)" }
        peers = ports[count...].map { "http://127.0.0.1:\($0)" }
        self.certificates = certificates
        for index in 0..<count { try start(index) }
    }

    deinit { for index in endpoints.indices { kill(index) } }

    private static func path(of program: String) -> String { "/usr/bin/\(program)" }

    // MARK: - Its servers

    /// Starts a server, with the data that it had.
    package func start(_ index: Int) throws { try start(index, with: []) }

    private func start(_ index: Int, with more: [String]) throws {
        var words =
            [
                "--name", "s\(index)", "--data-dir", "\(directory.path)/s\(index)",
                "--listen-client-urls", endpoints[index], "--advertise-client-urls", endpoints[index],
                "--listen-peer-urls", peers[index], "--initial-advertise-peer-urls", peers[index],
                "--initial-cluster", cluster, "--log-level", "error", "--logger", "zap",
                // Elections take a third of a second, so that leases of one second are possible, and short outages.
                "--heartbeat-interval", "30", "--election-timeout", "300",
            ] + more
        if let certificates {
            words += [
                "--cert-file", certificates.certificate, "--key-file", certificates.key,
                "--trusted-ca-file", certificates.authority, "--client-cert-auth",
            ]
        }
        let nothing = Spawning.Stream.file("/dev/null", flags: O_RDWR)
        // It has no variables: ETCD_… are settings, and those of proxies are for other things.
        let process = try Spawning.start(
            [Self.path(of: "etcd")] + words, variables: [], streams: [0: nothing, 1: nothing, 2: nothing],
            closesOthers: true)
        processes.withLock { $0[index] = process }
        Self.running.withLock { _ = $0.insert(process) }
    }

    /// Ends a server as a crash does.
    package func kill(_ index: Int) {
        guard let process = processes.withLock({ $0.removeValue(forKey: index) }) else { return }
        Glibc.kill(process, SIGKILL)
        waitpid(process, nil, 0)
        Self.running.withLock { _ = $0.remove(process) }
    }

    /// Stops a server, or lets it go on. Once this returns, one that was stopped answers nothing more.
    package func signal(_ index: Int, _ number: Int32) {
        guard let process = processes.withLock({ $0[index] }) else { return }
        Glibc.kill(process, number)
        var outcome = siginfo_t()
        if number == SIGSTOP { waitid(P_PID, id_t(process), &outcome, WSTOPPED | WEXITED | WNOWAIT) }
    }

    /// What its servers have taken of the processors, in seconds.
    package var processorTime: Double {
        processes.withLock { Array($0.values) }.reduce(0) { sum, process in
            let text = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
            // Behind the name, which may have spaces: user and system time are the 12th and 13th.
            let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
            guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
                return sum
            }
            return sum + (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
        }
    }

    /// How far it has come.
    package var revision: Int {
        get throws {
            let lines = try control("endpoint status --write-out=fields").split(separator: "\n")
            guard let line = lines.first(where: { $0.hasPrefix("\"Revision\"") }),
                let revision = line.split(separator: " ").last.flatMap({ Int($0) })
            else { throw Failure(description: "etcdctl does not say its revision: \(lines)") }
            return revision
        }
    }

    // MARK: - Backups

    /// Saves what a server holds now in a file.
    package func save(_ file: String) throws { try control("snapshot save \(file)", at: [endpoints[0]]) }

    /// Ends all servers as a crash does, and starts them with what was saved in a file, and with nothing that came since.
    package func restore(_ file: String) throws {
        for index in endpoints.indices { kill(index) }
        for index in endpoints.indices {
            let data = "\(directory.path)/s\(index)"
            try FileManager.default.removeItem(atPath: data)
            try control(
                "snapshot restore \(file) --name s\(index) --data-dir \(data) --initial-cluster \(cluster) "
                    + "--initial-advertise-peer-urls \(peers[index])")
        }
        for index in endpoints.indices { try start(index) }
    }

    // MARK: - Losses

    package static let canBeFilled = access(path(of: "curl"), X_OK) == 0
    package static let curlIsMissing = "curl is missing; deploy/prepare curl installs it."

    /// From now on it takes nothing more, as if its quota were used up. A majority of its servers has to be there.
    package func fill() throws {
        // By no member: so it lasts for all of them, whichever are there.
        let alarm = #"{"action":"ACTIVATE","memberID":"0","alarm":"NOSPACE"}"#
        // A server that has just been started is not there at once.
        let answer = try RunningProgram([
            Self.path(of: "curl"), "-s", "-m", "30", "--retry", "30", "--retry-delay", "1",
            "--retry-connrefused", "-d", alarm, "\(endpoints[0])/v3/maintenance/alarm",
        ]).wait(atMost: 90).output
        guard answer.contains("NOSPACE") else { throw Failure(description: "etcd is not full: \(answer)") }
    }

    /// It has room again.
    package func makeRoom() throws { try control("alarm disarm") }

    /// Whether all servers have come as far.
    package var isEven: Bool {
        get throws {
            let lines = try control("endpoint status --write-out=fields").split(separator: "\n")
            return Set(lines.filter { $0.hasPrefix("\"Revision\"") }).count == 1
        }
    }

    /// All servers but one are gone, with their data; it goes on alone.
    package func goOn(with index: Int) throws {
        for index in endpoints.indices { kill(index) }
        for other in endpoints.indices where other != index { try removeData(of: other) }
        try start(index, with: ["--force-new-cluster"])
    }

    /// All servers are gone, with their data; others take their places.
    package func empty() throws {
        for index in endpoints.indices { kill(index) }
        for index in endpoints.indices { try removeData(of: index) }
        for index in endpoints.indices { try start(index) }
    }

    private func removeData(of index: Int) throws {
        try FileManager.default.removeItem(atPath: "\(directory.path)/s\(index)")
    }

    private var cluster: String { peers.enumerated().map { "s\($0)=\($1)" }.joined(separator: ",") }

    // MARK: - Its own client

    /// Runs etcdctl, which waits until there is a server; what it puts out.
    @discardableResult
    package func control(
        _ words: String, user: String? = nil, at servers: [String]? = nil
    ) throws -> String {
        let told = try RunningProgram(
            [
                Self.path(of: "etcdctl"), "--endpoints", (servers ?? endpoints).joined(separator: ","),
                "--dial-timeout", "50s", "--command-timeout", "50s",
            ] + (user.map { ["--user", $0] } ?? []) + words.split(separator: " ").map(String.init),
            environment: ["ETCDCTL_API": "3"]
        ).wait()
        guard told.status == 0 else {
            throw Failure(description: "etcdctl \(words): \(told.output)\(told.errors)")
        }
        return told.output
    }
}
