import ArgumentParser

/// `fluxbus schema`: the JSON Schema of a kind of file, for editors.
package struct SchemaCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print the JSON Schema of a file of types, tests, configuration, access rules or effects.",
        discussion: """
            Examples:
              fluxbus schema type > type.schema.json
              fluxbus schema config | jq '.properties | keys'

            Editors with yaml-language-server complete, explain and check a file by the schema that its first line names: \
            # yaml-language-server: $schema=\(FileSchema.directory)/type.schema.json. The schemas are installed there.
            """)

    @Argument(help: "The kind of file.")
    package var kind: FileSchema

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        try session.console.output.write(kind.text)
        return .success
    }
}

extension FileSchema: ExpressibleByArgument {}
