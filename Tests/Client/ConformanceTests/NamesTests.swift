import Foundation
import TestFiles
import Testing

/// The table of names in "Write a client" (`BusProtocol.docc`): what it says is there, what is there it has, and where a name
/// differs it says why.
@Suite("Names of the clients") struct NamesTests {
    /// A client's sources, and how they declare a name.
    private struct Language: Sendable {
        let name: String
        let files: [String]
        let declaration: @Sendable (String) -> String
        /// What its users can call or set, each as the one group of a pattern, between a line and the next `}` at its depth.
        var parts: [(from: String, pattern: String)] = []

        func source() throws -> String {
            try files.map { try Repository.text("Sources/\($0)") }.joined(separator: "\n")
        }

        func offered() throws -> Set<String> {
            let source = try source()
            return try parts.reduce(into: []) { names, part in
                let body = try #require(source.components(separatedBy: "\n" + part.from).dropFirst().first)
                let end = try Regex(#"\n(?:\)|\}|class|:.*)"#)
                let text = String(body[..<(body.firstMatch(of: end)?.range.lowerBound ?? body.endIndex)])
                let pattern = try Regex(part.pattern, as: (Substring, Substring).self)
                names.formUnion(text.matches(of: pattern).map { String($0.1) })
            }
        }
    }

    private static let languages = [
        Language(
            name: "Python", files: ["Clients/Python/fluxbus/aio.py", "Clients/Python/fluxbus/_sync.py"],
            declaration: { #"(?:def \#($0)\(|\b\#($0): |\b\#($0) = )"# },
            parts: [
                ("class Bus(Link):", #"\n    (?:async )?def ([a-z]\w*)\("#),
                ("class Bus:", #"\n    def ([a-z]\w*)\("#),
                ("def connect(\n    address: ", #"[ \n]([a-z]\w*): "#),
            ]),
        Language(
            name: "JavaScript", files: ["Clients/JavaScript/fluxbus.d.ts"],
            declaration: { #"\n(?:export function |\t(?:readonly )?)\#($0)[?(<:]"# },
            parts: [
                ("export class Bus {", #"\n\t(?:readonly )?([a-z]\w*)[(<:]"#),
                ("export interface ConnectOptions {", #"\n\t([a-z]\w*)\?:"#),
            ]),
        Language(
            name: "Swift",
            files: [
                "Bus.swift", "Bus+Dispatch.swift", "Bus+Reading.swift", "Bus+Requests.swift",
                "Bus+Stores.swift",
                "Bus+Subscribing.swift", "Bus+Timers.swift", "../Remote/Bus+Remote.swift",
                "../Values/BusOptions.swift",
            ].map { "Client/FluxBus/Bus/" + $0 },
            declaration: { #"(?:func \#($0)[(<]|var \#($0)\b|\b\#($0) \w+: |\b\#($0): )"# }),
        Language(
            name: "C", files: ["Clients/C/fluxbus.h", "Clients/C/README.md"],
            declaration: { #"(?:\b\#($0)\(|[ *]\#($0)[;,\[]|`\#($0)`)"# }),
        Language(
            name: "Go", files: ["Clients/Go/bus.go", "Clients/Go/link.go", "Clients/Go/options.go"],
            declaration: { #"\nfunc (?:\(b \*Bus\) )?\#($0)\("# }),
        Language(
            name: "Rust",
            files: ["bus.rs", "options.rs", "request.rs"].map { "Clients/Rust/src/" + $0 },
            declaration: { #"pub fn \#($0)[(<]"# },
            parts: [
                ("impl Bus {", #"\n    pub fn (\w+)[(<]"#),
                ("impl Options {", #"\n    pub fn (\w+)[(<]\w* ?(?:mut self|\w)"#),
            ]),
    ]

    private static func rows() throws -> [[String]] {
        try MarkdownPage("Sources/Core/BusProtocol/BusProtocol.docc/WriteAClient.md").rows.filter {
            $0.count >= 7 + 1
        }
    }

    private static func names(_ cell: String) -> [String] {
        cell.matches(of: /`([^`]+)`/).map { String($0.1) }
    }

    /// A name without what its language puts around it.
    private static func plain(_ name: String) -> String {
        name.replacing(/^(?:fluxbus_(?:get_)?|With|is_)/, with: "").replacing("_", with: "").lowercased()
    }

    @Test func tableNamesWhatIsThereAndSaysWhereItDiffers() throws {
        let rows = try Self.rows()
        #expect(rows.count >= 38)
        for (column, language) in Self.languages.enumerated() {
            let source = try language.source()
            for row in rows {
                let names = Self.names(row[column + 1])
                for name in names {
                    #expect(
                        try source.contains(Regex(language.declaration(name))), "\(language.name): \(name)")
                }
                let isSame = names.contains { Self.plain($0) == Self.plain(Self.names(row[0])[0]) }
                let isExplained = try row[7].contains(Regex("\\b\(language.name)\\b"))
                #expect(isSame || isExplained, "\(row[0]) in \(language.name)")
            }
        }
    }

    @Test func nothingIsMissingInTheTable() throws {
        for (column, language) in Self.languages.enumerated() where !language.parts.isEmpty {
            let listed = Set(try Self.rows().flatMap { Self.names($0[column + 1]) })
            let offered = try language.offered()
            #expect(offered.count > 15, "\(language.name): \(offered)")
            #expect(offered.subtracting(listed) == [], "\(language.name)")
        }
        let go = try #require(Self.languages.first { $0.name == "Go" })
        let functions = try go.source().matches(of: /\nfunc (?:\(b \*Bus\) ([A-Z]\w*)|(With[A-Z]\w*))\(/)
        let offered = Set(functions.map { String($0.1 ?? $0.2 ?? "") })
        let listed = Set(try Self.rows().flatMap { Self.names($0[5]) })
        #expect(offered.count > 20 && offered.isSubset(of: listed))
    }
}
