import ArgumentParser
import FluxBusCommand
import Foundation
import TestFiles
import TestServer
import Testing

/// A text that people take commands from: the README, an article, a manual page, what `--help` prints.
struct Document: Sendable, CustomTestStringConvertible {
    let name: String
    let examples: [Example]
    var testDescription: String { name }

    // MARK: - README and articles

    /// Fenced blocks of the shell's kinds, and commands in tables.
    static func page(_ path: String) throws -> Document {
        var examples: [Example] = []
        var block: [Substring]?
        var kind: Substring = ""
        for line in try Repository.text(path).split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                if let lines = block {
                    examples += self.examples(of: lines, kind: kind)
                    block = nil
                } else {
                    (block, kind) = ([], line.dropFirst(3))
                }
            } else if block != nil {
                block?.append(line)
            } else if line.hasPrefix("|") {
                for match in line.matches(of: /`((?:… \\\| )?fluxbus [^`]+)`/) {
                    examples.append(Example(command: String(match.1).replacing("\\|", with: "|")))
                }
            }
        }
        return Document(name: path.split(separator: "/").last.map(String.init) ?? path, examples: examples)
    }

    /// Of a console what follows the prompt; of a script each line that is a command.
    private static func examples(of lines: [Substring], kind: Substring) -> [Example] {
        switch kind {
        case "console":
            let commands = lines.filter { $0.hasPrefix("$ ") }.map {
                Example(command: String($0.dropFirst(2)))
            }
            // Everything in that block is what the script prints.
            return commands.first?.command.hasPrefix("./deploy/try") == true ? [commands[0]] : commands
        case "sh": return script(lines)
        default: return []
        }
    }

    /// A command ends with its line, unless a backslash or an open quote says that it goes on.
    private static func script(_ lines: [Substring]) -> [Example] {
        var examples: [Example] = []
        var setting = ""
        var hasStopped = false
        var begun = ""
        for line in lines where !line.isEmpty && !line.hasPrefix("#") {
            begun += begun.isEmpty ? String(line) : "\n\(line)"
            if line.hasSuffix("\\") || begun.count(where: { $0 == "'" }) % 2 == 1 { continue }
            let command = String(begun.prefix(upTo: begun.range(of: " #")?.lowerBound ?? begun.endIndex))
                .trimmingCharacters(in: .whitespaces)
            begun = ""
            if command.contains(/^(export )?[A-Za-z_]+=[^ ]+( [A-Za-z_]+=[^ ]+)*$/) {
                setting += command + "\n"
                continue
            }
            examples.append(Example(command: command, setting: setting, followsStop: hasStopped))
            hasStopped = hasStopped || command.contains("systemctl stop")
        }
        return examples
    }

    /// The commands in the second column of the table whose head this is, `| to | command |`: what they begin with tells them
    /// from other code.
    static func table(_ head: String, in path: String, beginning starts: [String]) throws -> Document {
        let rows =
            try Repository.text(path).components(separatedBy: "\n\(head)\n").dropFirst().first?
            .split(separator: "\n", omittingEmptySubsequences: false).prefix { $0.hasPrefix("|") } ?? []
        let examples = rows.flatMap { row in
            row.matches(of: /`([^`]+)`/).map { Example(command: String($0.1)) }.filter { example in
                starts.contains { example.command.hasPrefix($0) }
            }
        }
        return Document(name: "\(path), \(head)", examples: examples)
    }

    // MARK: - Manual pages

    /// What stands between `.EX` and `.EE`, but units and configurations.
    static func manual(_ name: String) throws -> Document {
        let page = try ManualPages.text(name).replacing("\\-", with: "-").replacing(
            "\\(dq", with: "\"")
        var examples: [Example] = []
        for block in page.split(separator: ".EX\n").dropFirst() {
            let lines = block.prefix(upTo: block.range(of: ".EE")?.lowerBound ?? block.endIndex)
                .split(separator: "\n")
            let isShell = lines.allSatisfy {
                $0.contains(#/^(fluxbus|fluxbusd|fluxbus-web|fluxbus-effects|sqlite3|install|systemctl)\ /#)
            }
            if isShell { examples += script(lines) }
        }
        return Document(name: name, examples: examples)
    }

    // MARK: - Help

    /// What `--help` of every command prints, the main one's first.
    static func helps() -> [Document] {
        let commands = RootCommand.configuration.groupedSubcommands.flatMap(\.subcommands)
        return [help(RootCommand.self)] + commands.map { help($0) }
    }

    private static func help(_ command: any ParsableCommand.Type) -> Document {
        let text = RootCommand.helpMessage(for: command, columns: 200)
        let name = command.configuration.commandName ?? "fluxbus"
        return Document(
            name: name == "fluxbus" ? "fluxbus --help" : "fluxbus help \(name)", examples: examples(in: text))
    }

    /// What a program of this package prints for `--help`.
    static func help(of program: String) throws -> Document {
        let text = try RunningProgram.run(program, ["--help"], environment: ["COLUMNS": "200"]).output
        return Document(name: "\(program) --help", examples: examples(in: text))
    }

    private static func examples(in text: String) -> [Example] {
        let starts = ["fluxbus ", "fluxbus-bench ", "jq ", "zstd ", "printf "]
        let commands = text.split(separator: "\n").filter { line in
            line.hasPrefix("  ") && starts.contains { line.dropFirst(2).hasPrefix($0) }
        }
        return commands.map { line in
            // What explains it stands behind a gap.
            let end = line.dropFirst(2).range(of: "   ")?.lowerBound ?? line.endIndex
            return Example(command: line[..<end].trimmingCharacters(in: .whitespaces))
        }
    }
}
