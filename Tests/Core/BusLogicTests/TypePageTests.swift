import BusDefinitions
import BusLogic
import BusProtocol
import BusSource
import BusState
import BusYAML
import TestFiles
import Testing

/// The page about state types: its files load, what it says of wrong ones is what the loader says, and it leaves nothing out.
/// Its transcripts are run with those of the protocol page.
struct TypePageTests {
    private let page: MarkdownPage
    init() throws { page = try MarkdownPage("Sources/Core/BusLogic/BusLogic.docc/Types.md") }

    /// All mistakes of one file, as a check prints them.
    private func mistakes(in text: String, called name: String = "lamp.yaml") throws -> [String] {
        var errors: [SourceError] = []
        do throws(SourceError) {
            _ = DeclaredType.load(try LocatedValue.read(text, file: name), &errors)
        } catch {
            errors.append(error)
        }
        return errors.inOrder.lines
    }

    @Test func everyFileLoads() throws {
        let files = page.blocks("types")
        #expect(files.count >= 20)
        for file in files { #expect(try mistakes(in: file.text) == [], "Types.md:\(file.line)") }
    }

    @Test func everyMistakeIsToldAsThePageSays() throws {
        let pairs = page.blocks.filter { ["mistakes", "messages"].contains($0.kind) }
        #expect(pairs.count >= 6 && pairs.count.isMultiple(of: 2))
        for index in stride(from: 0, to: pairs.count - 1, by: 2) {
            #expect([pairs[index].kind, pairs[index + 1].kind] == ["mistakes", "messages"])
            let found = try mistakes(in: pairs[index].text).map { $0 + "\n" }.joined()
            #expect(found == pairs[index + 1].text, "Types.md:\(pairs[index + 1].line)")
        }
    }

    /// The words that a file may have at a place, as the loader lists them for one that is far from all of them.
    private func words(at place: String) throws -> [String] {
        let found = try mistakes(in: place.replacing("§", with: "qqqqqqqqqqqq: 1"))
        let message = try #require(found.first { $0.contains("unknown key `qqqqqqqqqqqq` in ") }, "\(found)")
        let list = try #require(message.firstMatch(of: /valid here: (.*)\.$/), "\(message)").1
        return list.components(separatedBy: ", ").map { $0.replacing("`", with: "") }
    }

    @Test(arguments: [
        "type: t\ninitial: {}\n§\n", "type: t\ninitial: {}\nactions: { a: { § } }\n",
        "view: t\nof: a\nvalues: { n: count() }\n§\n",
        "type: t\nstate: { x: { type: any, default: 1, § } }\n",
        "type: t\ninitial: {}\nactions: { a: { payload: { x: { type: any, § } } } }\n",
        "type: t\ninitial: {}\nactions: { a: { require: [{ if: { var: state }, § }] } }\n",
        "type: t\ninitial: {}\nactions: { a: { timers: { x: { in: 1s, action: a, § } } } }\n",
        "type: t\ninitial: { b: true }\ntimers: { x: { for: 1s, while: b, action: a, § } }\n",
        "type: t\ninitial: { b: true }\ninvariant: [{ if: b, § }]\n",
    ])
    func everyKeyStandsOnThePageAndInAFile(_ place: String) throws {
        let tables = page.rows.compactMap(\.first).joined(separator: " ")
        let files = page.blocks("types").map(\.text).joined()
        let words = try words(at: place)
        #expect(words.count >= 2)
        for word in words {
            let isNested = ["if", "else", "in", "at", "action"].contains(word)
            #expect(isNested || tables.contains("`\(word)`"), "\(word) stands in no table")
            let isShown = files.contains(try Regex("(^|[\\s{,])\(word): ?"))
            #expect(isShown, "no file shows \(word)")
        }
    }

    @Test func everyTypeOfAValueStandsOnThePage() throws {
        let row = try #require(page.rows.first { $0[0] == "`type`" && $0[1].contains("`any`") })
        for word in PayloadType.words { #expect(row[1].contains("`\(word)`"), "\(word)") }
    }

    @Test(arguments: WriteFailure.Reason.allCases)
    func everyFailureOfAWriteStandsInATable(_ reason: WriteFailure.Reason) {
        let message = "`\(WriteFailure(reason, at: ["PATH"]))`"
        #expect(page.rows.contains { $0[0] == message }, "\(message)")
    }

    @Test func everyWriteHasAHeading() {
        for kind in WriteKind.allCases { #expect(page.headings.contains(kind.rawValue)) }
    }
}
