import Foundation
import TestFiles
import TestServer
import Testing

private let formatter = "/usr/bin/groff"

/// The manual pages: those made from Markdown are all of it, each refers to the others, and they format without a warning.
@Suite(.timeLimit(.minutes(10))) struct ManualPageTests {
    private static let logic = "Sources/Core/BusLogic/BusLogic.docc/"
    private static let server = "Sources/Daemon/BusServer/BusServer.docc/"
    /// Each page with all the Markdown that goes into it.
    static let made = [
        "fluxbus-types.5": ["\(logic)Types.md", "\(logic)Expressions.md", "\(logic)Operators.md"],
        "fluxbus-protocol.7": ["Sources/Core/BusProtocol/BusProtocol.docc/Protocol.md"],
        "fluxbus-operating.7": ["\(server)Operating.md", "\(server)TimeTravel.md"],
    ]

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

    @Test func everyPageIsWrittenByHandOrMadeFromMarkdown() throws {
        let written = try FileManager.default.contentsOfDirectory(
            atPath: Repository.root.appendingPathComponent("deploy/man").path)
        #expect(try Set(ManualPages.names()) == Set(written).union(Self.made.keys))
        #expect(Set(written).isDisjoint(with: Self.made.keys))
        for name in written { #expect(try ManualPages.text(name) == Repository.text("deploy/man/\(name)")) }
    }

    /// Beside the script: every example, heading and row of a table is there, letter by letter.
    @Test(arguments: made.keys.sorted()) func nothingIsLost(_ name: String) throws {
        let source = try ManualPages.text(name)
        let shown = source.components(separatedBy: "\n.EX\n").dropFirst().map { part in
            Self.plain(part.prefix(upTo: part.range(of: "\n.EE\n")?.lowerBound ?? part.endIndex)) + "\n"
        }
        let pages = try #require(Self.made[name]).map { try MarkdownPage($0) }
        let blocks = pages.flatMap(\.blocks).map(\.text)
        #expect(blocks.count > (name == "fluxbus-operating.7" ? 8 : 40))
        #expect(shown.count == blocks.count)
        for block in blocks { #expect(shown.contains(block), "\(name) lacks an example") }

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
        for page in try ManualPages.names() {
            let outcome = try RunningProgram(
                [formatter, "-man", "-ww", "-Kutf8", "-Tutf8", "-P-cbou", ManualPages.path(of: page)],
                environment: ["PATH": "/usr/bin:/bin"]
            ).wait()
            #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(page): \(outcome.errors)")
            #expect(outcome.output.contains("SEE ALSO"), "\(page)")
        }
    }

    /// Each page names all others, and none that is not there.
    @Test func pagesReferToEachOther() throws {
        let pages = try ManualPages.names()
        #expect(pages.count == 9)
        for page in pages {
            let text = Self.plain(try ManualPages.text(page))
            let end = try #require(text.components(separatedBy: "\n.SH SEE ALSO\n").last)
            let named = Set(end.matches(of: /(?m)^\.BR (fluxbus[a-z.-]*) \((\d)\)/).map { "\($0.1).\($0.2)" })
            #expect(named == Set(pages).subtracting([page]), "\(page)")
        }
    }
}
