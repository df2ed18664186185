import ArgumentParser

/// The options every subcommand takes, before or after its name.
package struct GlobalOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Where the bus listens: unix:/PATH, tcp:HOST:PORT or tls:HOST:PORT; repeated, the first that answers.",
            discussion:
                "Default: $FLUXBUS_ADDRESS, $XDG_RUNTIME_DIR/fluxbus/bus.sock, /run/fluxbus/bus.sock.",
            valueName: "address"
        ))
    package var address: [String] = []

    @Option(
        help: ArgumentHelp("A file with the token for a bus on TCP (or $FLUXBUS_TOKEN).", valueName: "file"),
        completion: .file())
    package var tokenFile: String?

    @Option(
        help: ArgumentHelp(
            "The authorities that sign the certificates of buses on TLS (or $FLUXBUS_CA; else those that the system trusts).",
            valueName: "file"), completion: .file())
    package var ca: String?

    @Option(
        help: ArgumentHelp(
            "A certificate that a bus on TLS knows you by (or $FLUXBUS_CERTIFICATE).", valueName: "file"),
        completion: .file())
    package var certificate: String?

    @Option(
        name: .customLong("certificate-key"),
        help: ArgumentHelp("The key of the certificate (or $FLUXBUS_KEY).", valueName: "file"),
        completion: .file())
    package var key: String?

    @Flag(help: "Print NDJSON, one object per line; the default when standard output is not a terminal.")
    package var json = false

    @Flag(help: "Print text for people; the default on a terminal.")
    package var human = false

    @Option(help: ArgumentHelp("Colour the text.", valueName: "when"))
    package var color = ColorMode.auto

    @Option(
        help: ArgumentHelp(
            "How long to wait for the bus: 500ms, 30s, 2m, or never for no limit.", valueName: "time"))
    package var timeout = TimeSpan(duration: .seconds(30))

    @Flag(name: .shortAndLong, help: "Print no notes; results and errors are still printed.")
    package var quiet = false

    package init() {}

    package func validate() throws {
        if json && human { throw ValidationError("Give either --json or --human.") }
    }
}

/// When text is coloured.
package enum ColorMode: String, ExpressibleByArgument, CaseIterable, Sendable {
    case auto, always, never
}
