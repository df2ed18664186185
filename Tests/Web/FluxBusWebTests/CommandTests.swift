import FluxBusCommand
import Foundation
import Glibc
import TestFiles
import TestServer
import Testing

@Suite("fluxbus web")
struct CommandTests {
    @Test func itBecomesTheServer() async throws {
        try await onThread {
            let bus = try LiveBus()
            let directory = TemporaryDirectory()
            let program = try RunningProgram(
                "fluxbus", ["--address", bus.address, "web", "--listen", ":0"],
                environment: ["HOME": directory.path, "TMPDIR": directory.path])
            let link = try #require(program.nextLine())
            let host = try #require(link.components(separatedBy: "/").dropFirst(2).first)
            let token = link.components(separatedBy: "#token=").last ?? ""
            let client = try WebClient("tcp:\(host)", host: host)
            let answer = try client.ask("POST", "/session", ["Origin": "http://\(host)"], body: token)
            let cookie = try #require(answer.fields["set-cookie"]?.split(separator: ";").first)
            let state = try client.ask("GET", "/session", ["Cookie": String(cookie)]).text
            #expect(state.contains(#""bus":"\#(bus.address)""#))
            program.signal(SIGTERM)
            #expect(try program.wait().status == 0)
        }
    }

    @Test func itSaysThatTheServerIsMissing() throws {
        let directory = TemporaryDirectory()
        let copy = "\(directory.path)/fluxbus"
        try RunningProgram.copy("fluxbus", to: copy)
        let outcome = try RunningProgram([copy, "web"], environment: ["PATH": "/nonexistent::."]).wait()
        #expect(outcome.status == 69)
        #expect(
            outcome.errors
                == "fluxbus: There is no fluxbus-web beside this program or in $PATH; install it as well.\n")
    }

    @Test func itsPlacesAreItsOwnFolderAndThePath() {
        #expect(
            WebCommand.places(
                of: "fluxbus-web", beside: "/opt/flux/bin/fluxbus", path: "/usr/bin::.:/bin:rel")
                == ["/opt/flux/bin/fluxbus-web", "/usr/bin/fluxbus-web", "/bin/fluxbus-web"])
        #expect(WebCommand.places(of: "fluxbus-web", beside: nil, path: nil).isEmpty)
    }

    @Test func allArgumentsAreThoseOfTheServer() throws {
        let words = [
            "--address", "unix:/a", "--ca", "x", "web", "--help", "--listen", ":0", "--address", "unix:/b",
        ]
        let command = try #require(
            try RootCommand.parseAsRoot(CommandLineEntry.shielded(words)) as? WebCommand)
        #expect(
            command.passed == [
                "--address", "unix:/a", "--ca", "x", "--help", "--listen", ":0", "--address", "unix:/b",
            ])
    }
}
