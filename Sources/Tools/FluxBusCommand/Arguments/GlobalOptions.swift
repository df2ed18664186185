import ArgumentParser
import BusJSON
import BusSystem
import FluxBus
import Glibc

/// The options every subcommand takes, before or after its name.
package struct GlobalOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Where the bus listens: unix:/PATH, tcp:HOST:PORT or tls:HOST:PORT; repeated or between commas, the first that answers.",
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
            "How long to wait for the bus, in all: 500ms, 30s, 2m, or never for no limit.", valueName: "time")
    )
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

/// The source of the secret for a bus on TCP: a file, else `$FLUXBUS_TOKEN`. It is never on a command line, where every
/// user of the machine could read it.
package struct TokenSource {
    let file: String?
    let environment: [String: String]

    /// The token; nil when none is given.
    func token() throws -> String? {
        guard let file else {
            return environment["FLUXBUS_TOKEN"].flatMap { $0.isEmpty ? nil : $0 }
        }
        guard let descriptor = FileReader.open(file) else {
            throw CommandFailure(
                .usage,
                "The token file \(file) can't be read (\(systemReason())): check its path and mode."
            )
        }
        defer { close(descriptor) }
        let text = String(
            decoding: try FileReader.readAll(descriptor, limit: 65536, name: file), as: UTF8.self)
        guard let token = Self.token(in: text) else {
            throw CommandFailure(.usage, "The token file \(file) holds no token: write it on the first line.")
        }
        return token
    }

    /// The token of the first line that is neither empty nor a comment: alone, or after a name
    /// as in the daemon's own file.
    package static func token(in text: String) -> String? {
        for line in text.split(whereSeparator: \.isNewline) {
            let words = line.split(whereSeparator: \.isWhitespace)
            guard let last = words.last, !line.hasPrefix("#") else { continue }
            return String(last)
        }
        return nil
    }
}

/// The selected stores, as written on a command line: `counter/kitchen` is one store, `counter` every store of a type,
/// and anything with `*` or `?` a pattern over addresses.
package enum StoreSelector: Equatable, Sendable {
    case store(String)
    case type(String)
    case match(String)

    package init(_ text: String) {
        let isPattern = text.contains("*") || text.contains("?")
        let hasSlash = text.contains("/")
        self =
            switch (isPattern, hasSlash) {
            case (false, false): .type(text)
            case (false, true): .store(text)
            // A pattern needs exactly one slash; without one it means types.
            case (true, false): .match(text + "/*")
            case (true, true): .match(text)
            }
    }

    /// The member of a `get` or `subscribe` for it.
    package var member: (name: String, value: JSON) {
        switch self {
        case .store(let text): ("store", .string(text))
        case .type(let text): ("type", .string(text))
        case .match(let text): ("match", .string(text))
        }
    }

    /// The same as a pattern, for ops that accept nothing else.
    package var pattern: String {
        switch self {
        case .store(let text), .match(let text): text
        case .type(let text): text + "/*"
        }
    }
}
