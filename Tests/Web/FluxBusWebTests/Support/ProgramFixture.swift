import Foundation
import TestFiles
import TestServer

/// The program, as a process of its own, before a bus in this process.
final class ProgramFixture {
    let bus: LiveBus
    let directory = TemporaryDirectory()
    private(set) var program: RunningProgram
    /// The one line that it printed.
    private(set) var link: String
    private let arguments: [String]
    private let environment: [String: String]

    init(_ bus: LiveBus.Setup = LiveBus.Setup(), _ more: [String] = []) throws {
        self.bus = try LiveBus(bus)
        arguments = ["--address", self.bus.address, "--listen", "127.0.0.1:0"] + more
        environment = ["XDG_STATE_HOME": "\(directory.path)/state", "TMPDIR": directory.path]
        program = try RunningProgram("fluxbus-web", arguments, environment: environment)
        link = ""
        try readLink()
    }

    private func readLink() throws {
        guard let line = program.nextLine() else {
            throw Sockets.Failure("It printed nothing: \(program.nextMessage() ?? "")")
        }
        link = line
    }

    func restart() throws {
        program = try RunningProgram("fluxbus-web", arguments, environment: environment)
        try readLink()
    }

    var token: String { link.components(separatedBy: "#token=").last ?? "" }
    var host: String { link.components(separatedBy: "/").dropFirst(2).first ?? "" }

    func client() throws -> WebClient { try WebClient("tcp:\(host)", host: host) }

    func signIn() throws -> String {
        let answer = try client().ask("POST", "/session", ["Origin": "http://\(host)"], body: token)
        guard answer.status == 204, let cookie = answer.fields["set-cookie"]?.split(separator: ";").first
        else {
            throw Sockets.Failure("Signing in was answered \(answer.status): \(answer.text)")
        }
        return String(cookie)
    }

    func webSocket(_ cookie: String, _ prepare: (WebClient) -> Void = { _ in }) throws -> WebSocketClient {
        let client = try client()
        prepare(client)
        let answer = try client.upgrade(["Cookie": cookie])
        guard answer.status == 101 else {
            throw Sockets.Failure("The handshake was answered \(answer.status): \(answer.text)")
        }
        return WebSocketClient(client)
    }

    /// Bytes of memory that it has.
    func memory() throws -> Int {
        let path = "/proc/\(program.process)/statm"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        guard let pages = text.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
            throw Sockets.Failure("\(path) has no number.")
        }
        return pages * 4096
    }

    /// What is left in its directories, its key aside.
    func leftOver() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { $0 != "state" }
    }
}
