import Foundation
import Testing

/// What a type holds, and who may write it: a type with very many properties does the work of several, and a property that
/// anybody may set has no owner.
@Suite struct PartsTests {
    private struct Property {
        let name: String
        /// Its declaration up to its body.
        let declaration: String

        var isOthersToWrite: Bool {
            !declaration.contains(/\blet\b/) && !declaration.contains(/\bprivate\b/)
        }
    }

    private struct HoldingType {
        let name: String
        let file: String
        let indent: Int
        var properties: [Property] = []
    }

    /// All classes, actors and structs of the sources. The format of the sources is fixed, so indentation says what
    /// belongs to what.
    private static func types() throws -> [HoldingType] {
        try #require(TidyTests.sources["Sources"]).get().flatMap { file in
            var (open, closed): ([HoldingType], [HoldingType]) = ([], [])
            let lines = file.lines.map { String(TidyTests.code($0)) }
            for (number, line) in lines.enumerated() {
                let indent = line.prefix { $0 == " " }.count
                if let found = line.firstMatch(
                    of: /^ *(?:@\S+ )*(?:\w+ )*(?:class|struct|actor) ([A-Z]\w*)\b/), !line.hasSuffix("}")
                {
                    open.append(HoldingType(name: String(found.1), file: file.name, indent: indent))
                } else if let last = open.last, indent == last.indent, line.dropFirst(indent) == "}" {
                    closed.append(open.removeLast())
                } else if let last = open.last, indent == last.indent + 4,
                    let property = property(line, before: number + 1 < lines.count ? lines[number + 1] : "")
                {
                    open[open.count - 1].properties.append(property)
                }
            }
            return closed
        }
    }

    /// The stored property that a line declares.
    private static func property(_ line: String, before next: String) -> Property? {
        guard
            let found = line.firstMatch(
                of: /^ *(?:@\S+ )*(?:(?:\w+)(?:\(\w+\))? )*(?:let|var) (\w+|\([^)]*\))/),
            !line.contains("static ")
        else { return nil }
        let body = line.firstIndex(of: "{")
        let value = line.firstIndex(of: "=")
        let isObserved = (line + next).contains(/\b(didSet|willSet)\b/)
        let isBare = body == nil && next.trimmingCharacters(in: .whitespaces) != "{"
        guard isBare || isObserved || value != nil && value! < body ?? line.endIndex else { return nil }
        return Property(name: String(found.1), declaration: String(line[..<(body ?? line.endIndex)]))
    }

    @Test func typesHoldAtMostThirtyProperties() throws {
        let types = try Self.types()
        #expect(types.count > 500)
        for type in types where type.properties.count > 30 {
            Issue.record("\(type.file): \(type.name) holds \(type.properties.count) properties")
        }
    }

    /// A connection and its parts change by their methods alone.
    @Test func onlyItselfWritesAPartOfAConnection() throws {
        let types = try Self.types().filter { $0.file.hasPrefix("Daemon/BusEngine/") }
        let connection = try #require(types.first { $0.name == "Connection" })
        let parts = connection.properties.filter(\.isOthersToWrite)
        #expect(parts.count > 5)
        var owners = [connection]
        for part in parts {
            // Its value names its type: nobody else may write what is in there.
            let name = try #require(part.declaration.firstMatch(of: /= (\w+)\(/), "\(part.name) is no part")
            owners.append(try #require(types.first { $0.name == name.1 }, "\(part.name) is no part"))
        }
        owners.append(try #require(types.first { $0.name == "Input" }))
        for owner in owners.dropFirst() {
            for property in owner.properties where property.isOthersToWrite {
                Issue.record("\(owner.name).\(property.name) has no owner")
            }
        }
        let names = parts.map(\.name).joined(separator: "|")
        let replacing = try Regex(#"\b(connection|client|old|\$\d)[!?]?\.(\#(names)) *=[^=]"#)
        for file in try #require(TidyTests.sources["Sources"]).get() where file.target == "BusEngine" {
            for (number, line) in file.lines.enumerated() where TidyTests.code(line).contains(replacing) {
                Issue.record("\(file.name):\(number + 1) replaces a part")
            }
        }
    }
}
