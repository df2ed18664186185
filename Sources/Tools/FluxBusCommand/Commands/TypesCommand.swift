import ArgumentParser

/// `fluxbus types`: state types, those of a bus and those in files.
package struct TypesCommand: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "types",
        abstract: "List state types, show one, print one as code, begin one, or run the tests of some.",
        discussion: """
            Examples:
              fluxbus types
              fluxbus types counter
              fluxbus types --json | jq -r .type
              fluxbus types counter --swift > Counter.swift
              fluxbus types new lamp draft
              fluxbus types test draft

            Without a further word it is `show`; `fluxbus types show --help` has its options.
            """,
        subcommands: [TypesShowCommand.self, TypesNewCommand.self, TypesTestCommand.self],
        defaultSubcommand: TypesShowCommand.self)

    package init() {}
}
