import ArgumentParser
import FluxBus

/// The command line of `fluxbus-web`.
struct WebOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Listen here: 127.0.0.1:7480, [::1]:7480, :0 for any port, unix:/path, or systemd:name for the sockets that systemd passes under this FileDescriptorName. May be repeated (default: 127.0.0.1:7480).",
            valueName: "address")
    )
    var listen: [String] = []

    @Option(
        help: ArgumentHelp(
            "The bus: unix:/path, tcp:host:port or tls:host:port (default: as for fluxbus).",
            valueName: "address"))
    var address: String?

    @Option(
        help: ArgumentHelp(
            "The authorities that sign buses' certificates (default: $FLUXBUS_CA, else the system's).",
            valueName: "file"))
    var ca: String?

    @Option(
        help: ArgumentHelp(
            "This program's certificate for a bus at tls: (default: $FLUXBUS_CERTIFICATE). Signed-in browsers then act as it.",
            valueName: "file"))
    var certificate: String?

    @Option(help: ArgumentHelp("The key of --certificate (default: $FLUXBUS_KEY).", valueName: "file"))
    var certificateKey: String?

    @Option(
        help: ArgumentHelp(
            "A file whose first line is a token of the bus, with which /healthz asks a bus at tcp: or tls:. Browsers bring their own.",
            valueName: "file"))
    var tokenFile: String?

    @Option(
        help: ArgumentHelp(
            "Serve HTTPS with this certificate, and those that it is issued by after it in the file.",
            valueName: "file"))
    var tlsCertificate: String?

    @Option(help: ArgumentHelp("The key of --tls-certificate.", valueName: "file"))
    var tlsKey: String?

    @Option(
        help: ArgumentHelp(
            "A name by which browsers reach this server, beside localhost and the address it listens on. May be repeated.",
            valueName: "name"))
    var host: [String] = []

    @Option(
        help: ArgumentHelp(
            "The origin of another server's page that may use /v1 from a browser, with a token: https://app.example.org. May be repeated.",
            valueName: "url"))
    var origin: [String] = []

    @Option(
        help: ArgumentHelp(
            "A file whose first line lets a scraper read /metrics, as a bearer token, where the bus is reached over its Unix socket.",
            valueName: "file"))
    var metricsTokenFile: String?

    @Option(
        help: ArgumentHelp(
            "A file whose first line lets programs use /v1 as this server's user, as a bearer token, where the bus is reached over its Unix socket.",
            valueName: "file"))
    var apiTokenFile: String?

    @Option(
        help: ArgumentHelp(
            "Make dispatches of other programs' requests at /hooks/NAME, by the files (*.yaml, *.json) in this directory.",
            valueName: "dir"))
    var hooks: String?

    @Flag(help: "Check the files of hooks and their secrets, and exit.")
    var check = false

    @Flag(
        inversion: .prefixedNo,
        help:
            "Open the page in a browser (default: in a terminal, where $DISPLAY or $WAYLAND_DISPLAY is set)."
    )
    var open: Bool?

    @Option(
        help: ArgumentHelp(
            "Exit after this many minutes without a connection; for a service that its socket starts again.",
            valueName: "minutes"))
    var idleExit: Int?

    func validate() throws {
        if let idleExit, idleExit < 1 || idleExit > 525_600 {
            throw ValidationError("--idle-exit takes minutes, 1 to 525600.")
        }
        if (tlsCertificate == nil) != (tlsKey == nil) {
            throw ValidationError("--tls-certificate and --tls-key go together.")
        }
        for text in origin where Origins.parse(text) == nil {
            throw ValidationError(
                "`\(text)` is not the origin of a page; write scheme and name alone, as in --origin https://app.example.org."
            )
        }
        for name in host where name.isEmpty || name.contains(where: { "/:@#? ".contains($0) }) {
            throw ValidationError("--host takes a name alone, such as bus.example.org.")
        }
    }

    /// The setup that the options and the environment ask for.
    func setup(_ environment: [String: String]) throws(WebFailure) -> WebServer.Setup {
        let bus: BusAddress
        do throws(BusError) {
            bus = try BusAddress.resolve(address, environment: environment)
        } catch {
            throw WebFailure(.configuration, error.message)
        }
        var setup = WebServer.Setup(
            bus: bus, stateDirectory: SessionKey.directory(environment),
            runtimeDirectory: InnerSocket.parent(environment))
        for text in listen.isEmpty ? ["127.0.0.1:7480"] : listen {
            let isPort = text.hasPrefix(":")
            setup.listen.append(try WebAddress(parsing: isPort ? "127.0.0.1" + text : text))
        }
        setup.hosts = host
        setup.origins = origin.compactMap(Origins.parse)
        setup.tls = TLSOptions(ca: ca, certificate: certificate, key: certificateKey)
            .filled(from: environment)
        if let tlsCertificate, let tlsKey {
            setup.certificate = CertificateFiles(certificate: tlsCertificate, key: tlsKey)
        }
        setup.busToken = try tokenFile.map { path throws(WebFailure) in try SmallFile.token(path) }
        setup.metricsToken = try metricsTokenFile.map { file throws(WebFailure) in try Self.secret(in: file) }
        setup.apiToken = try apiTokenFile.map { file throws(WebFailure) in try Self.secret(in: file) }
        setup.hooks = hooks
        setup.credentials = environment["CREDENTIALS_DIRECTORY"]
        setup.idleExit = idleExit.map { .seconds($0 * 60) }
        return setup
    }

    private static func secret(in file: String) throws(WebFailure) -> [UInt8] {
        let token = Array(try SmallFile.token(file).utf8)
        guard token.count >= SmallFile.shortestSecret else {
            throw WebFailure(
                .configuration,
                "The token in \(file) can be guessed; write one of at least \(SmallFile.shortestSecret) bytes."
            )
        }
        return token
    }
}
