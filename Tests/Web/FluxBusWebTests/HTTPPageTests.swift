import Foundation
import TestFiles
import TestServer
import Testing

/// What the page about HTTP shows happens as it is printed, with `curl`.
@Suite(
    "The page about HTTP",
    .enabled(
        if: FileManager.default.isExecutableFile(atPath: "/usr/bin/curl"),
        "curl is missing; deploy/prepare curl installs it."))
struct HTTPPageTests {
    private static let token = "a-program-of-this-house"

    /// A line of a console, with what it prints.
    private struct Example {
        let command: String
        var output = ""
    }

    private static func examples() throws -> [Example] {
        let page = try MarkdownPage("Sources/Daemon/BusServer/BusServer.docc/HTTP.md")
        var examples: [Example] = []
        for line in page.blocks("console").flatMap({ $0.text.dropLast().components(separatedBy: "\n") }) {
            if line.hasPrefix("$ ") {
                examples.append(Example(command: String(line.dropFirst(2))))
            } else {
                examples[examples.count - 1].output += line + "\n"
            }
        }
        return examples
    }

    @Test func everyExampleGivesWhatItSays() async throws {
        var setup = LiveBus.Setup()
        setup.stores = ["counter/kitchen", "counter/hall"]
        setup.hasLog = true
        setup.types = ["counter": try Repository.text("config/types/counter.yaml")]
        let directory = TemporaryDirectory()
        let secret = "a-secret-of-the-shop"
        let page = try MarkdownPage("Sources/Daemon/BusServer/BusServer.docc/HTTP.md")
        let hook = try #require(page.blocks("hook").first).text
        try directory.write("shop.yaml", hook.replacing("/etc/fluxbus/secrets", with: directory.path))
        try directory.write("shop", secret + "\n")
        try await WebFixture.run(setup) { setup, _ in
            setup.hooks = directory.path
            setup.apiToken = Array(Self.token.utf8)
        } _: { (web) throws in
            let examples = try Self.examples()
            #expect(examples.count >= 16)
            for example in examples {
                let run = try RunningProgram(
                    ["/bin/sh", "-c", example.command.replacing("curl ", with: "curl -sS ")],
                    environment: [
                        "PATH": "/usr/bin:/bin", "BUS": "http://\(web.host)",
                        "TOKEN": "Authorization: Bearer \(Self.token)", "SECRET": secret,
                        "PAID": #"{"room":"hall","amount":2}"#,
                    ]
                ).wait()
                let parts = example.output.components(separatedBy: "…")
                let isSame =
                    parts.count == 1
                    ? run.output == example.output
                    : run.output.hasPrefix(parts[0]) && run.output.hasSuffix(parts[1])
                #expect(isSame, "\(example.command)\n\(run.output)\n\(run.errors)")
            }
        }
    }
}
