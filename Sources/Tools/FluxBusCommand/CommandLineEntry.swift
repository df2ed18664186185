import ArgumentParser
import BusProtocol

/// Runs the process's command line.
package enum CommandLineEntry {
    package static func run() -> Never {
        CommandContext.prepareProcess()
        do {
            var command = try RootCommand.parseAsRoot(shielded(Array(CommandLine.arguments.dropFirst())))
            try command.run()
            RootCommand.exit()
        } catch {
            if let sentence = unknownCommand(in: Array(CommandLine.arguments.dropFirst())) {
                RootCommand.exit(withError: ValidationError(sentence))
            }
            RootCommand.exit(withError: error)
        }
    }

    /// The arguments, in which an expression such as `-1 + n` begins with a space, so that it is none of the options. What stands
    /// behind `--` is left as it is, and everything behind `web` is put there: it is for another program.
    package static func shielded(_ arguments: [String]) -> [String] {
        if let place = command(in: arguments), arguments[place] == "web", place + 1 < arguments.count {
            let rest = arguments[(place + 1)...]
            return arguments[...place] + (rest.first == "--" ? [] : ["--"]) + rest
        }
        let own = arguments.prefix { $0 != "--" }
        guard !Set(own).isDisjoint(with: ["eval", "wait", "on"]) else { return arguments }
        return own.map { $0.contains(/^-+[^-A-Za-z]/) ? " " + $0 : $0 } + arguments[own.endIndex...]
    }

    /// If the first word, or the one after `help`, is not a command: a sentence that names the likely one. Nil when it is
    /// one, or when options before it are unknown, which the parser reports.
    package static func unknownCommand(in arguments: [String]) -> String? {
        guard let place = command(in: arguments) else { return nil }
        let (word, topic) = (arguments[place], arguments[(place + 1)...].first)
        let commands = names + ["help"]
        if word == "help", let topic { return unknownCommand(in: [topic]) }
        guard !commands.contains(word) else { return nil }
        let advice = otherTools[word.lowercased()].map { "use `fluxbus \($0)`." }
        return "There is no command `\(word)`; \(advice ?? suggestion(for: word, among: commands))"
    }

    /// Where the command stands, behind options that all commands have; nil where there is none.
    private static func command(in arguments: [String]) -> Int? {
        var place = 0
        while place < arguments.count {
            let word = arguments[place]
            guard word.hasPrefix("-") else { return place }
            guard takesValue.contains(word) || isFlag(word) else { return nil }
            place += takesValue.contains(word) ? 2 : 1
        }
        return nil
    }

    /// The verbs of other tools, and the command here that does what they do.
    package static let otherTools = [
        "add": "create", "call": "dispatch", "cat": "get", "commit": "dispatch", "del": "drop",
        "delete": "drop",
        "emit": "dispatch", "follow": "watch", "history": "log", "info": "stats", "keys": "ls", "list": "ls",
        "listen": "watch", "make": "create", "monitor": "watch", "new": "create", "pub": "dispatch",
        "publish": "dispatch", "put": "dispatch", "read": "get", "remove": "drop", "rm": "drop", "scan": "ls",
        "send": "dispatch", "set": "dispatch", "show": "get", "status": "stats", "sub": "watch",
        "subscribe": "watch", "tail": "watch", "unset": "dispatch", "update": "dispatch", "write": "dispatch",
    ]

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
