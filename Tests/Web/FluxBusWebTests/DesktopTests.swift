import Foundation
import TestFiles
import TestServer
import Testing

/// A terminal in which the program is started, with a program in the place of `xdg-open`.
private struct Desk {
    private let bus: LiveBus
    let directory = TemporaryDirectory()

    init() throws {
        bus = try LiveBus()
        let programs = "\(directory.path)/programs"
        try FileManager.default.createDirectory(atPath: programs, withIntermediateDirectories: true)
    }

    func start(
        opener: String?, _ more: [String] = [], _ environment: [String: String] = ["DISPLAY": ":7"]
    ) throws -> TerminalProgram {
        let path = "programs/xdg-open"
        try? FileManager.default.removeItem(atPath: "\(directory.path)/\(path)")
        if let opener { try directory.write(path, "#!/bin/sh\nPATH=/usr/bin:/bin\n\(opener)\n", mode: 0o755) }
        let own = [
            "TMPDIR": directory.path, "XDG_STATE_HOME": "\(directory.path)/state",
            "PATH": "programs:\(directory.path)/programs", "SAID": "\(directory.path)/said",
        ]
        return try TerminalProgram(
            [RunningProgram.path(of: "fluxbus-web"), "--address", bus.address, "--listen", "127.0.0.1:0"]
                + more,
            environment: own.merging(environment) { $1 }, rows: 24, columns: 200)
    }

    var said: String? { try? String(contentsOfFile: "\(directory.path)/said", encoding: .utf8) }

    func isLeft() throws -> Bool {
        try FileManager.default.contentsOfDirectory(atPath: directory.path).contains {
            $0.hasPrefix("fluxbus-web")
        }
    }
}

/// The program in the terminal of a desktop.
@Suite("The page on a desktop", .timeLimit(.minutes(10)))
struct DesktopTests {
    @Test(arguments: [(["DISPLAY": ":7"], [String]()), (["WAYLAND_DISPLAY": "w"], []), ([:], ["--open"])])
    func theBrowserIsGivenAFileAndNoToken(environment: [String: String], more: [String]) async throws {
        try await onThread {
            let desk = try Desk()
            let program = try desk.start(
                opener:
                    #"stat -c %a "$(dirname "$1")" "$1" >"$SAID"; echo "$*" >>"$SAID"; cat "$1" >>"$SAID"; kill -INT $PPID"#,
                more, environment)
            #expect(program.shows("This link signs in one browser"))
            #expect(program.wait() == 0)
            let lines = try #require(desk.said).split(separator: "\n").map(String.init)
            try #require(lines.count == 6)
            #expect(lines[..<2] == ["700", "600"])
            #expect(
                lines[2].hasPrefix("\(desk.directory.path)/fluxbus-web-") && lines[2].hasSuffix("/open.html"))
            let link = try #require(program.screen.all.split(whereSeparator: \.isWhitespace).first)
            #expect(link.contains("/#token=") && lines[4].contains("url=\(link)\""))
            #expect(try !desk.isLeft())
        }
    }

    /// Ctrl-C is for the server, not for the browser; and who has none is told what to do.
    @Test func whoeverHasNoBrowserIsTold() async throws {
        try await onThread {
            let desk = try Desk()
            for (opener, reason) in [
                ("exit 3", "xdg-open found none"), (nil, "there is no xdg-open in $PATH"),
            ] {
                let program = try desk.start(opener: opener)
                #expect(program.shows("No browser was opened, because \(reason); open the link yourself."))
                program.signal(SIGINT)
                #expect(program.wait() == 0)
            }
        }
    }

    @Test(arguments: [(["DISPLAY": ":7"], ["--no-open"]), ([:], []), (["DISPLAY": ""], [])])
    func withoutADesktopNothingIsOpened(environment: [String: String], more: [String]) async throws {
        try await onThread {
            let desk = try Desk()
            let program = try desk.start(opener: #"echo opened >"$SAID""#, more, environment)
            #expect(program.shows("Ctrl-C ends the server."))
            program.signal(SIGINT)
            #expect(program.wait() == 0)
            #expect(desk.said == nil && !program.screen.all.contains("No browser"))
        }
    }
}
