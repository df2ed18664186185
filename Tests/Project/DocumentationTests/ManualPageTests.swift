import Foundation
import TestFiles
import TestServer
import Testing

private let formatter = "/usr/bin/groff"

/// The manual pages that are made from Markdown: they are what it says, whole, and format without a warning.
@Suite(.timeLimit(.minutes(1))) struct ManualPageTests {
    private static let logic = "Sources/Core/BusLogic/BusLogic.docc/"
    private static let server = "Sources/Daemon/BusServer/BusServer.docc/"
    /// Each page with all the Markdown that goes into it.
    static let made = [
        "fluxbus-types.5": ["\(logic)Types.md", "\(logic)Operators.md"],
        "fluxbus-protocol.7": ["Sources/Core/BusProtocol/BusProtocol.docc/Protocol.md"],
        "fluxbus-operating.7": ["\(server)Operating.md", "\(server)TimeTravel.md"],
    ]

    private func text(_ page: String) throws -> String { try Repository.text("deploy/man/\(page)") }

    /// What a reader sees of a page's source: without fonts and escapes.
    private static func plain(_ text: some StringProtocol) -> String {
        var plain = String(text).replacing(/\\f[BIR]/, with: "").replacing("\\%", with: "").replacing(
            "\\&", with: "")
        let escapes = [
            "\\-": "-", "\\(aq": "'", "\\(ga": "`", "\\(ha": "^", "\\(ti": "~", "\\(dq": "\"",
        ]
        for (escape, character) in escapes { plain = plain.replacing(escape, with: character) }
        return plain.replacing("\\e", with: "\\")
    }

    @Test func pagesAreWhatTheirMarkdownMakes() throws {
        let directory = TemporaryDirectory()
        let script = Repository.root.appendingPathComponent("deploy/build-man").path
        let outcome = try RunningProgram(
            [script, directory.path], environment: ["PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"]
        ).wait()
        try #require(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.errors.isEmpty, "\(outcome.errors)")
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        #expect(names.sorted() == Self.made.keys.sorted())
        for name in names {
            let made = try String(contentsOfFile: "\(directory.path)/\(name)", encoding: .utf8)
            #expect(
                try made == text(name),
                "deploy/man/\(name) is not what its Markdown says: run deploy/build-man.")
        }
    }

    /// Beside the script: every example, heading and row of a table is there, letter by letter.
    @Test(arguments: made.keys.sorted()) func nothingIsLost(_ name: String) throws {
        let source = try text(name)
        let shown = source.components(separatedBy: "\n.EX\n").dropFirst().map { part in
            Self.plain(part.prefix(upTo: part.range(of: "\n.EE\n")?.lowerBound ?? part.endIndex)) + "\n"
        }
        let pages = try #require(Self.made[name]).map { try MarkdownPage($0) }
        let blocks = pages.flatMap(\.blocks).map(\.text)
        #expect(blocks.count > (name == "fluxbus-operating.7" ? 8 : 40))
        #expect(shown.count == blocks.count)
        for block in blocks { #expect(shown.contains(block), "deploy/man/\(name) lacks an example") }

        let lines = Set(source.split(separator: "\n").map { Self.plain($0) })
        let filled = Self.plain(source.replacing("\n", with: " ")).replacing("*", with: "")
            .replacing("\\", with: "")
        for page in pages {
            for heading in page.headings.dropFirst() where heading != "Overview" {
                let words = heading.replacing("`", with: "")
                let forms = [".SH \(words.uppercased())", ".SS \(words)", words]
                #expect(forms.contains { lines.contains($0) }, "\(heading)")
            }
            for row in page.rows {
                for cell in row where !cell.isEmpty {
                    let words = cell.replacing(/\[([^\]]*)\]\([^)]*\)/) { String($0.1) }
                        .replacing(/<doc:([A-Za-z]+)>/) { String($0.1) }
                        .replacing("`", with: "").replacing("*", with: "").replacing("\\", with: "")
                    #expect(filled.contains(words), "\(cell)")
                }
            }
        }
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: formatter), "groff is missing."))
    func pagesFormatWithoutAWarning() throws {
        let directory = Repository.root.appendingPathComponent("deploy/man").path
        for page in try FileManager.default.contentsOfDirectory(atPath: directory) {
            let outcome = try RunningProgram(
                [formatter, "-man", "-ww", "-Kutf8", "-Tutf8", "-P-cbou", "\(directory)/\(page)"],
                environment: ["PATH": "/usr/bin:/bin"]
            ).wait()
            #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(page): \(outcome.errors)")
            #expect(outcome.output.contains("SEE ALSO"), "\(page)")
        }
    }

    /// Each page names all others, and none that is not there.
    @Test func pagesReferToEachOther() throws {
        let directory = Repository.root.appendingPathComponent("deploy/man").path
        let pages = try FileManager.default.contentsOfDirectory(atPath: directory)
        #expect(pages.count == 7)
        for page in pages {
            let text = Self.plain(try text(page))
            let end = try #require(text.components(separatedBy: "\n.SH SEE ALSO\n").last)
            let named = Set(end.matches(of: /(?m)^\.BR (fluxbus[a-z.-]*) \((\d)\)/).map { "\($0.1).\($0.2)" })
            #expect(named == Set(pages).subtracting([page]), "\(page)")
        }
    }
}
