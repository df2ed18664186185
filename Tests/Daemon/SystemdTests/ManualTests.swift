import BusServer
import Foundation
import Testing

/// The manual pages and units against what the programs and the sample configuration say.
@Suite struct ManualTests {
    private func text(_ path: String) throws -> String {
        try String(contentsOf: Harness.package.appendingPathComponent(path), encoding: .utf8)
    }

    /// A page as people read it: without the escapes of its hyphens.
    private func page(_ name: String) throws -> String {
        try text("deploy/man/\(name)").replacingOccurrences(of: "\\-", with: "-")
    }

    @Test func everyCommandStandsInTheManual() throws {
        let folder = Harness.package.appendingPathComponent("Sources/Tools/FluxBusCommand/Commands")
        let page = try page("fluxbus.1")
        var names: [String] = []
        for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
            let source = try String(contentsOf: file, encoding: .utf8)
            for match in source.matches(of: /commandName: "([a-z]+)"/) { names.append(String(match.1)) }
        }
        #expect(names.count >= 12)
        for name in names {
            #expect(
                page.contains(".B \(name)\n") || page.contains(".BI \(name) ")
                    || page.contains(".BR \(name) ") || page.contains(".BR \"types \(name)\" "))
        }
    }

    @Test func everyFlagVariableAndExitCodeOfTheDaemonStandsInItsManual() throws {
        let page = try page("fluxbusd.8")
        let source = try text("Sources/Daemon/FluxBusDaemon/DaemonCommand.swift")
        let flags = source.matches(of: /@(?:Option|Flag)\((?:.|\n)*?\n    var ([A-Za-z]+)/).map { match in
            let own = match.0.firstMatch(of: /customLong\("([a-z-]+)"\)/).map { String($0.1) }
            return "--" + (own ?? String(match.1).replacing(/[A-Z]/) { "-" + $0.output.lowercased() })
        }
        #expect(flags.count >= 11)
        for flag in flags {
            #expect(page.contains(".BI \(flag) ") || page.contains(".B \(flag)\n"), "\(flag)")
        }
        let variables = source.matches(of: /(?m)^ +(FLUXBUS_[A-Z_]+) {2}/).map { String($0.1) }
        #expect(variables.count >= 9)
        for variable in variables { #expect(page.contains(".B \(variable)\n"), "\(variable)") }
        let codes = source.matches(of: /(?m)^ +([0-9]+) {3}/).map { String($0.1) }
        #expect(codes.count >= 7)
        for code in codes { #expect(page.contains(".TP\n.B \(code)\n"), "exit code \(code)") }
    }

    @Test func everySettingOfTheSampleStandsInTheManual() throws {
        let page = try page("fluxbusd.yaml.5")
        let sample = try text("config/fluxbusd.yaml")
        let settings = sample.matches(of: /(?m)^(?:# )?([a-z]+):/).map { String($0.1) }
        #expect(
            Set(settings) == ["listen", "tokens", "types", "stores", "log", "cluster", "limits", "access"])
        for setting in settings { #expect(page.contains(".TP\n.B \(setting)\n"), "\(setting)") }
        for member in sample.matches(of: /#   (path|sync|retain):/) {
            #expect(page.contains("\(member.1):"), "log.\(member.1)")
        }
        let cluster = try #require(sample.components(separatedBy: "\n# cluster:\n").dropFirst().first)
            .components(separatedBy: "\n\n")[0]
        let members = cluster.matches(of: /(?m)^#   ([a-z-]+): \S/).map { String($0.1) }
        #expect(members.count == 11)
        for member in members { #expect(page.contains("\(member):"), "cluster.\(member)") }
    }

    @Test func everyLimitOfTheSampleStandsInTheManual() throws {
        let page = try page("fluxbusd.yaml.5")
        let sample = try text("config/fluxbusd.yaml")
        let limits = sample.matches(of: /#   ([a-z]+): ([0-9A-Za-z]+) +#/)
        #expect(limits.count >= 9)
        for limit in limits { #expect(page.contains(".BR \(limit.1) \" (\(limit.2))\"")) }
    }

    @Test func everyMessageOfTheCatalogIsDifferent() throws {
        let identifiers = try text("deploy/catalog/fluxbus.catalog").matches(of: /(?m)^-- ([0-9a-f]{32})$/)
            .map { String($0.1) }
        #expect(identifiers.count >= 9)
        #expect(Set(identifiers).count == identifiers.count)
        let unexplained = Set(LogKind.allCases.map(\.rawValue)).subtracting(identifiers)
        #expect(unexplained.isEmpty, "the catalog explains everything that has an ID")
    }
}
