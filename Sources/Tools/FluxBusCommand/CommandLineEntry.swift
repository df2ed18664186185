import ArgumentParser
import BusProtocol

/// Runs the process's command line.
package enum CommandLineEntry {
    package static func run() -> Never {
        CommandContext.prepareProcess()
        do {
            var command = try RootCommand.parseAsRoot()
            try command.run()
            RootCommand.exit()
        } catch {
            if let sentence = unknownCommand(in: Array(CommandLine.arguments.dropFirst())) {
                RootCommand.exit(withError: ValidationError(sentence))
            }
            RootCommand.exit(withError: error)
        }
    }

    /// If the first word is no command: a sentence that names the likely one. Nil when it is one, or when options
    /// before it are unknown, which the parser reports itself.
    package static func unknownCommand(in arguments: [String]) -> String? {
        var rest = arguments[...]
        while let word = rest.popFirst() {
            guard word.hasPrefix("-") else {
                let commands = names + ["help"]
                guard !commands.contains(word) else { return nil }
                return "There is no command “\(word)”; \(suggestion(for: word, among: commands))"
            }
            if takesValue.contains(word) {
                rest = rest.dropFirst()
            } else if !isFlag(word) {
                return nil
            }
        }
        return nil
    }

    private static var names: [String] {
        RootCommand.configuration.groupedSubcommands.flatMap(\.subcommands).compactMap {
            $0.configuration.commandName
        }
    }

    /// The global options that are followed by a value.
    private static let takesValue = [
        "--address", "--token-file", "--ca", "--certificate", "--certificate-key", "--color", "--timeout",
    ]

    private static func isFlag(_ word: String) -> Bool {
        ["--json", "--human", "--quiet", "-q"].contains(word)
            || takesValue.contains { word.hasPrefix($0 + "=") }
    }
}
